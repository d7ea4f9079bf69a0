"""Run the checks of the JavaScript client in Node and in a browser, with the client that the package serves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

from tests.clients.pages import new_page, pages
from tests.clients.scripts import CLIENT
from tests.node import run_node

VECTORS = Path(__file__).parents[2] / "vectors"

_IN_A_PAGE = """async (module) => {
  const { check } = await import(module);
  return check(async (path) => (await fetch(`/vectors/${path}`)).json());
}"""

Results = list[dict[str, Any]]


def check_modules() -> list[str]:
    """Return the modules whose checks run everywhere."""
    folder = CLIENT / "test"
    return sorted(path.name for path in folder.glob("*.js") if "export async function check(" in path.read_text())


def in_node(module: str, vectors: Path = VECTORS) -> Results:
    """Return the results of the checks of a module in one Node process."""
    folder = CLIENT / "test"
    return json.loads(run_node("--no-warnings", str(folder / "run.mjs"), str(folder / module), str(vectors)))


def in_browser(browser: Browser, module: str) -> Results:
    """Return the results of the checks of a module in a page of a local server."""
    with pages(vectors=VECTORS) as address:
        page = new_page(browser, address)
        try:
            return page.evaluate(_IN_A_PAGE, f"/test/{module}")
        finally:
            page.context.close()


def failed(results: Results) -> dict[str, str]:
    """Return the failed checks with their reasons."""
    return {result["name"]: result["error"] for result in results if "error" in result}

"""Runs the checks of the client in JavaScript, in Node and in a browser, with the client that the package serves."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

from shuffledp.collection.pages.assets import client_folder
from tests.node import run_node

VECTORS = Path(__file__).parents[2] / "vectors"

_IN_A_PAGE = """async (module) => {
  const { check } = await import(module);
  return check(async (path) => (await fetch(`/vectors/${path}`)).json());
}"""

Results = list[dict[str, Any]]


def check_modules() -> list[str]:
    """All modules with checks that run anywhere."""
    folder = client_folder() / "test"
    return sorted(path.name for path in folder.glob("*.js") if "export async function check(" in path.read_text())


def in_node(module: str, vectors: Path = VECTORS) -> Results:
    """What became of the checks of a module in one process of Node."""
    folder = client_folder() / "test"
    return json.loads(run_node("--no-warnings", str(folder / "run.mjs"), str(folder / module), str(vectors)))


def in_browser(browser: Browser, module: str) -> Results:
    """What became of them in a page of a browser that is served from this machine."""
    with _served() as address:
        page = browser.new_page()
        try:
            page.goto(f"{address}/page.html")
            return page.evaluate(_IN_A_PAGE, f"{address}/client/test/{module}")
        finally:
            page.close()


def failed(results: Results) -> dict[str, str]:
    """The names of checks that failed, and why."""
    return {result["name"]: result["error"] for result in results if "error" in result}


class _Files(SimpleHTTPRequestHandler):
    """An empty page, the client and the vectors."""

    def translate_path(self, path: str) -> str:
        """Where a file is on this machine."""
        first, _, rest = path.lstrip("/").partition("/")
        folders = {"client": client_folder(), "vectors": VECTORS}
        return str(folders[first] / rest) if first in folders and ".." not in rest else "/nowhere"

    def do_GET(self) -> None:
        """Answers a request of the page."""
        if self.path == "/page.html":
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>checks</title>")
        else:
            super().do_GET()

    def log_message(self, *_: Any) -> None:
        """Nothing is logged."""


@contextmanager
def _served() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

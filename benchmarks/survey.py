"""The survey page on a slow network, in Chromium: first paint, the usable form, and what the page loads."""

from __future__ import annotations

import itertools
import re
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.browser import running_browser

LATENCY = 150
"""Milliseconds between a request and the first byte of its answer, as on a busy mobile network."""

BYTES_A_SECOND = 1.6e6 / 8
"""A slow 4G connection."""

VISITS = 7

_WATCH = """new MutationObserver(() => {
  if (document.querySelector("main")?.dataset.shows === "new") window.usable ??= performance.now();
}).observe(document, { subtree: true, attributes: true, childList: true })"""

_MEASURED = """() => {
  const loaded = performance.getEntriesByType("resource").filter((each) => !each.name.includes("/v1/"));
  const page = performance.getEntriesByType("navigation")[0];
  return [performance.getEntriesByName("first-contentful-paint")[0].startTime, window.usable, loaded.length + 1,
    [page, ...loaded].reduce((sum, each) => sum + each.encodedBodySize, 0)];
}"""


def main() -> None:
    """Print the medians of several visits with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        asked = ["--question", "Which theme do you use?", "--answers", "dark,light,system", "--people", "0"]
        process = subprocess.Popen(
            [sys.executable, "-m", "shuffledp", "up", *asked, "--users", "500", "--folder", str(Path(folder, "up"))],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        try:
            said = "".join(itertools.takewhile(lambda line: "Ctrl-C" not in line, process.stderr))
            found = re.search(r"^Answer in a browser:? +(\S+)", said, flags=re.MULTILINE)
            assert found is not None
            paint, usable, files, size = map(statistics.median, zip(*_visits(found[1]), strict=True))
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()
    print(
        f"\nThe survey page at {LATENCY} ms latency and 1.6 Mbit/s: first contentful paint {paint:.0f} ms, form usable"
    )
    print(f"{usable:.0f} ms; {files:.0f} files, {size / 1000:.1f} kB. Medians of {VISITS} visits.")


def _visits(address: str) -> list[list[float]]:
    found = []
    with running_browser() as browser:
        for _ in range(VISITS):
            context = browser.new_context(viewport={"width": 360, "height": 740})
            page = context.new_page()
            speed = {"downloadThroughput": BYTES_A_SECOND, "uploadThroughput": BYTES_A_SECOND / 2}
            session = context.new_cdp_session(page)
            session.send("Network.enable")
            session.send("Network.emulateNetworkConditions", {"offline": False, "latency": LATENCY, **speed})
            page.add_init_script(_WATCH)
            page.goto(address)
            page.locator("main[data-shows=new]").wait_for(timeout=60_000)
            found.append(page.evaluate(_MEASURED))
            context.close()
    return found

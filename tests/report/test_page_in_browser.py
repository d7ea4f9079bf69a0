"""The report in a real browser: it does not scroll sideways on a telephone, and letters can be read.

A small script is put into a copy of the page and writes what it measures into the page itself; the report has none.
"""

import json
import re
import shutil
import subprocess
from html import unescape

import pytest

from shuffledp.report.page import page
from tests.report.cases import CASES

NAMES = ("chromium", "chromium-browser", "google-chrome")
NARROW = (360, 390)

pytestmark = pytest.mark.slow

# chromium has no window below 500 pixels, so the page stands in a frame of the width of a telephone
FRAMES = """<!doctype html><body>{frames}<pre id="measured"></pre><script>
addEventListener("load", () => {{
  const measured = [...document.querySelectorAll("iframe")].map(frame => {{
    const page = frame.contentDocument, inner = frame.contentWindow;
    page.querySelectorAll("details").forEach(part => {{ part.open = true; }});
    const letters = [...page.querySelectorAll("svg.chart text, table.bars th, table.bars td")]
      .filter(part => part.textContent.trim() && part.getClientRects().length)
      .map(part => parseFloat(inner.getComputedStyle(part).fontSize)
        * (part.getCTM ? part.getCTM().a / part.ownerSVGElement.getCTM().a * part.getScreenCTM().a : 1));
    return {{name: frame.name, width: inner.innerWidth, scroll: page.documentElement.scrollWidth,
      letters: Math.min(...letters, 99)}};
  }});
  document.getElementById("measured").textContent = JSON.stringify(measured);
}});
</script></body>"""


def browser():
    found = [path for name in NAMES if (path := shutil.which(name))]
    assert found, f"there is none of {', '.join(NAMES)}: make test installs Chromium or says how"
    return found[0]


def measure(pages, folder):
    """Width, needed width and smallest letters of each page in frames of the width of a telephone."""
    frames = ""
    for number, (name, text) in enumerate(pages.items()):
        (folder / f"{number}.html").write_text(text, encoding="utf-8")
        for width in NARROW:
            frames += (
                f'<iframe name="{name}" src="{number}.html" style="width:{width}px;height:800px;border:0"></iframe>'
            )
    (folder / "frames.html").write_text(FRAMES.format(frames=frames), encoding="utf-8")
    asked = [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
             f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=20000", "--dump-dom",
             (folder / "frames.html").as_uri()]  # fmt: skip
    shown = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=True).stdout
    (measured,) = re.findall(r'<pre id="measured">(.*?)</pre>', shown, flags=re.DOTALL)
    return json.loads(unescape(measured))


def test_no_page_scrolls_sideways_on_a_telephone_and_letters_can_be_read(tmp_path):
    """All cases at once, since a browser takes seconds to start; two bad pages show that they would be noticed."""
    pages = {name: page(make()) for name, make in CASES.items()}
    pages["too wide"] = pages["one value"].replace("<h1>", '<h1 style="width:400px">')
    pages["too small"] = pages["one value"].replace(
        "svg.chart text { font-size: 12px", "svg.chart text { font-size: 9px"
    )
    found = measure(pages, tmp_path)
    assert len(found) == len(NARROW) * len(pages)
    assert {each["width"] for each in found} == set(NARROW)
    wide = {each["name"] for each in found if each["scroll"] > each["width"]}
    assert wide == {"too wide"}
    small = {each["name"] for each in found if each["letters"] < 11}
    assert small == {"too small"}


def test_without_a_browser_one_sentence_says_what_to_do(monkeypatch):
    """A test that is left out says nothing."""
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(AssertionError, match=r"none of chromium, .*: make test installs Chromium or says how"):
        browser()

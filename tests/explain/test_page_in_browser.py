"""The report in a real browser: widths, font sizes, colours, drawings and the accessibility tree."""

import re

import pytest

from shuffledp.collect.analyzer.shown import headers_for
from shuffledp.explain.bars import Scale
from shuffledp.explain.page import page
from tests.browser import browser_path, running_browser
from tests.explain.cases import CASES, HOSTILE, hostile
from tests.explain.other_pages import TO_BE_DONE, over_time, several

NARROW, WIDE = (360, 390), 1280

pytestmark = pytest.mark.slow

SMALLEST_LETTERS = """() => Math.min(99, ...[...document.querySelectorAll("svg text, table.bars th, table.bars td")]
  .filter(part => part.textContent.trim() && part.getClientRects().length)
  .map(part => parseFloat(getComputedStyle(part).fontSize) * (part.getScreenCTM ? part.getScreenCTM().a : 1)))"""

DRAWN = """() => [...document.querySelectorAll("table.bars tbody tr")].map(row => {
  const track = row.querySelector("svg.track").getBoundingClientRect();
  const share = place => (place - track.left) / track.width;
  const bar = row.querySelector(".bar").getBoundingClientRect();
  const reach = row.querySelector(".reach").getBoundingClientRect();
  return {begin: share(bar.left), end: share(bar.right), low: share(reach.left), high: share(reach.right),
    height: bar.height, width: track.width};
})"""

CONTRASTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true}), known = new Map();
  const read = colour => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
  const parts = colour => known.get(colour) ?? known.set(colour, read(colour)).get(colour);
  const over = (top, share, below) => [0, 1, 2].map(at => share * top[at] + (1 - share) * below[at]);
  const behind = part => { if (!part) return [255, 255, 255];
    const own = parts(getComputedStyle(part).backgroundColor); return over(own, own[3], behind(part.parentElement)); };
  const faded = part => part ? parseFloat(getComputedStyle(part).opacity) * faded(part.parentElement) : 1;
  const bright = colour => colour.map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  return [...document.querySelectorAll("body *")]
    .filter(part => [...part.childNodes].some(each => each.nodeType == 3 && each.data.trim()))
    .filter(part => part.getClientRects().length)
    .map(part => { const style = getComputedStyle(part), paper = behind(part);
      const ink = parts(part instanceof SVGElement ? style.fill : style.color);
      const pair = [bright(over(ink, ink[3] * faded(part), paper)), bright(paper)].sort((a, b) => a - b);
      return [part.textContent.slice(0, 40), (pair[1] + 0.05) / (pair[0] + 0.05)]; });
}"""


FOCUS = """() => {
  const at = document.activeElement, ring = getComputedStyle(at.closest(".choice") ?? at);
  const name = at.tagName + (at.className && "." + at.className);
  return [name, `${ring.outlineStyle} ${ring.outlineWidth}`, at.getBoundingClientRect().left];
}"""


@pytest.fixture(scope="module")
def one_tab():
    with running_browser() as browser:
        yield browser.new_page()


@pytest.fixture
def tab(one_tab):
    """A shared tab, because opening one takes longer than most tests: a phone with a light screen."""
    one_tab.set_viewport_size({"width": NARROW[-1], "height": 800})
    one_tab.emulate_media(color_scheme="light", media="screen")
    return one_tab


def measured(tab, text):
    """Return, for each phone, whether the page is wider, and its smallest font size."""
    tab.set_content(text)
    tab.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    for width in NARROW:
        tab.set_viewport_size({"width": width, "height": 800})
        yield tab.evaluate("document.documentElement.scrollWidth > innerWidth"), tab.evaluate(SMALLEST_LETTERS)


def test_no_page_scrolls_sideways_on_a_telephone_and_letters_can_be_read(tab):
    """Two bad pages are the negative controls."""
    pages = {name: page(make()) for name, make in CASES.items()}
    pages |= {"hostile": page(hostile()), "several": several(), "over time": over_time(), "to be done": TO_BE_DONE}
    one = pages["one value"]
    pages["too wide"] = one.replace("<h1>", '<h1 style="width:400px">')
    pages["too small"] = one.replace("svg.chart text { font-size: 12px", "svg.chart text { font-size: 9px")
    pages["small axis"] = one.replace("svg.scale { height: 1.4em; font-size: .84em", "svg.scale { font-size: .6em")
    found = {name: list(measured(tab, text)) for name, text in pages.items()}
    assert {name for name, each in found.items() if any(wide for wide, _ in each)} == {"too wide"}
    assert {name for name, each in found.items() if any(size < 11 for _, size in each)} == {"too small", "small axis"}


@pytest.mark.parametrize("name", ["two values", "heavy", "unbiased", "one value"])
def test_bars_and_intervals_are_drawn_where_their_numbers_lie(tab, name):
    """Also in a notebook, which has only the style of the bars, and at any width."""
    release = CASES[name]()
    rows = release.estimate.rows_to_show(25)
    scale = Scale.of(rows)
    for text in (page(release), release._repr_html_()):
        tab.set_content(text)
        for width in (NARROW[0], WIDE):
            tab.set_viewport_size({"width": width, "height": 800})
            drawn = tab.evaluate(DRAWN)
            assert len(drawn) == len(rows)
            for row, seen in zip(rows, drawn, strict=True):
                assert seen["height"] > 8
                near = 1.5 / seen["width"]  # a pixel, and what the two digits of a per cent leave out
                assert abs(seen["begin"]) <= near
                assert seen["end"] == pytest.approx(scale.place(row.count), abs=near)
                assert seen["low"] == pytest.approx(scale.place(row.low), abs=near)
                assert seen["high"] == pytest.approx(scale.place(row.high), abs=near)


def test_numbers_stand_beside_their_bars_on_wide_screens_and_above_them_on_narrow_ones(tab):
    tab.set_content(page(CASES["heavy"]()))
    for width, above in ((WIDE, False), (NARROW[0], True)):
        tab.set_viewport_size({"width": width, "height": 800})
        for row in tab.locator("table.bars tbody tr").all()[:3]:
            bar, number, ends = (row.locator(part).bounding_box() for part in (".track", "td >> nth=1", ".ends"))
            assert (number["y"] + number["height"] <= bar["y"] + 1) == above
            assert (number["x"] >= bar["x"] + bar["width"]) != above
            # on one line, or a long interval below its number
            assert abs(number["y"] - ends["y"]) < 8 or (above and ends["y"] + ends["height"] <= bar["y"] + 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_has_enough_contrast_on_light_and_dark_screens(tab, scheme):
    """WCAG 2.2 AA, as the browser paints it, also for faint text and on every shade of a heat map."""
    tab.emulate_media(color_scheme=scheme)
    tab.set_viewport_size({"width": WIDE, "height": 800})
    papers = set()
    for text in (
        *(page(CASES[name]()) for name in ("pairs", "two values", "heavy")),
        several(),
        over_time(),
        TO_BE_DONE,
    ):
        tab.set_content(text)
        found = tab.evaluate(CONTRASTS)
        assert len(found) >= 20
        assert [(words, contrast) for words, contrast in found if contrast < 4.5] == []
        papers.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert papers == {"rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 29)"}
    tab.set_content(page(CASES["two values"]()).replace("footer {", "footer { opacity: .5;"))
    faint = [words for words, contrast in tab.evaluate(CONTRASTS) if contrast < 4.5]
    assert [words[:20] for words in faint] == ["Made with shuffledp "]


def test_on_paper_letters_are_black_also_when_the_screen_is_dark(tab):
    tab.emulate_media(color_scheme="dark", media="print")
    tab.set_content(page(CASES["heavy"]()))
    colours = "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    assert tab.evaluate(colours) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    assert len(re.findall(rb"/Type /Page\b", tab.pdf())) <= 5


def test_charts_and_bars_are_read_aloud_with_their_numbers(tab):
    """On a phone, rows are shown as lines but stay rows of a table; drawings are not read."""
    release = CASES["heavy"]()
    tab.set_content(page(release))
    row = release.estimate.rows_to_show(1)[0]
    for width in (NARROW[0], WIDE):
        tab.set_viewport_size({"width": width, "height": 800})
        snapshot = tab.locator("table.bars").aria_snapshot()
        assert f'rowheader "{row.label}"' in snapshot
        assert f'cell "{round(row.count):,}"' in snapshot
        assert f'cell "{row.low:,} to {row.high:,}"' in snapshot
        assert snapshot.count("rowheader") == 25
        assert "img" not in snapshot
    assert names_of_charts(tab) == ["All reported values, the most frequent first", "The privacy curve"]
    tab.set_content(page(CASES["ages"]()))
    distribution, columns, curve = names_of_charts(tab)
    assert (distribution, curve) == ("The share of people below each value", "The privacy curve")
    assert columns.startswith("age: 0 to 120; the most people, about ")
    assert tab.get_by_role("img", name=re.compile("the median is about")).count() == 1


def names_of_charts(tab):
    tab.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    name = "part => part.getAttribute('aria-label') || part.querySelector('title').textContent"
    return [chart.evaluate(name) for chart in tab.get_by_role("img").all()]


def test_hostile_labels_stay_text_and_in_their_place(tab):
    dialogs = []
    tab.once("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    tab.set_content(page(hostile()))
    assert dialogs == []
    assert tab.locator("script, img, svg[onload], [onerror], [onclick]").count() == 0
    texts = [part.text_content() for part in tab.locator("table.bars tbody th").all()]
    assert texts[:4] == list(HOSTILE[:4])
    assert max(map(len, texts)) == 60
    assert tab.locator("table.bars tbody th").first.evaluate("part => getComputedStyle(part).overflowY") == "clip"


def test_what_can_be_done_is_large_enough_for_a_finger_and_seen_with_the_keyboard(tab):
    """Controls have 44 pixels (WCAG 2.2, 2.5.5) and a focus ring; the link to the content comes first."""
    tab.set_content(TO_BE_DONE)
    for part in tab.locator("button, .button, .choice, .field input").all():
        assert part.bounding_box()["height"] >= 44
    reached = []
    for _ in range(10):
        tab.keyboard.press("Tab")
        name, ring, left = tab.evaluate(FOCUS)
        reached.append(name)
        assert left >= 0
        assert ring == "solid 3px"
    assert reached[:2] == ["A.skip", "A.brand"]
    assert {"INPUT", "BUTTON", "A.button quiet"} <= set(reached)


@pytest.fixture
def served(tab):
    """Open a page with the headers of a server; return the violations that the browser reports."""
    forbidden = []
    tab.on("console", lambda message: forbidden.append(message.text))

    def opened(text, headers):
        forbidden.clear()
        tab.route("**/*", lambda route: route.fulfill(body=text, headers={"content-type": "text/html", **headers}))
        tab.goto("https://report.test/")
        tab.unroute("**/*")
        return list(forbidden)

    return opened


def test_a_strict_policy_forbids_nothing_that_the_report_needs(tab, served):
    """With the policy of the analyzer, the browser reports no violation; three bad pages are the negative controls."""
    headers = dict(headers_for("html"))
    text = page(CASES["pairs"]()).replace("<details>", "<details open>")
    assert served(text, {}) == []
    plain = tab.screenshot(full_page=True)
    assert served(text, headers) == []
    assert tab.screenshot(full_page=True) == plain
    for old, new, kind in (
        ("<h1>", '<h1 style="color:red">', "inline style"),
        ("<style>", "<style> ", "inline style"),
        ("<h1>", "<h1><script>document.title = 1</script>", "inline script"),
    ):
        assert any(kind in words for words in served(text.replace(old, new), headers))


def test_without_a_browser_one_sentence_says_what_to_do(monkeypatch):
    """A skipped test would hide the problem."""
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(AssertionError, match=r"none of chromium.*: make test installs Chromium or says how"):
        browser_path()

"""The report without a browser: well formed, self-contained, accessible, with correct numbers.

test_page_in_browser.py has the tests that need a browser.
"""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from shuffledp import private_histogram
from shuffledp.cli.release_output import command_of
from shuffledp.explain.charts import all_values
from shuffledp.explain.html import environment
from shuffledp.explain.page import bars_title, call, headline, page
from shuffledp.explain.protocols import protocol_title
from shuffledp.histogram.order import is_last
from tests.explain.cases import CASES, GUARANTEE
from tests.oracles.html_pages import read_page

WIDEST = 340
"""Pixels that no part may insist on: the narrowest telephones show 360."""

pytestmark = pytest.mark.xdist_group("page")  # one worker makes each release once


@pytest.fixture(scope="module", params=CASES)
def release(request):
    return CASES[request.param]()


@pytest.fixture(scope="module")
def text(release):
    return page(release)


@pytest.mark.slow
def test_it_is_well_formed_and_self_contained(text):
    read = read_page(text)
    assert {"script", "link", "img", "iframe", "object", "base"}.isdisjoint({tag for tag, _ in read.seen})
    assert not re.search(r"(?:src|href|url|@import)\s*[=(]", text)
    assert "http" not in re.sub(r"<(bdi|title)>.*?</\1>", "", text)
    names = {name for _, attributes in read.seen for name in attributes}
    assert not [name for name in names if name.startswith("on")]
    assert "style" not in names


def test_nothing_is_wider_than_a_phone(text):
    """No fixed width in pixels or rem is larger than a phone; a browser checks the page as a whole."""
    styles = "".join(re.findall(r"<style>(.*?)</style>", text, flags=re.DOTALL))
    wide = re.sub(r"@media \([^)]*\)|max-width:\s*[\d.]+\w+", "", styles)
    wide = re.sub(r"minmax\(min\(100%, \d+px\), 1fr\)", "", wide)
    for number, unit in re.findall(r"(?:width:|minmax\()\s*([\d.]+)(px|rem|em|pt|in)", wide):
        assert float(number) * {"px": 1, "rem": 16, "em": 16, "pt": 4 / 3, "in": 96}[unit] <= WIDEST


def test_charts_have_words_and_letters_that_a_telephone_shows(text):
    read = read_page(text)
    for attributes in read.attributes("svg"):
        if attributes["class"] in ("track", "scale", "up"):  # their numbers stand beside them, as text
            assert attributes["aria-hidden"] == "true"
            continue
        assert attributes["role"] == "img"
        if attributes["class"] == "plot":
            assert attributes["aria-label"]
            continue
        names = attributes["aria-labelledby"].split()
        ids = {a.get("id") for tag, a in read.seen if tag in ("title", "desc")}
        assert set(names) <= ids
        assert "width" not in attributes
        *_, width, _ = map(float, attributes["viewbox"].split())
        (size,) = re.findall(r"svg\.chart text \{ font-size: (\d+)px", text)
        assert float(size) * (360 - 2 * 16) / width >= 11
    ids = [a["id"] for _, a in read.seen if "id" in a]
    assert len(set(ids)) == len(ids)


def test_it_names_date_version_and_parameters(release, text):
    read = read_page(text)
    texts = " ".join(read.texts)
    assert release.made.isoformat() in texts
    title = protocol_title(release.title)
    for needed in (f"shuffledp {release.version}", title, "how it was made", type(release.protocol).__name__):
        assert needed in texts
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert read.attributes("html") == [{"lang": "en"}]
    assert len(read.attributes("h1")) == 1


def test_numbers_stand_beside_the_bars(release, text):
    texts = read_page(text).texts
    for row in release.estimate.top(25):
        assert f"{round(row.count):,}" in texts
        assert f"{row.low:,} to {row.high:,}" in texts
    # a column of a chart of ordered values is not repeated as a bar
    bars = [row for row in release.estimate.top() if is_last(row.label) or '<div class="series"' not in text]
    assert text.count('<rect class="bar"') == min(25, len(bars))


def test_nouns_follow_their_numbers(text):
    assert not re.search(r"(?<![\d.,])1 (values|people|persons)\b", " ".join(read_page(text).texts))
    assert "1 most frequent" not in text


def test_an_error_of_one_person_is_none_of_people():
    release = CASES["one value"]()
    estimate, count = release.estimate, round(release.estimate.counts[0])
    close = replace(estimate.simultaneous, low=np.array([count - 1]), high=np.array([count + 1]))
    close = replace(estimate, counts=np.array([float(count)]), simultaneous=close)
    assert "person: the largest error" in dict(headline(replace(release, estimate=close)))["± 1"]


def test_marks_of_an_axis_differ(text):
    """The axis of one value once had the ticks 1 1 1 1 1."""
    scales = re.findall(r'<svg class="scale" aria-hidden="true">(.*?)</svg>', text)
    assert len(scales) == text.count('<table class="bars"') + text.count('<div class="series"')
    for scale in scales:
        marks = re.findall(r">([^<]+)</text>", scale)
        assert len(set(marks)) == len(marks) >= 2
    for chart in re.findall(r'<svg class="chart".*?</svg>', text, flags=re.DOTALL):
        marks = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="\w+">([^<]+)</text>', chart)
        below = [text for _, y, text in marks if float(y) == max(float(y) for _, y, _ in marks[:-1])]
        beside = [text for x, _, text in marks if float(x) == min(float(x) for x, _, _ in marks)]
        for axis in (below, beside):
            assert len(set(axis)) == len(axis) >= 2


def test_bounds_are_rounded_up_and_probabilities_are_not():
    """Rounded to the nearest, a bound of 61.2 people would be 61, and 0.99996 would be 1."""
    from dataclasses import replace

    release = private_histogram(["a"] * 500 + ["b"] * 500, **GUARANTEE, beta=0.00004)
    estimate = replace(release.estimate, counts=release.estimate.simultaneous.high - 61.2)
    text = page(
        replace(
            release,
            estimate=replace(
                estimate, simultaneous=replace(estimate.simultaneous, low=estimate.simultaneous.high - 70)
            ),
        )
    )
    assert "± 62" in text
    assert "± 61" not in text
    assert "with probability 0.99996" in text
    assert "probability 1" not in text


@pytest.mark.slow
def test_titles_of_the_bars():
    few, one = private_histogram(["a"] * 500 + ["b"] * 500, **GUARANTEE), private_histogram(["a"] * 500, **GUARANTEE)
    assert bars_title(one) == "The one value that is shown"
    assert bars_title(few) == "All 2 values that are shown"
    assert bars_title(CASES["heavy"]()) == "The 25 most frequent of 1,000 values that are shown"


@pytest.mark.slow
def test_the_command_and_the_call_are_the_ones_that_were_asked_for():
    data = {"my column": ["a"] * 600 + ["b"] * 300}
    release = private_histogram(data, column="my column", **GUARANTEE, domain=["a", "b"], drop_missing=True, beta=0.1)
    assert command_of(release.asked) == (
        "shuffledp run FILE --epsilon 1 --delta 1e-06 --column 'my column' --drop-missing --beta 0.1 --domain FILE"
    )
    assert call(release) == (
        "private_histogram(data, epsilon=1.0, delta=1e-06, column='my column', drop_missing=True, beta=0.1, "
        "domain=[2 values])"
    )
    assert command_of(release.asked) in read_page(page(release, command=command_of(release.asked))).texts
    assert "On the command line" not in page(release)
    assert command_of(private_histogram(["a"] * 500, **GUARANTEE).asked) is None


def test_all_values_are_drawn_only_where_the_bars_leave_some_out():
    assert "All values that are shown, sorted" not in page(CASES["two values"]())
    heavy = CASES["heavy"]()
    assert all_values(heavy) in page(heavy)
    assert len(all_values(heavy)) < 30_000


@pytest.mark.slow
def test_bins_that_are_not_values_have_no_rank():
    """30 values of 400 people each; everybody has fewer values than the cap."""
    rows = [{"person": person, "app": person % 30} for person in range(12_000)]
    release = private_histogram(rows, column="app", user="person", values_per_person=2, domain=range(30), **GUARANTEE)
    chart = all_values(release)
    assert f"the last of {release.estimate.values_shown:,} about" in chart
    assert "The first has about 12," not in chart


@pytest.mark.slow
def test_a_page_without_values_has_no_ranks():
    rows = [{"person": person, "app": person} for person in range(2000)]
    release = private_histogram(rows, column="app", user="person", values_per_person=30, **GUARANTEE)
    assert release.estimate.values_shown == 0
    assert len(release.estimate) > 25
    assert "sorted" not in page(release)


def test_the_explanation_has_paragraphs():
    macros = environment().get_template("macros.html").module
    assert macros.paragraphs({"Result": "2 < 3.", "How sure": "with a: colon."}) == (
        "<p><b>Result:</b> <bdi>2 &lt; 3.</bdi></p>\n<p><b>How sure:</b> <bdi>with a: colon.</bdi></p>\n"
    )


def test_the_largest_error_is_of_this_release(release, text):
    """It is the largest distance of a shown number from an end of its interval."""
    shown = re.findall(r"<b>± ([\d,]+)</b>", text)
    if not len(release.estimate):
        assert shown == []
        return
    (most,) = (int(number.replace(",", "")) for number in shown)
    assert all(row.count - most <= row.low and row.high <= row.count + most for row in release.estimate.top())


@pytest.mark.slow
def test_a_value_that_is_not_among_the_bars_may_still_be_shown():
    """With more values than bars, the bound is for values that are not listed."""
    many = page(private_histogram(Counter({f"v{at}": 2000 - at for at in range(40)}), **GUARANTEE))
    assert "A value that is not among the 40 is held by at most" in many
    few = page(private_histogram(Counter({"yes": 2000, "no": 1000}), **GUARANTEE))
    assert "A value that is not shown is held by at most" in few


def test_how_people_were_counted_has_a_title():
    text = page(private_histogram(["yes"] * 2000, **GUARANTEE))
    assert "<h2>How people were counted</h2>\n<ul><li>Protocol: " in text


@pytest.mark.slow
def test_possible_values_are_described_or_counted():
    anything = page(private_histogram(["yes"] * 2000, **GUARANTEE))
    assert "Possible values</th><td><bdi>any value of up to 8,192 bytes<" in anything
    assert "2^" not in anything.split("Parameters</th>")[0]
    listed = page(private_histogram(["yes"] * 2000, **GUARANTEE, domain=["yes", "no"], drop_missing=True))
    assert "Possible values</th><td><bdi>2<" in listed


def test_no_sentence_contradicts_that_no_messages_were_made():
    text = private_histogram(["yes"] * 2000, **GUARANTEE).explain()
    assert "Simulated: noise was sampled from the exact distribution of the shuffled messages." in text
    assert not re.search(r"(?<!In this protocol, )(each person|everyone) sends", text, flags=re.IGNORECASE)


def test_a_warning_is_a_sentence():
    """With the error that is shown below it, and no advice that readers cannot follow."""
    release = private_histogram(["yes"] * 300, **GUARANTEE)
    (error,) = [number.removeprefix("± ") for number, _ in headline(release) if "±" in number]
    warning = f"<b>Warning.</b> Counts can be off by up to {error} of 300 people, so small differences between them say"
    assert warning in page(release)
    assert "use more people" not in page(release)

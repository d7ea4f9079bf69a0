"""The history of releases: dots and intervals match the numbers, and a table has all of them."""

import re
from datetime import UTC, date, datetime

import pytest

from shuffledp import private_histogram
from shuffledp.explain.history import MOST_RELEASES, MOST_VALUES, Past, history
from tests.explain.cases import GUARANTEE
from tests.oracles.html_pages import read_page

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


def past(number, counts, *, made=date(2026, 11, 16)):
    data = [label for label, count in counts.items() for _ in range(count)]
    release = private_histogram(data, **GUARANTEE)
    return Past(number, made, len(data), release)


@pytest.fixture(scope="module")
def three():
    """Three releases with different numbers of people; the first does not show the second value."""
    return [
        past(1, {"yes": 1000, HOSTILE: 2}),
        past(2, {"yes": 900, HOSTILE: 600}),
        past(3, {"yes": 900, HOSTILE: 900}),
    ]


def per_cent(text):
    return float(text.rstrip("%")) / 100


@pytest.mark.slow
def test_dots_and_intervals_lie_where_their_numbers_do(three):
    html = history(three)
    pictures = re.findall(r'<svg class="past".*?</svg>', html, flags=re.DOTALL)
    labels = [row.label for row in three[-1].release.estimate.top()]
    assert len(pictures) == len(labels) == 2
    for label, picture in zip(labels, pictures, strict=True):
        read = read_page(picture)
        reaches = [line for line in read.attributes("line") if line["class"].startswith("reach")]
        dots = iter(read.attributes("circle"))
        top, bottom = (per_cent(text.replace(" ", "")) for text in read.texts)
        span, near = top - bottom, 0.0011 / (top - bottom)  # tenths of a per cent, rounded outwards
        for at, (each, reach) in enumerate(zip(three, reaches, strict=True)):
            estimate = each.release.estimate
            shown = label in estimate
            low, high = estimate.interval(label) if shown else (0, estimate.simultaneous.unreported_high)
            low, high = max(low, 0), min(high, each.people)
            assert -1e-4 <= per_cent(reach["y2"]) - (top - low / each.people) / span <= near
            assert -near <= per_cent(reach["y1"]) - (top - high / each.people) / span <= 1e-4
            assert (
                per_cent(reach["x1"]) == per_cent(reach["x2"]) == pytest.approx(0.16 + 0.84 * (at + 0.5) / 3, abs=1e-4)
            )
            assert ("hidden" in reach["class"]) != shown
            if shown:
                dot = next(dots)
                assert per_cent(dot["cx"]) == per_cent(reach["x1"])
                assert per_cent(dot["cy"]) == pytest.approx((top - estimate[label] / each.people) / span, abs=1e-4)
        assert next(dots, None) is None


@pytest.mark.slow
def test_the_table_has_every_number_the_latest_first(three):
    texts = read_page(history(three)).texts
    for each in three:
        row = each.release.estimate.top(1)[0]
        assert f"{each.people:,}" in texts
        assert f"{round(row.count):,} ({row.low:,} to {row.high:,})" in texts
    assert f"not shown: at most {three[0].release.estimate.simultaneous.unreported_high:,}" in texts
    numbers = [text for text in texts if re.fullmatch(r"\d+: ", text)]
    assert numbers == ["3: ", "2: ", "1: "]


def test_labels_stay_text_and_every_picture_is_described(three):
    page = read_page(history(three))
    assert {tag for tag, _ in page.seen}.isdisjoint({"script", "img"})
    names = {name for _, attributes in page.seen for name in attributes}
    assert "style" not in names
    assert not [name for name in names if name.startswith("on")]
    described = [svg["aria-label"] for svg in page.attributes("svg") if svg.get("role") == "img"]
    (hostile,) = (words for words in described if HOSTILE in words)
    assert "from not shown in release 1 to" in hostile


def test_of_many_releases_and_values_the_latest_and_the_most_frequent_are_drawn():
    release = past(1, {f"v{at}": 900 - 60 * at for at in range(8)}).release
    many = [Past(at, datetime(2026, 11, 1, 12, at % 60, tzinfo=UTC), 5520, release) for at in range(40, 0, -1)]
    html = history(many)
    assert html.count('<svg class="past"') == MOST_VALUES
    assert html.count("<circle") == MOST_VALUES * MOST_RELEASES
    assert f"Over the last {MOST_RELEASES} releases" in html
    assert "40: <time>2026-11-01 12:40</time>" in html
    assert "10: <time>" not in html
    assert "11: <time>" in html


@pytest.mark.slow
def test_one_release_has_no_history_and_neither_has_one_that_shows_nothing(three):
    assert history([]) is history(three[:1]) is history([*three, past(4, {"a": 1})]) is None


def test_the_axis_distinguishes_releases_of_one_day(three):
    def ends(*moments):
        drawn = history([each._replace(made=made) for each, made in zip(three, moments, strict=True)])
        return re.findall(r'<text x="[^"]*" y="1em" text-anchor="(?:start|end)">([^<]*)</text>', drawn)

    morning, noon = (datetime(2026, 11, 16, hour, tzinfo=UTC) for hour in (9, 12))
    assert ends(morning, noon, noon) == ["1: 2026-11-16 09:00", "3: 2026-11-16 12:00"]
    assert ends(morning, noon, noon.replace(day=17)) == ["1: 2026-11-16", "3: 2026-11-17"]

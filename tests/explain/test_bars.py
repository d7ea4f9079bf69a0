"""Bars as text, as HTML and on axes: their lengths match the numbers."""

import re

import matplotlib
import matplotlib.figure
import pytest

from shuffledp.explain.bars import Scale, draw_bars, html_bars, round_step, text_bars
from shuffledp.histogram.estimate import Row
from tests.oracles.html_pages import read_page


def rows(*counts, reach=3):
    return [Row(f"v{at}", count, max(0, round(count) - reach), round(count) + reach) for at, count in enumerate(counts)]


def test_even_values_have_a_linear_axis():
    scale = Scale.of(rows(1000, 600, 300))
    assert not scale.logarithmic
    assert scale.marks == [0, 500, 1000]
    assert scale.place(1003 / 2) == pytest.approx(0.5)
    assert scale.name == "people"


def test_an_axis_is_linear_unless_a_logarithmic_one_is_asked_for():
    """A logarithmic axis once appeared by itself and started at 10, so that bars were not as long as their counts."""
    bars = rows(100_000, 900, 500, 200)
    scale = Scale.of(bars)
    assert (scale.logarithmic, scale.low, scale.marks[0]) == (False, 0, 0)
    assert scale.place(50_000) == pytest.approx(50_000 / 100_003)
    scale = Scale.of(bars, log=True)
    assert scale.marks == [1, 100, 10_000]
    assert "each line is 100 times the one before" in scale.name
    assert "logarithmic" not in text_bars(bars, column="word")
    axes = matplotlib.figure.Figure().subplots()
    assert draw_bars(axes, bars).get_xscale() == "linear"
    assert draw_bars(axes, bars, log=True).get_xscale() == "log"


@pytest.mark.parametrize("counts", [(5,), (1,), (0.4,), (-3.2,), (0,), (7, -7, 0), (1e8, 3e7, 1e3), (1e9, 1, 1, 1)])
@pytest.mark.parametrize("log", [False, True])
def test_odd_values_have_an_axis_too(counts, log):
    scale = Scale.of(rows(*counts), log=log)
    assert 2 <= len(scale.marks) <= 8
    assert len(set(scale.marks)) == len(scale.marks)
    assert all(0 <= scale.place(count) <= 1 for count in counts)
    assert all(mark == int(mark) for mark in scale.marks)


def test_an_axis_ends_at_a_mark_if_an_estimate_is_larger_than_the_number_of_people():
    """Intervals end at the number of people, 40; an estimate of 49 once lay far beyond the last mark."""
    scale = Scale.of([Row("a", 49.0, 0, 40), Row("b", -9.0, 0, 40)])
    assert scale.marks == [0, 10, 20, 30, 40, 50]
    assert (scale.high, scale.place(49)) == (50, pytest.approx(0.98))
    page = read_page(html_bars([Row("a", 49.0, 0, 40)], column="v"))
    assert [bar["width"] for bar in page.attributes("rect") if bar["class"] == "bar"] == ["98.00%"]


def test_steps_are_round():
    assert [round_step(span, steps=5) for span in (1, 5, 7, 23, 99, 1e8)] == [0.2, 1, 2, 5, 20, 20_000_000]


def test_text_lines_up_also_with_wide_and_combining_letters():
    bars = [Row("日本", 100.0, 90, 110), Row("abcd", 50.4, 40, 60), Row("e\u0301", -0.3, 0, 9)]
    head, *lines = text_bars(bars, column="word").splitlines()
    assert head.split() == ["word", "people", "interval"]
    assert lines[0].split("  ")[0] == "日本"
    assert [line.split()[1] for line in lines] == ["100", "50", "0"]
    assert lines[0].count("█") == 2 * lines[1].count("█")


def test_labels_in_html_stay_text():
    hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
    page = read_page(html_bars([Row(hostile, 10.0, 5, 15), Row(None, 4.0, 1, 9)], column=hostile))
    assert {tag for tag, _ in page.seen}.isdisjoint({"script", "img"})
    assert "".join(page.texts).count("<script>") == 2
    assert "(missing)" in page.texts


def test_bars_in_html_are_as_long_as_their_numbers():
    page = read_page(html_bars(rows(1000, 250, reach=0), column="v"))
    bars = [attributes for attributes in page.attributes("rect") if attributes["class"] == "bar"]
    assert [(bar["x"], bar["width"]) for bar in bars] == [("0", "100.00%"), ("0", "25.00%")]
    assert {"1,000", "250", "250 to 250"} <= set(page.texts)


def test_intervals_in_html_lie_where_their_numbers_do():
    """A line from the lower to the upper end, and a short one across at each end."""
    drawn = html_bars([Row("a", 900.0, 800, 1000), Row("b", 300.0, 250, 350)], column="v")
    lines = [line for line in read_page(drawn).attributes("line") if line["class"] == "reach"]
    places = [(line["x1"], line["x2"]) for line in lines]
    assert places[:3] == [("80.00%", "100.00%"), ("80.00%", "80.00%"), ("100.00%", "100.00%")]
    assert places[3:] == [("25.00%", "35.00%"), ("25.00%", "25.00%"), ("35.00%", "35.00%")]


@pytest.mark.parametrize("counts", [(1000, 250), (1e6, 300, 200, 100), (5,), (-2.0,), ()])
def test_nothing_in_html_needs_a_style_attribute_or_a_script(counts):
    """A strict content security policy forbids both; drawings are hidden from screen readers."""
    page = read_page(html_bars(rows(*counts), column="v"))
    names = {name for _, attributes in page.seen for name in attributes}
    assert "style" not in names
    assert not [name for name in names if name.startswith("on")]
    assert {attributes["aria-hidden"] for attributes in page.attributes("svg")} == {"true"}


def test_numbers_of_an_axis_do_not_touch():
    """Ten million and a million are neighbours on this axis; a phone has room for one of them."""
    text = html_bars(rows(2e7, 6e4, 5e4, 4e4), column="v")
    marks = re.findall(r'<text x="([\d.]+)%" y="1em" text-anchor="(\w+)">([\d,]+)</text>', text)
    ends = 0.0
    for place, anchor, number in marks:
        width = 2.3 * len(number)
        begin = float(place) - {"start": 0, "middle": width / 2, "end": width}[anchor]
        assert begin >= ends
        ends = begin + width
    assert len(marks) >= 2


@pytest.mark.slow
def test_axes_are_drawn_on_and_returned():
    from matplotlib.figure import Figure

    for bars in (rows(1000, 250), rows(1e6, 300, 200, 100), rows(5), rows(-2.0), []):
        axes = Figure().subplots()
        assert draw_bars(axes, bars) is axes
        ticks = [text.get_text() for text in axes.get_xticklabels()]
        assert len(set(ticks)) == len(ticks) >= 2
    assert matplotlib.get_backend() is not None


def test_dollar_signs_are_not_formulas():
    from matplotlib.figure import Figure

    figure = Figure()
    axes = draw_bars(figure.subplots(), [Row("$x$ & $\\frac{", 5.0, 1, 9)])
    assert not axes.get_yticklabels()[0].get_parse_math()

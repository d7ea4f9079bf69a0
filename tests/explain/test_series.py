"""Ordered values as columns: in order, at their places, with averages that keep their bounds."""

import re

import matplotlib.figure
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import Periods, private_histogram
from shuffledp.explain.page import page
from shuffledp.explain.series import Series, about_series, draw_series, html_series, series_of, text_series
from shuffledp.histogram.estimate import Row
from tests.explain.cases import CASES
from tests.oracles.html_pages import read_page

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}


def rows(labels, counts=None):
    counts = [100.0 * (at + 1) for at in range(len(labels))] if counts is None else counts
    return [Row(label, count, max(0, int(count) - 10), int(count) + 10) for label, count in zip(labels, counts)]  # noqa: B905


def test_columns_lie_at_their_places_and_others_come_last():
    series = Series.of(rows(["17", "18", "20", None, "(other)"]))
    assert [(column.place, column.first) for column in series.columns] == [(0, "17"), (1, "18"), (3, "20")]
    assert (series.places, series.gaps, series.averaged) == (4, True, 1)
    assert "A gap is a value that is not shown: at most 7 people." in about_series(series, unreported_high=7)
    assert Series.of(rows(["17", None])) is None
    even = Series.of(rows(["never", "often", "always"]))
    assert ([column.place for column in even.columns], even.gaps) == ([0, 1, 2], False)


@pytest.mark.slow
@given(st.lists(st.floats(-50, 1e6), min_size=2, max_size=60), st.integers(2, 20))
def test_a_column_of_several_values_is_their_average_with_true_bounds(counts, most):
    truth = rows(list(range(len(counts))), counts)
    series = Series.of(truth, most=most)
    assert series.places <= max(most, 2)
    assert sum(column.values for column in series.columns) == len(counts)
    for column in series.columns:
        part = truth[column.first : column.last + 1]
        assert len(part) == column.values
        for name in ("count", "low", "high"):
            assert getattr(column, name) == pytest.approx(np.mean([getattr(row, name) for row in part]))


def test_the_page_draws_every_column_in_order():
    release = CASES["numbers"]()
    text = page(release)
    assert "All 74 values that are shown, in order" in text
    columns = [attributes for tag, attributes in read_page(text).seen if attributes.get("class") == "column"]
    assert len(columns) == 74
    starts = [float(column["x"].rstrip("%")) for column in columns]
    assert starts == sorted(starts)
    scale = series_of(release.estimate).scale
    for column, row in zip(columns, release.estimate.rows_in_order(), strict=True):
        assert float(column["height"].rstrip("%")) / 100 == pytest.approx(scale.place(row.count), abs=1e-4)
    assert "by rank" not in text
    assert "logarithmic" not in text


def test_marks_do_not_overlap_and_leave_out_unusually_long_labels():
    months = Periods("month", start="2019-01", stop="2024-01").domain
    series = Series.of(rows(months.decode(np.arange(months.size)).tolist()))
    texts = [mark.text for mark in series.marks]
    assert texts[0] == "2019-01"
    assert len(texts) >= 4
    for before, after in zip(series.marks, series.marks[1:], strict=False):
        assert before.end <= after.begin
    long = Series.of(rows([f"{'x' * 40}{at}" for at in range(30)]))
    assert 1 <= len(long.marks) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["numbers", "ages", "months", "ordered labels"])
def test_axes_and_text_show_the_same_columns(name):
    release = CASES[name]()
    series = series_of(release.estimate)
    axes = release.plot(ax=matplotlib.figure.Figure().subplots())
    heights = [patch.get_height() for patch in axes.patches][: len(series.columns)]
    assert heights == pytest.approx([max(column.count, 0) for column in series.columns])
    assert axes.get_yscale() == "linear"
    assert (
        draw_series(series_of(release.estimate, log=True), matplotlib.figure.Figure().subplots()).get_yscale() == "log"
    )
    lines = text_series(series).splitlines()
    assert len(lines) == 10
    assert lines[-1].split()[0] == str(series.columns[0].first).split()[0]


def test_hostile_labels_and_names_are_escaped():
    series = Series.of(rows(["<b>", "</svg><script>", "z"]))
    html = html_series(series, column="<i>")
    assert "<b>" not in html
    assert "<script>" not in html
    assert "<i>" not in html


def test_a_limit_of_the_plot_leaves_the_largest_in_order():
    release = CASES["numbers"]()
    axes = release.plot(ax=matplotlib.figure.Figure().subplots(), limit=5)
    # where the largest lie far apart, intervals are bars too
    assert len({patch.get_x() for patch in axes.patches}) == 5
    with pytest.raises(ValueError, match="limit"):
        release.plot(ax=matplotlib.figure.Figure().subplots(), limit=-1)


@pytest.mark.slow
def test_a_notebook_shows_quantiles_columns_and_the_table_of_two_columns():
    ordered = CASES["ages"]()._repr_html_()
    assert '<th scope="row">50% (median)</th>' in ordered
    assert '<div class="series">' in ordered
    pairs = CASES["pairs"]()._repr_html_()
    assert '<table class="heat-map">' in pairs
    assert ".heat-map .shade-31" in pairs
    plain = private_histogram(["a"] * 900 + ["b"] * 500, **GUARANTEE)._repr_html_()
    assert not re.search('series"|heat|quantile|have at most', plain.split("</style>")[1])

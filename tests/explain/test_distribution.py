"""The figure of a distribution function, and the table of quantiles."""

import re

import numpy as np
import pytest

from shuffledp.explain.charts import (
    distribution_chart,
    points_of,
    quantile_rows,
)
from shuffledp.explain.page import page
from shuffledp.explain.protocols import share_of_all, within
from shuffledp.explain.trend import quantile_cell
from tests.explain.cases import CASES
from tests.oracles.html_pages import read_page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["ages", "months", "ordered labels"])
def release(request):
    return CASES[request.param]()


def test_points_lie_in_the_band_and_rise(release):
    points = points_of(release.estimate)
    assert (np.diff(points.places) >= 0).all()
    for numbers in points[1:]:
        assert (np.diff(numbers) >= 0).all()
    assert (np.array(points.low) <= points.shares).all()
    assert (np.array(points.shares) <= points.high).all()


def test_the_chart_says_where_the_median_is(release):
    chart = distribution_chart(release.estimate, column="<age>")
    read_page(f"<div>{chart}</div>")
    assert "<age>" not in chart
    assert "&lt;age&gt;" in chart
    assert "median" in chart
    assert chart.count("<polyline") == 1
    assert chart.count("<polygon") == 1
    numbers = [float(number) for part in re.findall(r'points="([^"]*)"', chart) for number in re.split("[ ,]", part)]
    assert min(numbers) >= 0
    assert max(numbers) <= 340


def test_the_page_has_the_quantiles_that_were_asked_for():
    usual, asked = page(CASES["ages"]()), page(CASES["months"]())
    for share in ("5%", "25%", "50% (median)", "75%", "95%"):
        assert f'<th scope="row">{share}</th>' in usual
    assert '<th scope="row">99%</th>' in asked
    assert '<th scope="row">25 %</th>' not in asked
    assert "How people are distributed" in usual
    assert "hardly wider than the line" in usual
    assert "How people are distributed" not in page(CASES["two values"]())


def test_rows_of_quantiles_hold_the_truth():
    rows = quantile_rows(CASES["ages"]().estimate, [0.5])
    assert rows == [("50% (median)", rows[0][1], rows[0][2])]
    low, high = re.findall(r"\d+", rows[0][2])
    assert float(low) <= float(rows[0][1]) <= float(high)
    assert 38 <= float(low) <= 46
    assert [value for _, value, _ in quantile_rows(CASES["ordered labels"]().estimate, [0.05, 0.5])] == [
        "never",
        "seldom",
    ]


@pytest.fixture(scope="module")
def few():
    """Forty people, whose median may be anything."""
    return CASES["few people"]()


def test_a_median_that_may_be_anything_is_not_drawn(few):
    chart = distribution_chart(few.estimate, column="hours")
    assert "the data do not determine the median." in chart
    assert "median is about" not in chart
    assert "<circle" not in chart
    assert quantile_rows(few.estimate, [0.5]) == [("50% (median)", "not determined", "anything")]
    assert quantile_cell(few.estimate.quantile(0.5)) == "not determined"
    assert "The data do not determine the median." in few.explain()


def test_an_error_of_all_people_has_no_percentage(few):
    assert few.estimate.distribution().widest >= few.estimate.people
    text = page(few)
    assert "of all people)" not in text
    assert "% of all)" not in few.explain()


def test_a_share_of_all_is_shown_below_100_percent():
    assert within(39.5, 40) == "within ±40 people (99% of all)"
    assert within(40, 40) == "within ±40 people"
    assert share_of_all(72.0, 40, whole="the batch") == ""
    assert share_of_all(10.0, 40, whole="the batch") == " (25% of the batch)"


def test_the_report_does_not_say_whose_protocol_it_is(few):
    assert "(ours)" in few.title
    assert "Ranges (ours)" not in page(few)

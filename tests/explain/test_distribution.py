"""The figure of a distribution function, and the table of quantiles."""

import re

import numpy as np
import pytest

from shuffledp.explain.distribution import (
    distribution_chart,
    draw_distribution,
    plot_distribution,
    points_of,
    quantile_rows,
)
from shuffledp.explain.page import page
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


def test_the_picture_is_saved_and_shows_the_band(release, tmp_path):
    draw_distribution(release.estimate, tmp_path / "picture.svg", column="age")
    assert (tmp_path / "picture.svg").stat().st_size > 5000
    axes = plot_distribution(release.estimate, column="a $ sign")
    (line,) = axes.get_lines()
    assert len(line.get_ydata()) == len(points_of(release.estimate).places)
    assert axes.collections
    assert axes.get_xlabel() == "a $ sign"

"""Quantiles and plans of ranges on the terminal."""

import pytest

from shuffledp.cli.ranges import parse_shares, show_quantiles, show_range_plan
from shuffledp.errors import ParameterError
from shuffledp.jobs.ranges import RangeRow
from tests.report.cases import CASES


def test_shares_are_read():
    assert parse_shares("0.25,0.5, 0.99") == (0.25, 0.5, 0.99)
    for wrong in ("", "half", "0.5;0.6", "0.5,1", "-0.1"):
        with pytest.raises(ParameterError, match="quantiles"):
            parse_shares(wrong)


def test_quantiles_are_a_table(capsys):
    show_quantiles(CASES["ages"]().estimate, (0.25, 0.5))
    shown = capsys.readouterr().out
    assert "have at most" in shown
    assert "95 % interval" in shown
    assert "25 %" in shown
    assert " to below " in shown
    assert "all intervals hold at once with probability 0.95" in shown


def test_a_plan_of_ranges_is_a_table(capsys):
    rows = [
        RangeRow(title="Ranges (ours)", branching=4, levels=5, error=86.2, messages=7.46),
        RangeRow(title="sums over a histogram", problem="needs at least 150 people"),
    ]
    show_range_plan(rows, users=10**5, beta=0.05)
    shown = capsys.readouterr().out
    assert "Error of the distribution function of 100,000 people, with probability 0.95" in shown
    assert " 87 " in shown  # rounded up
    assert "needs at least 150 people" in shown

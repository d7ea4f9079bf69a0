"""Releases over time in words and pictures: one snapshot for each kind of text, rendered from records."""

import re
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from shuffledp import Trend
from shuffledp.errors import DataError, ParameterError
from shuffledp.explain.trend import change, change_of_quantile, headline, sentences, text
from shuffledp.explain.trend_page import quantile_chart, trend_chart
from shuffledp.release.trend_changes import Difference, Measure, QuantileDifference, Verdict
from shuffledp.release.trend_rounds import Round
from tests.oracles.html_pages import read_page
from tests.release.trends import protocol_of, release_of, release_of_ages

ROUNDS = [[1000, 600, 399, 1], [1000, 600, 380, 20], [1200, 410, 390, 0]]
DAY = date(2026, 11, 18)


def trend_of(counts=ROUNDS, *, labels=("dark", "light", "auto", "none"), rounds=12, seed=1):
    rng = np.random.default_rng(seed)
    releases = [release_of(protocol_of("dummy"), each, rng=rng, labels=labels, made=DAY) for each in counts]
    return Trend.of(releases, rounds=rounds)


def a_change(low, high, verdict, *, shares=(0.0, 0.0)):
    return Difference(
        label="dark",
        since=1,
        until=4,
        low=low,
        high=high,
        share_low=shares[0],
        share_high=shares[1],
        verdict=verdict,
        exact=True,
    )


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (a_change(120, 310, Verdict.UP), "up by 120 to 310 people since round 1"),
        (a_change(-1310, -120, Verdict.DOWN), "down by 120 to 1,310 people since round 1"),
        (a_change(-40, 95, Verdict.NO_EVIDENCE), "no evidence of a change since round 1 (between -40 and +95 people)"),
        (a_change(0, 95, Verdict.NO_EVIDENCE), "no evidence of a change since round 1 (between 0 and +95 people)"),
    ],
)
def test_a_change_of_people_in_words(found, words):
    assert change(found, Measure.PEOPLE) == words


@pytest.mark.parametrize(
    ("shares", "verdict", "words"),
    [
        ((0.01231, 0.02309), Verdict.UP, "up by 1.23 to 2.31 percentage points"),
        ((-0.02309, -0.01231), Verdict.DOWN, "down by 1.23 to 2.31 percentage points"),
        ((-0.00401, 0.012), Verdict.NO_EVIDENCE, "no evidence of a change (between -0.41 and +1.20 percentage points)"),
        ((0.0000123, 0.0019), Verdict.UP, "up by 0.0012 to 0.19 percentage points"),
    ],
)
def test_a_change_of_shares_is_rounded_outwards(shares, verdict, words):
    assert change(a_change(0, 0, verdict, shares=shares), Measure.SHARE, dated=False) == words


def test_a_terminal_has_the_answer_first_then_a_table():
    trend = trend_of()
    lines = text(trend).splitlines()
    up, down = trend.difference("dark"), trend.difference("light")
    same = trend.difference("auto")
    assert lines[0] == "theme, rounds 1 to 3 of 12: 2 of 4 values changed since round 1."
    assert lines[1] == f"dark: up by {up.low:,} to {up.high:,} people since round 1"
    assert lines[2] == f"light: down by {-down.high:,} to {-down.low:,} people since round 1"
    assert lines[3].startswith(f"auto: no evidence of a change since round 1 (between {same.low} and ")
    assert lines[4] == (
        "All intervals and changes hold at once with 95% confidence, for all 12 planned rounds: later rounds do not "
        "change them."
    )
    assert re.split(r"  +", lines[6]) == ["value", "round 1", "round 2", "round 3", "since round 1", "since round 2"]
    assert re.split(r"  +", lines[7])[0] == "dark"
    assert f"up +{up.low:,} to +{up.high:,}" in lines[7]
    assert str(trend) == text(trend)


def test_one_round_and_no_change():
    assert headline(trend_of(ROUNDS[:1])) == "theme, round 1 of 12: one round cannot show a change."
    assert sentences(trend_of(ROUNDS[:1])) == []
    assert trend_chart(trend_of(ROUNDS[:1])) is None
    assert headline(trend_of([ROUNDS[0]] * 2)) == "theme, rounds 1 to 2 of 12: no evidence of any change since round 1."


def test_rounds_without_a_release_are_named():
    rng = np.random.default_rng(2)
    releases = [release_of(protocol_of("dummy"), each, rng=rng) for each in ROUNDS[:2]]
    trend = Trend.of([Round(2, DAY, releases[0]), Round(5, DAY, releases[1])], rounds=6)
    assert "rounds 2 to 5 of 6 (2 without a release)" in headline(trend)


def test_a_smaller_confidence_is_said():
    rng = np.random.default_rng(3)
    releases = [release_of(protocol_of("dummy"), ROUNDS[0], rng=rng) for _ in range(4)]
    trend = Trend.of([replace(each, estimate=each.estimate.consistent()) for each in releases])
    assert "with 78.9% confidence" in text(trend)
    assert "The confidence is 78.9% instead of 95%" in text(trend)
    assert "Make releases with beta 0.0063 or less." in text(trend)


def test_shares_are_said_to_be_shares():
    rng = np.random.default_rng(4)
    small, large = protocol_of("dummy", users=2000), protocol_of("dummy", users=8000)
    trend = Trend.of([release_of(small, ROUNDS[0], rng=rng), release_of(large, [4000, 3200, 790, 10], rng=rng)])
    assert "light: up by " in text(trend)
    assert "percentage points since round 1" in text(trend)
    assert "so changes are differences of shares" in text(trend)


def test_the_page_is_whole_and_has_the_answer_the_chart_and_the_table():
    trend = trend_of()
    page = trend.to_html()
    read_page(page)
    assert "<b>Rounds 1 to 3 of 12: 2 of 4 values changed since round 1.</b>" in page
    up = trend.difference("dark")
    assert f'<td class="up">up by {up.low:,} to {up.high:,} people</td>' in page
    assert page.count('<polyline class="path line-') == 4
    assert page.count('<polygon class="band line-') == 4
    assert "<script" not in page


def test_names_at_the_ends_of_lines_do_not_touch():
    page = str(trend_chart(trend_of([[500, 500, 500, 500]] * 3)))
    places = [
        float(each) for each in re.findall(r'y="([\d.]+)%" overflow="visible"><path class="mark line-\d" tran', page)
    ]
    places = sorted(places)
    assert len(places) == 4
    assert min(np.diff(places)) > 6
    assert 0 <= places[0] <= places[-1] <= 100


def test_hostile_labels_are_escaped():
    labels = ("<script>alert(1)</script>", "\u202edesrever", '"><img src=x>', "a" * 300)
    trend = trend_of(labels=labels)
    page = trend.to_html()
    read_page(page)
    assert "<script>" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert "a" * 300 not in page
    assert "\x1b" not in text(trend_of(labels=("\x1b[31mred", "light", "auto", "none")))


@pytest.mark.slow
def test_quantiles_have_a_chart_and_words():
    rng = np.random.default_rng(5)
    young, old = rng.integers(0, 5, 2000), rng.integers(9, 19, 2000)
    trend = Trend.of([release_of_ages(young, rng=rng), release_of_ages(old, rng=rng)])
    assert re.match(r"median: up since round 1 \(between \+\d+ and \+\d+\)", text(trend).splitlines()[1])
    page = trend.to_html()
    read_page(page)
    assert str(quantile_chart(trend)) in page
    assert "<h2>Quantiles</h2>" in page
    assert "95% have at most" in page


@pytest.mark.parametrize(
    ("low", "high", "verdict", "words"),
    [
        (0.0, 20.0, Verdict.UP, "up since round 1 (by less than 20)"),
        (-2.5, 0.0, Verdict.DOWN, "down since round 1 (by less than 2.5)"),
        (0.0, None, Verdict.UP, "up since round 1"),
        (0.0, 20.0, Verdict.NO_EVIDENCE, "no evidence of a change since round 1 (between 0 and +20)"),
    ],
)
def test_a_quantile_that_moved_to_the_next_interval(low, high, verdict, words):
    found = QuantileDifference(share=0.5, since=1, until=2, low=low, high=high, verdict=verdict)
    assert change_of_quantile(found) == words


def test_values_that_changed_come_first():
    trend = trend_of([[1000, 600, 399, 1], [1000, 600, 100, 300]])
    assert [line.split(":")[0] for line in sentences(trend)] == ["none", "auto", "dark"]


def test_a_value_that_is_not_found_is_a_broken_line():
    protocol, rng = protocol_of("hist", bins=2**40), np.random.default_rng(6)
    first = release_of(protocol, [2000, 0], rng=rng, labels=None, beta=0.001)
    second = release_of(protocol, [1000, 1000], rng=rng, labels=None, beta=0.001)
    page = Trend.of([first, second]).to_html()
    read_page(page)
    assert page.count('<line class="reach line-2"') + page.count('<line class="reach line-1"') == 1


def test_files(tmp_path):
    trend = trend_of()
    for ending in ("html", "csv", "json"):
        path = trend.save(tmp_path / f"trend.{ending}")
        assert path.read_text() == getattr(trend, f"to_{ending}")()
        with pytest.raises(DataError, match="exists already"):
            trend.save(path)
    with pytest.raises(ParameterError, match="must end in"):
        trend.save(tmp_path / "trend.png")

"""Trends as records: levels, changes, verdicts, how the risk is shared, and which releases are refused."""

import csv
import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from shuffledp import Release, Trend
from shuffledp.errors import DataError, LabelError, ParameterError
from shuffledp.estimators.differences import ErrorDifference
from shuffledp.histogram.labels import HIDDEN
from shuffledp.release.trend_changes import Measure, Verdict
from shuffledp.release.trend_rounds import Risks, Round
from tests.release.trends import as_release, protocol_of, release_of, release_of_ages

ROUNDS = [[1000, 600, 399, 1], [1000, 600, 380, 20], [1200, 400, 400, 0]]


def dummies(counts=ROUNDS, *, seed=1, **more):
    rng = np.random.default_rng(seed)
    return [release_of(protocol_of("dummy"), each, rng=rng, **more) for each in counts]


def test_verdicts_follow_from_the_intervals():
    trend = Trend.of(dummies())
    found = {each.label: each for each in trend.differences()}
    assert found["dark"].verdict is Verdict.UP
    assert 0 < found["dark"].low <= 200 <= found["dark"].high
    assert found["light"].verdict is Verdict.DOWN
    assert found["light"].low <= -200 <= found["light"].high < 0
    assert found["auto"].verdict is Verdict.NO_EVIDENCE
    assert found["auto"].low <= 1 <= found["auto"].high
    assert trend.measure is Measure.PEOPLE
    assert trend.difference("dark", since=1, until=2).verdict is Verdict.NO_EVIDENCE
    assert [step.verdict for step in trend.steps("dark")] == [Verdict.NO_EVIDENCE, Verdict.UP]


def test_a_change_runs_from_the_earlier_to_the_later_round():
    """The exact interval lies around the later estimate less the earlier one."""
    trend = Trend.of(dummies())
    for label in trend.labels:
        first, _, last = trend.levels(label)
        found = trend.difference(label)
        assert found.exact
        assert found.low - 1 <= last.count - first.count <= found.high + 1 or min(first.low, last.low) == 0


def test_exact_changes_are_shorter_than_the_difference_of_two_intervals():
    exact = Trend.of(dummies(), rounds=12)
    for found in exact.differences():
        first, *_, last = exact.levels(found.label)
        assert last.low - first.high <= found.low
        assert found.high <= last.high - first.low
    wide = exact.difference("dark")
    first, _, last = exact.levels("dark")
    assert wide.high - wide.low < 0.9 * (last.high - last.low + first.high - first.low)


def test_the_risk_is_shared_by_all_planned_rounds_and_pairs():
    for planned in (1, 2, 12, 365):
        for exact in (True, False):
            risks = Risks.of(0.05, planned, exact=exact)
            pairs = planned * (planned - 1) / 2
            levels = 1 - (1 - risks.each_round) ** planned
            assert levels + pairs * risks.each_pair <= 0.05
            assert levels + pairs * risks.each_pair == pytest.approx(0.05, rel=1e-9)
            assert (risks.each_pair > 0) == (exact and planned > 1)


def test_every_value_has_its_part_of_the_risk_of_a_pair():
    """The range of the noise is that of a quarter of the risk for each of four values."""
    trend = Trend.of(dummies(), rounds=12)
    noise = protocol_of("dummy").estimator.error_noise
    least, most = ErrorDifference(one=noise, other=noise).range(trend.risks.each_pair / 4)
    found = trend.difference("dark")
    assert found.high - found.low == most - least - 1  # the range ends between two whole numbers


@pytest.mark.slow
def test_values_and_quantiles_of_a_round_share_its_risk():
    rng = np.random.default_rng(10)
    releases = [release_of_ages(rng.integers(0, 19, 2000), rng=rng) for _ in range(2)]
    trend = Trend.of(releases)
    for each in trend.rounds:
        assert 2 * each.estimate.beta <= each.beta == trend.risks.each_round
    kept = [replace(each, estimate=replace(each.estimate, adjusted=True)) for each in releases]
    assert Trend.of(kept).beta == pytest.approx(1 - 0.9**2)


def test_later_rounds_change_no_interval():
    releases = dummies()
    early, late = Trend.of(releases[:2], rounds=12), Trend.of(releases, rounds=12)
    for label in early.labels:
        assert early.levels(label) == late.levels(label)[:2]
        assert early.difference(label) == late.difference(label, until=2)
    # without a plan, the same intervals would have to grow
    assert Trend.of(releases[:2]).levels("dark")[0] != Trend.of(releases, rounds=12).levels("dark")[0]


def test_one_round_has_levels_and_no_change():
    trend = Trend.of(dummies(ROUNDS[:1]))
    assert [level.round for level in trend.levels("dark")] == [1]
    assert trend.steps("dark") == []
    with pytest.raises(ParameterError, match="since must be an earlier round"):
        trend.differences()
    assert json.loads(trend.to_json())["differences"] == []


def test_everybody_holds_one_value():
    protocol, rng = protocol_of("hist", bins=2**40), np.random.default_rng(2)
    trend = Trend.of([release_of(protocol, [2000], rng=rng, labels=None, beta=0.001) for _ in range(3)])
    assert [(level.low <= 2000, level.high) for level in trend.levels("v0")] == [(True, 2000)] * 3
    assert trend.difference("v0").verdict is Verdict.NO_EVIDENCE
    assert trend.difference("v0").low <= 0 <= trend.difference("v0").high


def test_a_value_that_is_not_found_has_the_bound_of_values_that_are_not_shown():
    protocol, rng = protocol_of("hist", bins=2**40), np.random.default_rng(3)
    first = release_of(protocol, [2000, 0], rng=rng, labels=None)
    second = release_of(protocol, [1000, 1000], rng=rng, labels=None)
    trend = Trend.of([first, second])
    level = trend.levels("v1")[0]
    assert level.count is None
    assert (level.low, level.share) == (0, None)
    assert level.high == trend.rounds[0].estimate.simultaneous.unreported_high
    found = trend.difference("v1")
    assert found.verdict is Verdict.UP
    assert not found.exact


def test_a_round_in_which_nothing_is_found():
    """Everybody alone: no value is shown."""
    protocol, rng = protocol_of("hist", bins=2**40), np.random.default_rng(4)
    alone = release_of(protocol, np.ones(2000, dtype=int), rng=rng, labels=None)
    assert len(alone) == 0
    trend = Trend.of([alone, release_of(protocol, [2000], rng=rng, labels=None, beta=0.01)])
    assert trend.labels == ("v0",)
    assert trend.difference("v0").verdict is Verdict.UP
    nothing = Trend.of([alone, release_of(protocol, np.ones(2000, dtype=int), rng=rng, labels=None)])
    assert nothing.labels == ()
    assert nothing.differences() == []
    assert nothing.to_csv().count("\n") == 1


def test_a_value_that_was_not_possible_is_not_compared():
    rng = np.random.default_rng(5)
    three = protocol_of("dummy", bins=3)
    first = release_of(three, [1000, 600, 400], rng=rng, labels=("dark", "light", "auto"))
    second = release_of(protocol_of("dummy"), ROUNDS[0], rng=rng)
    trend = Trend.of([first, second])
    assert trend.levels("none")[0] is None
    assert trend.difference("none") is None
    assert "none" not in [each.label for each in trend.differences()]
    assert trend.difference("dark") is not None


def test_rounds_of_different_people_compare_shares():
    rng = np.random.default_rng(6)
    small, large = protocol_of("dummy", users=2000), protocol_of("dummy", users=8000)
    trend = Trend.of(
        [release_of(small, [1000, 600, 399, 1], rng=rng), release_of(large, [4000, 3200, 790, 10], rng=rng)]
    )
    assert trend.measure is Measure.SHARE
    found = {each.label: each for each in trend.differences()}
    assert found["dark"].verdict is Verdict.NO_EVIDENCE  # half of the people in both rounds, four times as many
    assert found["dark"].share_low <= 0 <= found["dark"].share_high
    assert found["dark"].low <= 3000 <= found["dark"].high
    assert found["light"].verdict is Verdict.UP
    assert found["light"].share_low <= 0.1 <= found["light"].share_high
    assert found["auto"].verdict is Verdict.DOWN
    for label, each in found.items():
        first, last = trend.levels(label)
        assert each.share_high - each.share_low <= last.share_high - first.share_low - last.share_low + first.share_high


def test_releases_that_cannot_be_restated_lower_the_confidence():
    releases = [replace(each, estimate=each.estimate.consistent()) for each in dummies()]
    trend = Trend.of(releases, rounds=4)
    assert [each.as_planned for each in trend.rounds] == [False] * 3
    assert trend.beta == pytest.approx(1 - 0.95**3 * 0.975 ** (1 / 4) + 0.025)
    assert not any(found.exact for found in trend.differences())
    enough = [replace(each, estimate=each.estimate.consistent()) for each in dummies(beta=0.001)]
    assert Trend.of(enough, rounds=4).beta == 0.05


def test_rounds_may_be_missing():
    one, two, three = dummies()
    trend = Trend.of([Round(2, "spring", one), Round(5, "summer", two), Round(9, "autumn", three)], rounds=10)
    assert [each.number for each in trend.rounds] == [2, 5, 9]
    assert trend.difference("dark").since == 2
    assert trend.difference("dark", since=5, until=9).verdict is Verdict.UP
    with pytest.raises(ParameterError, match="since must be the number of a round with a release, got 3"):
        trend.difference("dark", since=3)


def test_quantiles_over_time():
    rng = np.random.default_rng(8)
    young, old = rng.integers(0, 5, 2000), rng.integers(9, 19, 2000)
    trend = Trend.of([release_of_ages(young, rng=rng), release_of_ages(young, rng=rng), release_of_ages(old, rng=rng)])
    (middle,) = [each for each in trend.quantiles if each.share == 0.5]
    change = middle.difference()
    assert change.verdict is Verdict.UP
    assert change.low <= 12 <= change.high
    assert middle.difference(since=1, until=2).verdict is Verdict.NO_EVIDENCE
    backwards = Trend.of([release_of_ages(old, rng=rng), release_of_ages(young, rng=rng)])
    assert next(each for each in backwards.quantiles if each.share == 0.5).difference().verdict is Verdict.DOWN
    assert list(trend.labels) == sorted(trend.labels)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda one, two: [one, one], "given twice"),
        (lambda one, two: [one, replace(two, column="colour")], "of one question"),
        (lambda one, two: [one, replace(two, estimate=replace(two.estimate, where="age > 3"))], "the same people"),
    ],
)
def test_releases_that_cannot_be_compared_are_refused(change, words):
    with pytest.raises(DataError, match=words):
        Trend.of(change(*dummies(ROUNDS[:2])))


def test_releases_that_share_noise_are_refused():
    """The second release of joined batches contains the first."""
    one, two = (replace(each, asked={"task": "t", "batches": at + 1}) for at, each in enumerate(dummies(ROUNDS[:2])))
    three = replace(two, asked={"task": "t", "batches": 3})
    with pytest.raises(DataError, match="share noise"):
        Trend.of([two, three])
    with pytest.raises(DataError, match="share noise"):
        Trend.of([one, two])
    again = replace(two, asked={"task": "t", "batches": 1})
    assert Trend.of([one, again]).planned == 2


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        ([], {}, "at least one release"),
        (ROUNDS, {"rounds": 2}, "at least the largest number"),
        (ROUNDS, {"rounds": 5000}, "at most 4,096"),
        (ROUNDS, {"times": ["one"]}, "times must name each of the 3 releases"),
        (ROUNDS, {"beta": 1.0}, "beta"),
    ],
)
def test_wrong_parameters(given, options, words):
    with pytest.raises(ParameterError, match=words):
        Trend.of(dummies(given), **options)
    with pytest.raises(LabelError, match="a value that was found"):
        Trend.of(dummies()).levels("unknown")


def test_files_of_releases(tmp_path):
    paths = []
    for at, release in enumerate(dummies()):
        stored = replace(release, asked={"column": "theme", "user": "id"})
        paths.append(tmp_path / f"{at}.json")
        paths[-1].write_text(stored.to_json())
    trend = Trend.of(paths, rounds=12)
    direct = Trend.of(dummies(), rounds=12)
    for label in trend.labels:
        assert trend.levels(label) == direct.levels(label)
        assert trend.difference(label) == direct.difference(label)
    with pytest.raises(DataError, match="given twice"):
        Trend.of([paths[0], paths[0]])


def test_json_has_every_level_and_change():
    trend = Trend.of(dummies(), rounds=12, times=["Jan", "Feb", "Mar"])
    plain = json.loads(trend.to_json())
    assert plain["shuffledp_trend"] == 1
    assert (plain["planned_rounds"], plain["beta"], plain["measure"]) == (12, 0.05, "people")
    assert [each["when"] for each in plain["rounds"]] == ["Jan", "Feb", "Mar"]
    dark = next(each for each in plain["values"] if each["label"] == "dark")
    assert dark["levels"][2] == {
        "round": 3,
        **{name: getattr(trend.levels("dark")[2], name) for name in ("count", "low", "high")},
        **{name: getattr(trend.levels("dark")[2], name) for name in ("share", "share_low", "share_high")},
    }
    changes = [each for each in plain["differences"] if each["label"] == "dark"]
    assert [(each["since"], each["until"]) for each in changes] == [(1, 2), (2, 3), (1, 3)]
    assert changes[2]["verdict"] == "up"


def test_csv_has_a_row_for_each_value_and_round():
    trend = Trend.of(dummies())
    rows = list(csv.DictReader(io.StringIO(trend.to_csv())))
    assert len(rows) == 12
    last = [row for row in rows if row["label"] == "dark"][-1]
    found = trend.difference("dark")
    assert (last["since_first_low"], last["since_first_high"]) == (str(found.low), str(found.high))
    assert last["since_first_verdict"] == "up"
    assert rows[0]["since_previous_low"] == ""


def test_a_label_that_a_spreadsheet_would_run_is_harmless():
    rng, labels = np.random.default_rng(9), ('=HYPERLINK("x")', "a,b", "auto", "none")
    trend = Trend.of([release_of(protocol_of("dummy"), each, rng=rng, labels=labels) for each in ROUNDS])
    assert '"\'=HYPERLINK(""x"")",1,' in trend.to_csv()
    assert '"=HYPERLINK(""x"")",1,' in trend.to_csv(raw=True)


def test_hidden_texts_are_no_value_and_bound_the_others():
    first, second = dummies(ROUNDS[:2])
    shown = first.estimate
    hidden = replace(
        shown,
        symbols=np.array(["dark", "light", "auto", HIDDEN], dtype=object),
        domain=None,
        estimator="truncated",
    )
    later = replace(second, estimate=replace(second.estimate, estimator="truncated"))
    trend = Trend.of([as_release(first.protocol, hidden), later])
    assert [each.as_planned for each in trend.rounds] == [False, True]
    assert HIDDEN not in trend.labels
    assert trend.levels("none")[0].high == hidden.interval(HIDDEN)[1] > 0


def test_many_rounds_share_a_small_risk():
    trend = Trend.of(dummies(), rounds=365)
    assert math.isclose(trend.risks.each_round, 1 - 0.975 ** (1 / 365), rel_tol=1e-9)
    assert all(isinstance(each.estimate.beta, float) for each in trend.rounds)
    assert isinstance(dummies()[0], Release)

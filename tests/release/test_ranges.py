"""Ranges of a column: the protocol, its units, simulations and plans."""

from dataclasses import replace

import numpy as np
import pytest

from shuffledp import Domain, Edges, Periods, Ranges, Release, private_histogram, simulate
from shuffledp.errors import ParameterError
from shuffledp.explain.plan import range_recommendation
from shuffledp.explain.release import paragraphs
from shuffledp.formatting import at_most
from shuffledp.protocols import Target
from shuffledp.release.choose import checked_shares, choose_ranges, curator_range_error, in_units
from shuffledp.release.plan_rows import (
    CURATED,
    FEWER_MESSAGES,
    OURS,
    RANGES,
    SUMS,
    RangeRow,
    Reason,
    advise_ranges,
    plan_ranges,
)
from shuffledp.release.simulate import simulate_ranges
from tests.explain.cases import CASES

TARGET = Target(users=5000, bins=30, epsilon=1, delta=1e-4)
COUNTS = np.bincount(np.arange(5000) % 28, minlength=30)


@pytest.mark.slow
def test_ranges_are_chosen_for_a_list_only():
    chosen = choose_ranges(TARGET, listed=True)
    assert chosen.reason is Reason.AS_ASKED
    assert chosen.entry is RANGES
    assert chosen.protocol == Ranges.for_target(TARGET)
    with pytest.raises(ParameterError, match="ordered domain"):
        choose_ranges(TARGET, listed=False)


@pytest.mark.parametrize(
    ("possible", "labels", "ordered", "edges"),
    [
        (Edges("10,20"), ["below 10", "10 to below 20", "20 and above", None], 3, (10, 20)),
        (None, ["a", "b", "c", None], 3, None),
        (None, ["a", "b", None, "(other)"], 2, None),
        (None, ["a", None, "b", "c"], 4, None),
        (None, ["a", "b", "c", "d"], 4, None),
    ],
    ids=str,
)
def test_missing_and_other_values_belong_to_no_range(possible, labels, ordered, edges):
    protocol = Ranges.calibrate(users=1000, bins=4, epsilon=1, delta=1e-3)
    tally = protocol.sample_tally(np.array([400, 300, 200, 100]), rng=np.random.default_rng(0))
    estimate = in_units(protocol.estimate(tally, domain=Domain.of(labels)), possible)
    assert (estimate.ordered, estimate.edges) == (ordered, edges)
    total = int(np.array([400, 300, 200, 100])[:ordered].sum())
    assert estimate.range().low <= total <= estimate.range().high
    plain = private_histogram(["a"] * 1000, epsilon=1, delta=1e-6).estimate
    assert in_units(plain, possible) is plain


@pytest.mark.slow
def test_simulations_find_what_is_predicted():
    """Of 200 trials at most 12.5 % may leave the band of 95 %: more do by luck with probability 1e-5, if 5 % did."""
    protocol = Ranges.for_target(TARGET)
    found = simulate_ranges(protocol, COUNTS, trials=200, rng=np.random.default_rng(1))
    assert found.covered >= 0.875
    errors = found.error_quantiles()
    assert errors["smallest"] < errors["median"] < errors["95 %"] <= 1.1 * found.predicted_error
    assert errors["95 %"] >= 0.7 * found.predicted_error
    assert str(found).startswith("200 simulated releases: Ranges (ours), 5,000 people")
    assert "NOT PRIVATE" in str(found)
    again = simulate_ranges(protocol, COUNTS, trials=3, rng=np.random.default_rng(1))
    assert again.largest_errors == found.largest_errors[:3]


@pytest.mark.slow
def test_a_plan_compares_trees_with_sums_and_a_curator():
    tree, flat, curated = plan_ranges(Target(users=10**5, bins=300, epsilon=1, delta=1e-6))
    assert tree.error < 0.6 * flat.error
    assert curated.error <= tree.error
    assert (flat.levels, curated.messages) == (1, None)
    assert tree.messages > 1
    few = plan_ranges(Target(users=10, bins=30, epsilon=1, delta=1e-6))
    assert few[0].needed_users > 10
    assert few[2].error is not None


@pytest.mark.slow
def test_json_has_a_quantile_in_the_units_of_the_edges():
    """Half of the people are below 0.5; one of the two ends is open, and moments are texts."""
    counts = np.array([0, 1000, 1000, 0])
    protocol = Ranges.calibrate(users=2000, bins=4, epsilon=1, delta=1e-4)
    estimate = protocol.estimate(protocol.sample_tally(counts), edges=Edges("0:1:0.5").edges)
    estimate = replace(estimate, shares=(0.3, 0.9))
    first, last = estimate.about_dict()["quantiles"]
    assert (first["share"], first["low"], first["high"]) == (0.3, 0.0, 0.5)
    assert last["high"] in (1.0, None)
    months = CASES["months"]().estimate.about_dict()["quantiles"]
    assert [found["share"] for found in months] == [0.5, 0.99]
    assert months[0]["low"].startswith("2026-")
    labelled = CASES["ordered labels"]().estimate.about_dict()["quantiles"]
    assert [found["share"] for found in labelled] == [0.05, 0.25, 0.5, 0.75, 0.95]
    assert labelled[2] == {"share": 0.5, "value": "seldom", "low": "seldom", "high": "seldom", "interval": "seldom"}


def planned(error, messages, **more):
    return RangeRow(title=more.pop("title", OURS), error=error, messages=messages, levels=3, branching=4, **more)


def advised(rows, *, held=False, **more):
    return range_recommendation(advise_ranges(rows, held=held, **more), rows, held=held)


SUMS_ROW = planned(861.0, 1.2, title=SUMS)
CURATED_ROW = planned(100.5, None, title=CURATED, trust="curator")


def test_a_plan_recommends_the_smallest_error_of_those_with_few_enough_messages():
    rows = [planned(110.2, 7.2), planned(121.5, 4.7, title=FEWER_MESSAGES), SUMS_ROW, CURATED_ROW]
    assert advised(rows) == [
        "Recommended: Ranges (ours). The number of people up to any value has an error of at most 111 people, instead "
        "of 861 with sums over a histogram, with 7.2 messages per person.",
        "A trusted curator has an error of at most 101 people instead of 111.",
    ]
    assert advise_ranges(rows, most=5).best.title == FEWER_MESSAGES
    assert advise_ranges(rows, most=2).best.title == SUMS
    nothing = advise_ranges(rows, most=1)
    assert (nothing.best, nothing.reason) == (None, Reason.TOO_MANY_MESSAGES)
    none, curator = advised(rows, most=1)
    assert "Each way sends more than 1 message per person (at least 1.2)" in none
    assert "instead of 111" in curator
    held = advise_ranges(rows, most=1, held=True)  # nobody sends messages
    assert (held.best.title, held.reason) == (OURS, Reason.SMALLEST_ERROR)
    assert "messages" not in advised(rows, most=1, held=True)[0]


def test_a_plan_of_ranges_does_not_praise_a_curator_who_is_no_better():
    for error in (110.1, 110.9, 130.0):
        rows = [planned(110.2, 7.2), SUMS_ROW, replace(CURATED_ROW, error=error)]
        assert advised(rows)[1] == "A trusted curator has no smaller error here."


def test_a_plan_of_ranges_for_too_few_people_leaves_a_curator():
    few = [RangeRow(title=title, needed_users=148) for title in (OURS, SUMS)]
    none, curator = advised([*few, CURATED_ROW])
    assert "Recommended: none" in none
    assert f"{OURS} needs at least 148 people" in none
    assert "at most 101 people" in curator


@pytest.mark.slow
def test_a_plan_of_ranges_keeps_to_a_number_of_messages():
    target = Target(users=10**5, bins=300, epsilon=1, delta=1e-6)
    ours, fewer, sums, _ = plan_ranges(target, most=3)
    assert fewer.title == FEWER_MESSAGES
    assert sums.messages < fewer.messages <= 3 < ours.messages
    assert ours.error <= fewer.error < sums.error


@pytest.mark.parametrize("wrong", [0.5, "0.5", b"1", True, ["0.5"], [True], [], [0.0], [1.0], [1.5], [float("nan")]])
def test_impossible_shares_are_refused(wrong):
    with pytest.raises(ParameterError, match="quantiles"):
        checked_shares(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ages", "months", "ordered labels"])
def test_a_release_of_ranges_comes_back_from_its_file(name, tmp_path):
    release = CASES[name]()
    path = release.save(tmp_path / "r.json")
    again = Release.from_json(path)
    assert again.to_json() == release.to_json()
    assert again.estimate.edges == release.estimate.edges or list(again.estimate.edges) == release.estimate.edges
    for share in (0.1, 0.5, 0.9):
        assert again.estimate.quantile(share) == release.estimate.quantile(share)
    low = None if release.estimate.edges is None else release.estimate.edges[2]
    assert again.estimate.range(low) == release.estimate.range(low)
    assert again.estimate.quantiles() == release.estimate.quantiles()
    assert again.to_html() == release.to_html()


@pytest.mark.slow
def test_a_changed_band_of_a_file_is_the_one_that_is_shown():
    """The band that was published comes back, and not another one that is computed anew."""
    release = CASES["ages"]()
    wide = replace(release.estimate, below_high=release.estimate.below_high + 1)
    again = Release.from_json(replace(release, estimate=wide).to_json())
    assert (again.estimate.below_high == wide.below_high).all()


# through private_histogram and simulate ---------------------------------------------------------------------------

GUARANTEE = {"epsilon": 1.0, "delta": 1e-4}
AGES = [None if at % 20 == 0 else (at * 7) % 90 for at in range(6000)]
DAYS = [f"2026-{1 + at % 12:02d}-{1 + at % 28:02d}" for at in range(6000)]


@pytest.mark.slow
def test_a_release_has_quantiles_in_units_of_its_edges():
    release = private_histogram({"age": AGES}, column="age", domain=Edges("0:100:5"), quantiles=[0.5, 0.9], **GUARANTEE)
    estimate = release.estimate
    known = np.sort([age for age in AGES if age is not None])
    assert estimate.ordered == 22
    assert estimate.bins == 23
    for share in (0.1, 0.5, 0.9):
        found = estimate.quantile(share)
        assert found.low <= known[int(np.ceil(share * known.size)) - 1] < found.high
    assert estimate.range(20, 60).low <= ((known >= 20) & (known < 60)).sum() <= estimate.range(20, 60).high
    assert release.title == "Ranges (ours)"
    assert release.privacy.delta(1.0) <= 1e-4
    assert "quantiles=[0.5, 0.9]" in release.to_html()
    assert "--quantiles" not in release.to_html()  # the command line adds its own words
    again = Release.from_json(release.to_json())
    assert again.estimate.quantile(0.5) == estimate.quantile(0.5)
    assert again.to_json() == release.to_json()


@pytest.mark.parametrize(
    ("wrong", "needed"),
    [
        ({"quantiles": 0.5}, "quantiles must be a list of shares, such as .* got float"),
        ({"quantiles": "0.5"}, "quantiles must be a list of shares, such as .* got str"),
        ({"where": 5}, "where must be text, such as .* got int"),
        ({"where": ["age"]}, "where must be text, such as .* got list"),
    ],
)
def test_shares_and_conditions_of_a_wrong_kind_are_refused_clearly(wrong, needed):
    with pytest.raises(ParameterError, match=needed):
        private_histogram({"age": AGES}, column="age", domain=Edges("0:100:5"), **wrong, **GUARANTEE)


@pytest.mark.slow
def test_shares_may_be_any_numbers():
    asked = {"column": "age", "domain": Edges("0:100:5"), **GUARANTEE}
    release = private_histogram({"age": AGES}, quantiles=np.array([0.5, 0.9]), **asked)
    assert release.asked["quantiles"] == [0.5, 0.9]
    assert [found.share for found in release.estimate.quantiles()] == [0.5, 0.9]


@pytest.mark.slow
@pytest.mark.parametrize("domain", [{"age": Edges("0:100:5")}, [Edges("0:100:5")]], ids=["by name", "in a list"])
def test_a_domain_of_one_column_may_be_given_as_for_several(domain):
    release = private_histogram({"age": AGES}, column="age", domain=domain, ranges=True, **GUARANTEE)
    assert (release.estimate.bins, release.estimate.ordered) == (23, 22)
    with pytest.raises(ParameterError, match="intervals and periods have a bin for every value"):
        private_histogram({"age": AGES}, column="age", domain=domain, other=True, ranges=True, **GUARANTEE)


@pytest.mark.slow
@pytest.mark.parametrize("messages", [False, True])
def test_periods_and_lists_are_ordered_too(messages):
    months = Periods("month", start="2026-01-01", stop="2027-01-01")
    dated = private_histogram(
        {"day": DAYS}, column="day", domain=months, ranges=True, drop_missing=True, messages=messages, **GUARANTEE
    )
    assert dated.estimate.quantile(0.5).low.month in (5, 6, 7)
    assert (dated.messages is None) is not messages
    grades = ["bad"] * 1000 + ["fair"] * 3000 + ["good"] * 500
    listed = private_histogram(grades, domain=["bad", "fair", "good"], ranges=True, messages=messages, **GUARANTEE)
    assert listed.estimate.ordered == 3
    assert listed.estimate.quantile(0.5).value == "fair"


@pytest.mark.slow
def test_people_who_fail_a_condition_belong_to_no_range():
    data = {"age": [age or 0 for age in AGES], "member": [at % 2 for at in range(6000)]}
    release = private_histogram(
        data, column="age", where="member = 1", domain=Edges("0:100:10"), ranges=True, **GUARANTEE
    )
    estimate = release.estimate
    assert estimate.people == 6000
    assert estimate.ordered == 12
    assert estimate.range().low <= 3000 <= estimate.range().high


@pytest.mark.parametrize(
    "more",
    [
        {"protocol": "hist"},
        {"estimator": "unbiased"},
        {"user": "id", "values_per_person": 2},
        {"column": ["age", "id"]},
    ],
    ids=str,
)
def test_what_ranges_have_no_use_for_is_refused_before_anything_is_read(more):
    asked = {"column": "age", "ranges": True, **GUARANTEE, **more}
    with pytest.raises(ParameterError, match="leave out"):
        private_histogram("no-such-file.csv", **asked)
    with pytest.raises(ParameterError, match="leave out"):
        simulate("no-such-file.csv", trials=1, seed=1, **asked)
    with pytest.raises(ParameterError, match="ordered domain"):
        private_histogram(["a", "b"] * 500, quantiles=[0.5], **GUARANTEE)


@pytest.mark.slow
def test_ranges_of_data_are_simulated():
    found = simulate(AGES, domain=Edges("0:100:10"), ranges=True, trials=20, seed=3, **GUARANTEE)
    assert found.people == 6000
    assert found.covered >= 0.7
    assert "Quantiles of the largest error of the distribution function of one release, in people: smallest" in str(
        found
    )
    assert (
        found.largest_errors
        == simulate(AGES, domain=Edges("0:100:10"), ranges=True, trials=20, seed=3, **GUARANTEE).largest_errors
    )


@pytest.mark.slow
def test_a_curator_counts_ranges_too():
    asked = {"domain": Edges("0:60:20"), "drop_missing": True, "ranges": True, **GUARANTEE}
    shuffled, curated = (private_histogram(AGES, **asked, trust=trust) for trust in ("shuffler", "curator"))
    assert curated.protocol.range_error(0.05) < shuffled.protocol.range_error(0.05)
    assert shuffled.curator_error == curated.protocol.range_error(0.05)
    off = shuffled.protocol.range_error(0.05)
    assert shuffled.smaller_curator_error == (shuffled.curator_error, off, True)
    instead = f"({at_most(shuffled.curator_error)} instead of {at_most(off)} people)"
    assert f"a smaller planned error of the number of people up to any value {instead}" in paragraphs(shuffled)["Tip"]
    assert Release.from_json(shuffled.to_json()).explain() == shuffled.explain()
    assert curated.curator_error is None
    assert curated.smaller_curator_error is None
    assert curated.title == "Ranges (ours), by a curator"
    assert "The curator, who saw every value" in curated.explain()
    assert "none: the curator is given the values" in curated.to_html()
    assert "sampled from the exact distribution" in shuffled.to_html()
    assert Release.from_json(curated.to_json()).to_json() == curated.to_json()


@pytest.mark.slow
@pytest.mark.parametrize("bins", [4, 300])
def test_what_a_curator_would_give_is_what_it_gives(bins):
    target = Target(users=5000, bins=bins, epsilon=1, delta=1e-4)
    shuffled, curated = (Ranges.for_target(target, trust=trust) for trust in ("shuffler", "curator"))
    assert shuffled.with_curator(target) == curated
    assert curator_range_error(target, shuffled, beta=0.1) == curated.range_error(0.1) <= shuffled.range_error(0.1)


@pytest.mark.parametrize("more", [{"bins": 5000}, {"epsilon": 0.4}], ids=str)
def test_what_a_curator_would_give_is_not_computed_where_that_takes_long(more):
    """The numbers are public; the protocol, which would be asked, is none."""
    assert curator_range_error(replace(TARGET, **more), None, beta=0.05) is None


def test_where_messages_are_made_or_nothing_is_gained_no_curator_is_mentioned():
    asked = {"domain": Edges("0:60:20"), "ranges": True, **GUARANTEE}
    sent = private_histogram(AGES, messages=True, **asked)
    assert sent.curator_error is None
    release = private_histogram(AGES, **asked)
    assert release.smaller_curator_error is not None
    same = replace(release, curator_error=release.protocol.range_error(0.05))
    assert same.smaller_curator_error is None

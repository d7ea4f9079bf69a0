"""Ranges of ordered values: privacy in fractions, messages against the distribution, bands, quantiles and ranges that
hold.

Statistical assertions fail on correct code with a probability of at most 1e-6 each, under fixed seeds.
"""

import json
import math
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from shuffledp import Ranges
from shuffledp.errors import DataError, ParameterError, TooFewUsersError
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.inputs import NONE
from shuffledp.histogram.shuffle import shuffle
from shuffledp.noise import Binomial
from shuffledp.noise.binomial import round_up_to_grid
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.paper.finite_randomizer import exact_delta
from shuffledp.protocols import HistogramProtocol, MessageProtocol, Target
from shuffledp.protocols.catalogue import from_record, to_record
from shuffledp.protocols.central import LaplaceHistogram
from shuffledp.protocols.shuffled.dummy import DummyHistogram
from tests.oracles.exact import distribution_table, exact_exp, shifted_delta, shuffled_distribution
from tests.oracles.goodness import FALSE_FAILURE_RATE, same_distribution_p_value

PEOPLE, LEAVES = 3000, 40
GUARANTEE = {"epsilon": 1.0, "delta": 1e-4}


@pytest.fixture(scope="module", params=["shuffler", "curator"])
def protocol(request):
    return Ranges.calibrate(users=PEOPLE, bins=LEAVES, **GUARANTEE, trust=request.param)


def bell(people=PEOPLE, leaves=LEAVES):
    """Values of people around the middle; the last leaf is empty."""
    places = np.random.default_rng(7).normal(leaves * 0.45, leaves / 6, people)
    return np.clip(places, 0, leaves - 2).astype(np.int64)


def counts_of(values, leaves=LEAVES):
    return np.bincount(values, minlength=leaves)


def made(tree_of, *, users, noise_probability):
    """A small protocol with noise as one likes."""
    leaves, branching = tree_of
    small = Ranges.calibrate(users=10**5, bins=leaves, epsilon=1, delta=1e-3, branching=branching)
    nodes = replace(
        small.nodes,
        users=users,
        honest_users=users,
        guarantee=None,
        noise=Binomial(trials=users, probability=noise_probability),
    )
    return replace(small, nodes=nodes)


# the guarantee ------------------------------------------------------------------------------------------------------


def person_distribution(protocol, value):
    """The exact distribution of a person's messages, by definition: the nodes above the value, and a coin for each
    node.
    """
    chance = Fraction(protocol.nodes.noise.probability)
    path = protocol.tree.paths(np.array([value]))[0].tolist()
    law = {}
    for dummies in product([False, True], repeat=protocol.tree.nodes):
        sent = tuple(sorted([*path, *(node for node, heads in enumerate(dummies) if heads)]))
        weight = math.prod(chance if heads else 1 - chance for heads in dummies)
        law[sent] = law.get(sent, Fraction(0)) + weight
    return law


@pytest.mark.parametrize(
    ("shape", "people"), [((3, 2), 2), pytest.param((3, 2), 3, marks=pytest.mark.slow), ((2, 2), 3)]
)
def test_the_curve_is_the_worst_of_all_neighbours_in_fractions(shape, people):
    """Every dataset of a few people and every replaced person; 3 leaves in 2 levels make an uneven tree."""
    protocol, epsilon = made(shape, users=people, noise_probability=0.375), 0.75
    distributions = [person_distribution(protocol, value) for value in range(shape[0])]
    ratio, worst = exact_exp(epsilon), Fraction(0)
    for rest in product(distributions[:2], repeat=people - 1):
        outputs = [shuffled_distribution([law, *rest]) for law in distributions]
        worst = max(worst, *(exact_delta(one, other, ratio=ratio) for one, other in product(outputs, repeat=2)))
    levels, noise = protocol.tree.levels, distribution_table(protocol.nodes.noise)
    assert worst == shifted_delta([noise] * 2 * levels, [1, -1] * levels, ratio=ratio)
    claimed = protocol.privacy.delta(epsilon)
    assert worst <= Fraction(claimed)
    assert claimed == pytest.approx(float(worst), rel=1e-2)


def test_a_level_that_is_not_accounted_for_would_break_the_guarantee():
    """The curve of one level fewer is below the truth: what the planted fault would claim."""
    protocol = made((3, 2), users=3, noise_probability=0.375)
    honest = protocol.privacy.delta(0.75)
    flat = replace(protocol.nodes, values_per_person=protocol.tree.levels - 1)
    assert flat.privacy.delta(0.75) < 0.9 * honest


@pytest.mark.slow
def test_calibration_accounts_for_every_level(protocol):
    assert protocol.privacy.delta(GUARANTEE["epsilon"]) <= GUARANTEE["delta"]
    assert protocol.nodes.values_per_person == protocol.tree.levels
    assert protocol.privacy.shifts == 2 * protocol.tree.levels
    assert protocol.guarantee.epsilon == GUARANTEE["epsilon"]
    assert protocol.nodes.bins == protocol.tree.nodes


@pytest.mark.slow
def test_only_honest_people_count():
    half = Ranges.calibrate(users=PEOPLE, bins=LEAVES, honest_users=PEOPLE // 2, **GUARANTEE)
    assert half.honest == PEOPLE // 2
    assert half.privacy.delta(1.0) <= GUARANTEE["delta"]
    assert (
        half.nodes.noise.mean
        > 1.9 * Ranges.calibrate(users=PEOPLE, bins=LEAVES, branching=half.branching, **GUARANTEE).nodes.noise.mean
    )


@pytest.mark.slow
def test_the_branching_is_the_one_with_the_narrowest_band_or_nearly():
    chosen = Ranges.calibrate(users=10**5, bins=200, epsilon=1, delta=1e-6)
    others = [
        Ranges.calibrate(users=10**5, bins=200, epsilon=1, delta=1e-6, branching=branching).range_error(0.05)
        for branching in (2, 3, 4, 6, 10, 15, 200)
    ]
    assert chosen.range_error(0.05) <= 1.08 * min(others)
    assert chosen.range_error(0.05) < 0.6 * max(others)


@pytest.mark.slow
def test_a_curator_has_the_narrower_of_two_bands():
    shuffled, curated = (
        Ranges.calibrate(users=10**5, bins=20, epsilon=1, delta=1e-6, trust=trust) for trust in ("shuffler", "curator")
    )
    assert isinstance(curated.nodes, LaplaceHistogram)
    assert curated.range_error(0.05) < 0.8 * shuffled.range_error(0.05)
    many = Ranges.calibrate(users=10**5, bins=2000, epsilon=1, delta=1e-6, trust="curator")
    assert isinstance(many.nodes, DummyHistogram)  # for trees of many levels its noise is the smaller one
    few = Ranges.calibrate(users=10, bins=20, epsilon=1, delta=1e-6, trust="curator")
    assert few.privacy.delta(1) <= 1e-6


def test_impossible_parameters_are_refused():
    with pytest.raises(TooFewUsersError, match="users=10 is too few"):
        Ranges.calibrate(users=10, bins=20, epsilon=1, delta=1e-6)
    with pytest.raises(ParameterError, match="trust must be one of shuffler, curator"):
        Ranges.calibrate(users=1000, bins=20, epsilon=1, delta=1e-4, trust="nobody")
    with pytest.raises(ParameterError, match="branching"):
        Ranges.calibrate(users=1000, bins=20, epsilon=1, delta=1e-4, branching=1)
    with pytest.raises(ParameterError, match="exactly one value"):
        Ranges.for_target(Target(users=1000, bins=20, epsilon=1, delta=1e-4, values_per_person=2))
    with pytest.raises(ParameterError, match="at most 1,048,576 leaves"):
        Ranges.calibrate(users=1000, bins=2**21, epsilon=1, delta=1e-4)
    with pytest.raises(ParameterError, match="published"):
        Ranges.published_for(Target(users=1000, bins=20, epsilon=1, delta=1e-4))
    good = Ranges.calibrate(users=1000, bins=20, epsilon=1, delta=1e-4, branching=5)
    for wrong in ({"bins": 21}, {"branching": 2}, {"padding_bins": 2}):
        with pytest.raises(ParameterError, match=r"nodes must count|padding_bins"):
            replace(good, **wrong)
    with pytest.raises(ParameterError, match="nodes must count"):
        replace(good, nodes=replace(good.nodes, values_per_person=1))


@pytest.mark.slow
def test_it_is_a_protocol_and_comes_back_from_its_record(protocol):
    assert isinstance(protocol, MessageProtocol)
    again = from_record(json.loads(json.dumps(to_record(protocol))))
    assert again == protocol
    assert again.privacy.delta(0.5) == protocol.privacy.delta(0.5)
    assert repr(protocol).startswith("Ranges(bins=40, branching=")
    members = {name for name in vars(HistogramProtocol) | vars(MessageProtocol) if not name.startswith("_")}
    assert all(hasattr(protocol, name) for name in members)


# messages ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_messages_follow_the_distribution_that_is_sampled():
    """All at once and one person at a time, against `sample_tally`, at every node; other noise is detected."""
    people, leaves, runs = 200, 7, 160
    protocol = Ranges.calibrate(users=people, bins=leaves, epsilon=1, delta=1e-3, branching=3)
    other = Ranges.calibrate(users=people, bins=leaves, epsilon=2, delta=1e-3, branching=3)
    values = bell(people, leaves)
    truth = counts_of(values, leaves)

    def sample(draw, number=runs, seed=0):
        return np.array([draw(np.random.default_rng(seed + at)).counts for at in range(number)])

    law = sample(lambda rng: protocol.sample_tally(truth, rng=rng))
    together = sample(lambda rng: protocol.tally(shuffle(protocol.randomize(values, rng=rng), rng=rng)), seed=1000)
    singly = sample(
        lambda rng: protocol.tally(np.concatenate([protocol.randomize(value, rng=rng) for value in values])),
        number=runs // 4,
        seed=2000,
    )
    different = sample(lambda rng: other.sample_tally(truth, rng=rng))
    p_values = [
        min(same_distribution_p_value(one, two) for one, two in zip(law.T, sent.T, strict=True))
        for sent in (together, singly, different)
    ]
    assert min(p_values[:2]) > FALSE_FAILURE_RATE / 10
    assert p_values[2] < FALSE_FAILURE_RATE / 10


def test_the_number_of_messages_does_not_depend_on_the_value():
    protocol = Ranges.calibrate(users=500, bins=7, epsilon=1, delta=1e-3, branching=2)
    numbers = {len(protocol.randomize(value, rng=np.random.default_rng(5))) for value in range(7)}
    assert len(numbers) == 1


def test_messages_without_noise_are_the_nodes_above_a_value():
    protocol = made((7, 3), users=1, noise_probability=2**-50)
    sent = protocol.randomize(np.array([5]), rng=np.random.default_rng(0))
    assert sorted(sent.tolist()) == [1, 3 + 5]


def test_values_that_are_none_are_refused():
    protocol = Ranges.calibrate(users=500, bins=7, epsilon=1, delta=1e-3)
    for wrong in ([7], [-1], [0.5]):
        with pytest.raises(DataError):
            protocol.randomize(wrong)
    for wrong in (np.full(7, 500), {"a": 500}):
        with pytest.raises(DataError):
            protocol.sample_tally(wrong)
    with pytest.raises(ParameterError, match="part"):
        protocol.sample_tally(np.full(7, 1), part=True)


def test_a_curator_has_no_messages():
    curated = Ranges.calibrate(users=500, bins=7, epsilon=1, delta=1e-6, trust="curator")
    with pytest.raises(ParameterError, match="no messages"):
        curated.randomize([1])
    with pytest.raises(ParameterError, match="no messages"):
        curated.tally([1])
    estimate = curated.release(np.zeros(500, dtype=int), rng=np.random.default_rng(1))
    assert estimate.quantile(0.5).label == 0
    assert "The curator, who saw every value" in estimate.explain()


def test_fewer_reports_are_noticed():
    protocol = Ranges.calibrate(users=PEOPLE, bins=LEAVES, **GUARANTEE)
    half = protocol.tally(protocol.randomize(bell()[: PEOPLE // 2], rng=np.random.default_rng(0)))
    with pytest.raises(DataError, match="reports="):
        protocol.estimate(half)
    estimate = protocol.estimate(half, reports=PEOPLE // 2)
    assert estimate.people == PEOPLE // 2
    assert estimate.counts.sum() == pytest.approx(PEOPLE // 2)


def test_fewer_reports_weaken_the_guarantee():
    protocol = Ranges.calibrate(users=PEOPLE, bins=LEAVES, **GUARANTEE)
    half = protocol.tally(protocol.randomize(bell()[: PEOPLE // 2], rng=np.random.default_rng(0)))
    weaker = protocol.estimate(half, reports=PEOPLE // 2).guarantee
    delta = GUARANTEE["delta"]
    assert (weaker.epsilon, weaker.delta) == (protocol.for_reports(PEOPLE // 2).privacy.epsilon(delta), delta)
    assert weaker.epsilon > 1.2 * GUARANTEE["epsilon"]


def test_people_without_a_value_are_counted_behind_all_others():
    target = Target(users=2000, bins=6, epsilon=2, delta=1e-4, padding_bins=1)
    protocol = Ranges.for_target(target)
    assert (protocol.bins, protocol.padding_bins, protocol.values_per_person) == (7, 1, 1)
    values = np.array([0, 1, 2, 3, 4, 5, NONE, NONE] * 250)
    messages = protocol.randomize(values, rng=np.random.default_rng(2))
    estimate = protocol.estimate(protocol.tally(messages), reports=2000, domain=Domain.range(6))
    assert estimate.ordered == 6
    assert estimate.counts[6] == pytest.approx(500, abs=100)
    assert estimate.distribution().total == pytest.approx(1500, abs=100)
    assert estimate.quantile(0.5).low <= 2 <= estimate.quantile(0.5).high
    assert estimate.range(0, 5).low <= 1500 <= estimate.range(0, 5).high
    assert "belong to no range" in estimate.explain()


# results ----------------------------------------------------------------------------------------------------------


def true_quantile(values, share):
    """The smallest value that at least this share do not exceed, by its definition."""
    for value in np.unique(values):
        if Fraction(int((values <= value).sum()), values.size) >= Fraction(repr(share)):
            return int(value)
    raise AssertionError


SHARES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999)


def misses(protocol, *, trials):
    """In how many of many draws something is outside: band, a quantile, a range of all, one range alone, a value."""
    values = bell()
    truth = counts_of(values)
    before = np.cumsum(truth)[:-1]
    quantiles = [true_quantile(values, share) for share in SHARES]
    spans = [(0, 9), (10, 30), (5, 5), (20, 38)]
    inside = [int(truth[low : high + 1].sum()) for low, high in spans]
    found = dict.fromkeys(("band", "quantiles", "ranges", "one range", "values", "largest"), 0)
    largest = protocol.range_error(0.05)
    for at in range(trials):
        tally = protocol.sample_tally(truth, rng=np.random.default_rng(at))
        estimate = protocol.estimate(tally, reports=PEOPLE)
        found["band"] += bool(((before < estimate.below_low) | (before > estimate.below_high)).any())
        found["largest"] += bool(np.abs(estimate.below - before).max() > largest)
        wrong = [not q.low <= t <= q.high for q, t in zip(estimate.quantiles(SHARES), quantiles, strict=True)]
        found["quantiles"] += any(wrong)
        ranges = [estimate.range(*span) for span in spans]
        found["ranges"] += any(not r.low <= t <= r.high for r, t in zip(ranges, inside, strict=True))
        found["one range"] += not ranges[1].low_alone <= inside[1] <= ranges[1].high_alone
        bounds = estimate.simultaneous
        found["values"] += bool(((truth < bounds.low) | (truth > bounds.high)).any())
    return {name: number / trials for name, number in found.items()}


@pytest.mark.slow
def test_bands_quantiles_and_ranges_hold(protocol):
    """In each of 300 draws; 5 % may fail, and more than 13 % do by luck with probability 1e-7."""
    found = misses(protocol, trials=300)
    assert max(found.values()) <= 0.13, found
    assert found["quantiles"] <= found["band"]  # quantiles are read off the band
    assert found["ranges"] <= 0.01  # these are four of 820
    assert found["one range"] >= 0.002


@pytest.mark.slow
def test_with_more_noise_than_stated_the_band_fails():
    """The control: noise of 1/0.7 times the size."""
    protocol = Ranges.calibrate(users=PEOPLE, bins=LEAVES, **GUARANTEE)
    noise = Binomial(trials=PEOPLE, probability=round_up_to_grid(2 * protocol.nodes.noise.probability))
    wide = replace(protocol, nodes=replace(protocol.nodes, noise=noise, guarantee=None))
    values, trials, outside = counts_of(bell()), 200, 0
    before = np.cumsum(values)[:-1]
    for at in range(trials):
        estimate = wide.estimate(wide.sample_tally(values, rng=np.random.default_rng(at)), reports=PEOPLE)
        outside += bool(np.abs(estimate.below - before).max() > protocol.range_error(0.05))
    assert outside > 0.15 * trials


def test_estimates_are_unbiased_and_add_up(protocol):
    """The mean of 120 estimates of each value is within 5.5 of its standard deviations: 1e-6 for 40 values."""
    truth, trials = counts_of(bell()), 120
    counts = np.array(
        [
            protocol.estimate(protocol.sample_tally(truth, rng=np.random.default_rng(at)), reports=PEOPLE).counts
            for at in range(trials)
        ]
    )
    assert counts.sum(axis=1) == pytest.approx(np.full(trials, PEOPLE))
    assert np.abs(counts.mean(axis=0) - truth).max() <= 5.5 * counts.std(axis=0).max() / math.sqrt(trials)


@pytest.fixture(scope="module")
def ages():
    """Ages in years, 0 to 119, with an estimate of them."""
    protocol = Ranges.calibrate(users=20_000, bins=121, epsilon=1, delta=1e-6)
    values = np.clip(np.random.default_rng(3).normal(42, 20, 20_000), 0, 119)
    bins = values.astype(np.int64) + 1  # the first is below 0
    tally = protocol.sample_tally(np.bincount(bins, minlength=121), rng=np.random.default_rng(4))
    return values, protocol.estimate(tally, edges=list(range(120)))


def test_a_distribution_never_falls_and_ends_with_everyone(ages):
    _, estimate = ages
    distribution = estimate.distribution()
    for numbers in (distribution.people, distribution.low, distribution.high, *distribution.shares):
        assert (np.diff(numbers) >= 0).all()
    assert (distribution.low <= distribution.people).all()
    assert (distribution.people <= distribution.high).all()
    assert distribution.low[-1] == distribution.high[-1] == distribution.total == estimate.people
    assert distribution.widest < 2 * estimate.about.__self__.range_error(0.05)


def test_quantiles_are_in_units_of_the_edges(ages):
    values, estimate = ages
    for found in estimate.quantiles((0.05, 0.25, 0.5, 0.75, 0.99)):
        true = np.quantile(values, found.share)
        assert found.low <= true < found.high
        assert found.low <= found.value <= found.high
        assert found.value == pytest.approx(true, abs=3)
        assert found.label == math.floor(found.value) + 1 or found.value == found.label
        assert found.interval == f"{found.low} to below {found.high}"
    assert estimate.quantile(1e-9).low is None
    assert estimate.quantile(1e-9).interval.startswith("below ")
    with pytest.raises(ParameterError, match="share"):
        estimate.quantile(1.0)


def test_ranges_are_asked_for_by_edges(ages):
    values, estimate = ages
    for low, high in ((18, 65), (None, 10), (80, None), (30, 31)):
        found = estimate.range(low, high)
        true = int(((values >= (low or 0)) & (values < (high or 1000))).sum())
        assert found.low <= found.low_alone <= found.count <= found.high_alone <= found.high
        assert found.low <= true <= found.high
    assert estimate.range().low == estimate.range().high == estimate.people
    assert estimate.range(18.0, Decimal(65)) == estimate.range(18, 65)
    with pytest.raises(DataError, match="one of the edges"):
        estimate.range(18.5, 65)
    with pytest.raises(ParameterError, match="before"):
        estimate.range(65, 18)


def test_labels_and_moments_are_ordered_too():
    protocol = Ranges.calibrate(users=5000, bins=4, epsilon=1, delta=1e-4)
    counts = np.array([1000, 2500, 1000, 500])
    tally = protocol.sample_tally(counts, rng=np.random.default_rng(5))
    named = protocol.estimate(tally, domain=Domain.of(["none", "some", "many", "all"]))
    middle = named.quantile(0.5)
    assert (middle.value, middle.low, middle.high, middle.interval) == ("some", "some", "some", "some")
    assert named.range("some", "many").low <= 3500 <= named.range("some", "many").high
    assert list(named.to_columns()["label"]) == ["none", "some", "many", "all"]
    with pytest.raises(DataError, match="one of the 4 ordered values"):
        named.range("few", "all")
    moments = [datetime(2026, month, 1) for month in (1, 2, 3)]
    dated = protocol.estimate(tally, edges=moments)
    assert datetime(2026, 1, 1) <= dated.quantile(0.5).value <= datetime(2026, 2, 1)
    assert dated.quantile(0.5).interval == "2026-01-01 to below 2026-02-01"
    assert dated.range("2026-01-01", datetime(2026, 3, 1)) == dated.range(moments[0].date(), moments[2])
    with pytest.raises(ParameterError, match="one fewer"):
        protocol.estimate(tally, edges=moments[:2], ordered=4)


def test_quantiles_of_a_certain_band_are_exact():
    """With hardly any noise every quantile is the true one, also where a share falls on a whole number of people."""
    nodes = LaplaceHistogram(
        users=10, bins=5, noise=DiscreteLaplace(decay=round_up_to_grid(1e-13)), values_per_person=1
    )
    protocol = Ranges(bins=5, branching=5, nodes=nodes)
    values = np.array([0, 1, 1, 2, 2, 2, 3, 3, 3, 4])
    estimate = protocol.estimate(protocol.sample_tally(np.bincount(values), rng=np.random.default_rng(0)))
    for share in (0.05, 0.1, 0.3, 0.30001, 0.6, 0.7, 0.9, 0.95):
        found = estimate.quantile(share)
        assert found.low == found.value == found.high == true_quantile(values, share)


def test_the_distribution_is_exported(ages):
    _, estimate = ages
    distribution = estimate.distribution()
    columns = distribution.to_columns()
    assert list(columns) == ["label", "edge", "people", "low", "high", "share", "share_low", "share_high"]
    assert columns["edge"][:2] == [0, 1]
    assert columns["edge"][-1] is None
    lines = distribution.to_csv().splitlines()
    assert len(lines) == 122
    assert lines[0].startswith("label,edge,people,low,high")
    assert distribution.to_pandas()["people"].tolist() == columns["people"]
    assert distribution.to_arrow().num_rows == 121
    json.dumps(estimate.to_dict(), allow_nan=False)


def test_the_explanation_says_what_holds(ages):
    _, estimate = ages
    text = estimate.explain()
    assert "Distribution: 95% confidence, everywhere at once: the number of people below every edge is within ±" in text
    assert "The median is about" in text
    assert "one person's value by any other" in text
    assert "groups of neighbouring values" in text
    for word in ("bin", "node", "leaf", "leaves", "phantom"):
        assert f" {word}" not in text


@pytest.mark.parametrize("leaves", [1, 2])
def test_one_or_two_values_are_enough(leaves):
    protocol = Ranges.calibrate(users=1000, bins=leaves, epsilon=1, delta=1e-3)
    counts = np.array([1000, 0][:leaves])
    estimate = protocol.estimate(protocol.sample_tally(counts, rng=np.random.default_rng(0)))
    assert estimate.quantile(0.5).value == 0
    assert estimate.range().count == pytest.approx(1000)
    assert "Result" in estimate.explain()


@pytest.mark.slow
def test_a_flat_histogram_has_the_larger_error():
    """What the tree is for: sums over a histogram have errors that grow with the number of values summed."""
    tree = Ranges.calibrate(users=10**5, bins=500, epsilon=1, delta=1e-6)
    flat = Ranges.calibrate(users=10**5, bins=500, epsilon=1, delta=1e-6, branching=500)
    assert flat.tree.levels == 1
    assert tree.range_error(0.05) < 0.4 * flat.range_error(0.05)

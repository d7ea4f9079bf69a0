"""SparseHistogram: privacy by enumeration of messages, exact splitting, zero guarantee, error, cost."""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from shuffledp import DataError, Domain, DummyHistogram, ParameterError, SparseHistogram, run, shuffle
from shuffledp.noise import CompoundPoisson
from shuffledp.noise.compound_poisson import SIZE_GRID, gamma_sizes
from shuffledp.paper.finite_randomizer import exact_delta
from shuffledp.protocols.shuffled.sparse_noise import KNEE, PAIR_RATES, NoiseSearch
from tests.oracles.goodness import assert_distribution, assert_not_distribution

DRAWS = 2000
SMALL_PAIRS = CompoundPoisson(rate=0.9, size_weights=(SIZE_GRID // 2, SIZE_GRID // 2))
SMALL_LONE = CompoundPoisson(rate=0.7, size_weights=(SIZE_GRID // 4, SIZE_GRID // 4, SIZE_GRID // 2))


def unscaled(rate, sizes, reach):
    """e^rate times the probabilities of a compound Poisson distribution, as fractions: a sum over the number of
    clusters.
    """
    total, power, factor = [Fraction(0)] * reach, {0: Fraction(1)}, Fraction(1)
    for clusters in range(reach):
        for k, chance in power.items():
            total[k] += factor * chance
        longer = {}
        for k, chance in power.items():
            for size, weight in sizes.items():
                if k + size < reach:
                    longer[k + size] = longer.get(k + size, Fraction(0)) + chance * weight
        power, factor = longer, factor * rate / (clusters + 1)
    return total


@pytest.mark.slow
@pytest.mark.parametrize(("users", "reach"), [(1, 9), (2, 7)])
def test_privacy_matches_enumeration_of_messages_in_fractions(users, reach):
    """Message by message, with e^-rate as the only number that is not rational: it is common to all outcomes."""
    pair_rate, lone_rate = Fraction(3, 8), Fraction(1, 4)
    protocol = SparseHistogram(
        users=users,
        bins=2,
        pairs=CompoundPoisson(rate=float(pair_rate), size_weights=(SIZE_GRID // 2, SIZE_GRID // 2)),
        lone=CompoundPoisson(rate=float(lone_rate), size_weights=(3 * SIZE_GRID // 4, SIZE_GRID // 4)),
    )
    chances = [
        unscaled(pair_rate / users, {1: Fraction(1, 2), 2: Fraction(1, 2)}, reach),
        unscaled(lone_rate / users, {1: Fraction(3, 4), 2: Fraction(1, 4)}, reach),
    ]
    # in units of 1 / unit, and what was sent as one number: whole numbers are as exact and many times faster
    unit = math.lcm(*(chance.denominator for distribution in chances for chance in distribution))
    pairs, lone = ([int(chance * unit) for chance in distribution] for distribution in chances)
    place = (users * (reach + 1)) ** np.arange(4, dtype=object)

    def person(value):
        distribution = {}
        for a0, b0, a1, b1 in product(range(reach), repeat=4):
            if max(a0 + b0, a1 + b1) < reach:
                sent = int(place @ (a0 + (value == 0), a0 + b0, a1 + (value == 1), a1 + b1))
                distribution[sent] = distribution.get(sent, 0) + pairs[a0] * lone[b0] * pairs[a1] * lone[b1]
        return distribution

    people = [person(value) for value in (0, 1)]

    def output(dataset):
        total = {0: 1}
        for value in dataset:
            longer = defaultdict(int)
            for have, p in total.items():
                for sent, q in people[value].items():
                    longer[have + sent] += p * q
            total = longer
        return {sent: Fraction(p, unit ** (4 * users)) for sent, p in total.items()}

    scale = math.exp(-2 * float(pair_rate + lone_rate))
    first, second = output((0,) * users), output((1,) + (0,) * (users - 1))
    left_out = 1 - scale * float(sum(first.values()))
    assert left_out < 1e-3
    for ratio in (Fraction(5, 4), Fraction(3), Fraction(12)):
        enumerated = scale * float(exact_delta(first, second, ratio=ratio))
        ours = protocol.privacy.delta(math.log(ratio))
        # outcomes that were left out can lower or raise delta, by at most their probability (times ratio under Q)
        assert enumerated - float(ratio) * left_out <= ours <= 1.002 * (enumerated + left_out) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_privacy_matches_dp_accounting(epsilon):
    protocol = SparseHistogram.calibrate(users=10**6, bins=10**5, epsilon=epsilon, delta=1e-6)
    theirs = protocol.privacy.pld(value_discretization_interval=epsilon / 3000)
    for at in (0.7 * epsilon, epsilon):
        assert protocol.privacy.delta(at) == pytest.approx(theirs.get_delta_for_epsilon(at), rel=0.01)
    assert not protocol.privacy.exact


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.5, 1.0, 2.0, 6.0])
@pytest.mark.parametrize("delta", [1e-4, 1e-9])
def test_calibration_is_sufficient_and_nearly_necessary(epsilon, delta):
    protocol = SparseHistogram.calibrate(users=10**5, bins=1000, epsilon=epsilon, delta=delta)
    assert protocol.privacy.delta(epsilon) <= delta
    less = SparseHistogram(
        users=10**5,
        bins=1000,
        pairs=protocol.pairs,
        lone=protocol.lone.with_rate(0.99 * protocol.lone.rate),
        guarantee=protocol.guarantee,
    )
    assert less.privacy.delta(epsilon) > delta


KNEE_TABLE = [(0.1, 363, 580, 1323), (0.5, 83, 126, 307), (1.0, 42, 65, 150), (2.0, 21, 33, 74)]


@pytest.mark.parametrize(("epsilon", "lone_mean", "hidden", "messages"), KNEE_TABLE)
def test_default_meets_the_design(epsilon, lone_mean, hidden, messages):
    protocol = SparseHistogram.calibrate(users=10**6, bins=10**6, epsilon=epsilon, delta=1e-6)
    assert protocol.lone.mean <= 1.05 * lone_mean
    assert np.searchsorted(np.cumsum(protocol.lone.window.pmf), 0.99) <= 1.05 * hidden
    assert protocol.messages_per_user.expected - 1 <= 1.05 * messages


CENTRAL_FLOOR = [(0.1, 475, 1.25), (0.2, 238, 1.25), (0.3, 159, 1.6), (0.5, 96, 1.6), (1.0, 48, 1.45), (2.0, 25, 1.6)]


@pytest.mark.parametrize(("epsilon", "floor", "factor"), CENTRAL_FLOOR)
def test_best_error_is_near_the_central_floor(epsilon, floor, factor):
    protocol = SparseHistogram.calibrate(users=10**8, bins=10**6, epsilon=epsilon, delta=1e-6, messages=math.inf)
    assert protocol.error(0.05, occupied_bins=1000).simultaneous <= factor * floor


def planned_error(*, users=10**5, bins=10**5, epsilon=1.0, delta=1e-6, **wish):
    protocol = SparseHistogram.calibrate(users=users, bins=bins, epsilon=epsilon, delta=delta, **wish)
    return protocol.error(0.05).simultaneous


BEST, DEFAULT = {"messages": math.inf}, {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wish", "setting"),
    [
        (BEST, {}),
        (BEST, {"delta": 1e-3}),
        (BEST, {"values_per_person": 2, "bins": 1000}),
        (BEST, {"users": 3000, "bins": 10**6}),
        (DEFAULT, {}),
        ({"messages": 300}, {}),
    ],
)
def test_a_larger_epsilon_never_has_a_larger_error(wish, setting):
    """A review found 102 at 0.64, 114 at 0.65 and 96 at 0.70, where lone clusters became narrow at a mean size of 2."""
    scale = math.sqrt(setting.get("values_per_person", 1))
    epsilons = [0.55, 0.64, 0.65, 0.66, 0.7, 0.8, 1.0, 1.29, 1.3, 1.31, 1.6, 3.0]
    errors = [planned_error(epsilon=epsilon * scale, **setting, **wish) for epsilon in epsilons]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.65, 1.3])
def test_a_larger_delta_and_fewer_values_never_have_a_larger_error(epsilon):
    errors = [planned_error(epsilon=epsilon, delta=delta, **BEST) for delta in np.geomspace(1e-10, 1e-2, 9)]
    assert errors == sorted(errors, reverse=True)
    errors = [planned_error(epsilon=epsilon, bins=1000, values_per_person=values, **BEST) for values in (1, 2, 3, 4)]
    assert errors == sorted(errors)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.65, 1.3])
def test_more_people_never_have_a_larger_error_per_person(epsilon):
    """In people it grows, with the logarithm of the bins that can hold more people than the error, up to all bins."""
    people = [10**power for power in range(1, 9)]
    many = [planned_error(users=users, bins=10**9, epsilon=epsilon, **BEST) for users in people]
    assert many == sorted(many)
    shares = [error / users for error, users in zip(many, people, strict=True)]
    assert shares == sorted(shares, reverse=True)
    few = [planned_error(users=users, bins=100, epsilon=epsilon, **BEST) for users in people]
    assert len(set(few[4:])) == 1  # every bin can hold more


@pytest.mark.slow
def test_the_knob_trades_messages_for_error():
    common = {"users": 10**5, "bins": 10**4, "epsilon": 0.5, "delta": 1e-6}
    protocols = [SparseHistogram.calibrate(**common, messages=m) for m in (29, 35, 60)]
    errors = [p.error(0.05).simultaneous for p in protocols]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > errors[-1]
    for wanted, protocol in zip((29, 35, 60), protocols, strict=True):
        assert protocol.messages_per_user.expected <= wanted * (1 + 1e-9)
        assert protocol.privacy.delta(0.5) <= 1e-6


@pytest.mark.slow
def test_an_error_target_is_met_with_fewer_messages():
    common = {"users": 10**5, "bins": 10**4, "epsilon": 1.0, "delta": 1e-6}
    best = SparseHistogram.calibrate(**common, messages=math.inf)
    loose = SparseHistogram.calibrate(**common, error=80)
    assert loose.error(0.05).simultaneous <= 80
    assert loose.messages_per_user.expected < best.messages_per_user.expected


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ({"messages": 2}, "needs about"),
        ({"messages": -3.0}, "needs about"),
        ({"messages": "few"}, "messages must be a number"),
        ({"error": 3}, "smallest possible is"),
        ({"error": 80, "messages": 20}, "not both"),
    ],
)
def test_impossible_wishes_name_what_is_possible(wish, reason):
    with pytest.raises(ParameterError, match=reason):
        SparseHistogram.calibrate(users=10**5, bins=10**4, epsilon=1, delta=1e-6, **wish)


# the split over people --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "users"), [*((1.0, users) for users in (1, 2, 3, 40)), *product([0.7, 1.3], [1, 40])]
)
def test_every_coordinate_of_the_message_path(users, scale):
    """c + P and c - M of every bin, occupied or not, from messages that were really made."""
    pairs = CompoundPoisson(rate=6.0, size_weights=gamma_sizes(mean=3, shape=4))
    lone = CompoundPoisson(rate=8.0, size_weights=gamma_sizes(mean=2, shape=10))
    protocol = SparseHistogram(
        users=users, bins=3, pairs=pairs.with_rate(scale * 6.0), lone=lone.with_rate(scale * 8.0)
    )
    values = np.arange(users) % 2
    counts = np.bincount(values, minlength=3)
    rng = np.random.default_rng(40)
    plus, minus = [], []
    for _ in range(DRAWS):
        p, m = protocol.tally(shuffle(protocol.randomize(values, rng=rng), rng=rng)).counts.T
        plus.append(p - counts)
        minus.append(m)
    drawn_pairs, drawn_lone = np.array(plus), np.array(minus) - np.array(plus)
    check = assert_distribution if scale == 1.0 else assert_not_distribution
    for j in range(3):
        check(drawn_pairs[:, j], 0, pairs.window.pmf)
        check(drawn_lone[:, j], 0, lone.window.pmf)
    if scale == 1.0:
        # independent coordinates: correlations of this number of samples stay below six standard deviations
        everything = np.hstack([drawn_pairs, drawn_lone])
        off_diagonal = np.corrcoef(everything.T) - np.eye(6)
        assert np.abs(off_diagonal).max() < 6 / math.sqrt(DRAWS)


def test_sample_tally_follows_the_same_distribution():
    protocol = SparseHistogram.calibrate(users=1000, bins=50_000, epsilon=1, delta=1e-6)
    counts = np.zeros(50_000, dtype=int)
    counts[:10] = 100
    plus, minus = protocol.sample_tally(counts, rng=np.random.default_rng(41)).counts.T
    assert_distribution(plus - counts, 0, protocol.pairs.window.pmf)
    assert_distribution(minus - (plus - counts), 0, protocol.lone.window.pmf)


# the analyzer -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_empty_bin_is_never_reported():
    protocol = SparseHistogram.calibrate(users=1000, bins=20_000, epsilon=1, delta=1e-6)
    counts = np.zeros(20_000, dtype=int)
    counts[:4] = 250
    rng = np.random.default_rng(42)
    for _ in range(50):
        assert protocol.estimate(protocol.sample_tally(counts, rng=rng)).symbols.max() < 4
    values = np.repeat(np.arange(4), 250)
    assert run(protocol, values, rng=rng).symbols.tolist() == [0, 1, 2, 3]


def ladder(mean, users):
    steps = np.arange(1, int(2 * mean) + 1)
    counts = np.tile(steps, users // steps.sum())
    return np.append(counts, users - counts.sum())


@pytest.mark.slow
@pytest.mark.parametrize("dataset", ["uniform", "one bin", "adversarial"])
def test_intervals_and_bounds_cover(dataset):
    users = 100_000
    protocol = SparseHistogram.calibrate(users=users, bins=2**40, epsilon=0.5, delta=1e-6)
    counts = {
        "uniform": np.full(1000, 100),
        "one bin": np.array([users]),
        "adversarial": ladder(protocol.lone.mean, users),
    }[dataset]
    truth = dict(enumerate(counts.tolist()))
    bound = protocol.error(0.05).simultaneous
    rng = np.random.default_rng(43)
    errors, covered = [], 0
    for _ in range(300):
        estimate = protocol.estimate(protocol.sample_tally(truth, rng=rng))
        guess, low = np.zeros(counts.size), np.zeros(counts.size)
        high = np.full(counts.size, estimate.simultaneous.unreported_high)
        guess[estimate.symbols] = estimate.counts
        low[estimate.symbols] = estimate.simultaneous.low
        high[estimate.symbols] = estimate.simultaneous.high
        errors.append(np.abs(guess - counts).max())
        covered += bool(((low <= counts) & (counts <= high)).all())
    assert covered >= 0.95 * 300
    assert np.mean(np.array(errors) <= bound) >= 0.95
    if dataset == "adversarial":
        assert bound <= 1.3 * np.quantile(errors, 0.95)


@pytest.mark.slow
def test_the_combined_estimate_is_better_than_either_part():
    protocol = SparseHistogram.calibrate(users=10**5, bins=100, epsilon=1, delta=1e-6)
    counts = np.full(100, 1000)
    rng = np.random.default_rng(44)
    combined, alone = [], []
    for _ in range(300):
        tally = protocol.sample_tally(counts, rng=rng)
        plus, minus = tally.counts.T
        combined.append(protocol.estimate(tally).counts - 1000)
        alone.append(plus - minus + protocol.lone.mean - 1000)
    assert np.mean(combined) == pytest.approx(0, abs=0.3)
    assert np.var(combined) < 0.97 * np.var(alone)


@pytest.mark.slow
def test_fewer_reports_and_honest_users():
    protocol = SparseHistogram.calibrate(users=2000, bins=4, epsilon=1, delta=1e-6, honest_users=1000)
    whole = SparseHistogram.calibrate(users=2000, bins=4, epsilon=1, delta=1e-6)
    assert protocol.lone.mean == pytest.approx(2 * whole.lone.mean, rel=1e-3)
    assert protocol.privacy.delta(1) <= 1e-6
    rng = np.random.default_rng(45)
    values = np.repeat([0, 1], [1000, 500])
    estimates = [
        protocol.estimate(protocol.tally(protocol.randomize(values, rng=rng)), reports=1500) for _ in range(200)
    ]
    assert np.mean([e[0] for e in estimates]) == pytest.approx(1000, abs=3)
    with pytest.raises(ParameterError, match="exceeds users"):
        protocol.estimate(protocol.tally([]), reports=3000)


def test_a_wrong_number_of_people_is_noticed():
    for protocol in (
        SparseHistogram.calibrate(users=2000, bins=100, epsilon=1, delta=1e-6),
        DummyHistogram.calibrate(users=2000, bins=100, epsilon=1, delta=1e-6),
    ):
        half = protocol.tally(protocol.randomize(np.zeros(1000, dtype=int)))
        with pytest.raises(DataError, match="do not fit 2000 people in 100 bins"):
            protocol.estimate(half)
        told = protocol.estimate(half, reports=1000)
        assert told.guarantee.epsilon > 1
        assert run(protocol, np.zeros(1000, dtype=int)).guarantee == told.guarantee


@pytest.mark.parametrize("users", [1, 2, 3, 7, 19, 60])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_few_people_get_an_honest_bound(users, epsilon):
    protocol = SparseHistogram.calibrate(users=users, bins=10, epsilon=epsilon, delta=1e-6)
    assert protocol.error(0.05).simultaneous > 0
    assert protocol.describe()


def test_the_guarantee_does_not_call_itself_exact():
    protocol = SparseHistogram.calibrate(users=10**5, bins=100, epsilon=1, delta=1e-6)
    assert "computed as an upper bound" in protocol.describe()
    assert "exact" not in protocol.describe()


def test_few_honest_people_among_many():
    protocol = SparseHistogram.calibrate(users=10**6, bins=100, epsilon=1, delta=1e-6, honest_users=20_000)
    assert protocol.lone.rate > 1000
    assert protocol.lone.window.pmf.sum() == pytest.approx(1, abs=1e-9)
    assert protocol.privacy.delta(1) <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.5), (0.1, 0.1), (1.0, 1e-15), (10.0, 1e-9)])
def test_odd_guarantees_calibrate_to_the_fewest_messages_nearby(epsilon, delta):
    common = {"users": 10**5, "bins": 10**4, "epsilon": epsilon, "delta": delta}
    default = SparseHistogram.calibrate(**common)
    assert default.privacy.delta(epsilon) <= delta
    loose = SparseHistogram.calibrate(**common, error=10**5)
    assert loose.messages_per_user.expected <= 1.0001 * default.messages_per_user.expected


def test_few_messages_in_very_many_bins_are_counted_sparsely():
    protocol = SparseHistogram.calibrate(users=1000, bins=2**30, epsilon=1, delta=1e-6)
    assert len(protocol.tally(np.array([4, 5, 9]))) == 2


def test_messages_and_huge_domains():
    protocol = SparseHistogram.calibrate(users=10**6, bins=1000, epsilon=1, delta=1e-6)
    messages = protocol.randomize(np.zeros(200_000, dtype=int), rng=np.random.default_rng(46))
    assert messages.size / 200_000 == pytest.approx(protocol.messages_per_user.expected, rel=0.01)
    assert protocol.bits_per_message == 11
    with pytest.raises(ParameterError, match="too many to send messages"):
        SparseHistogram.calibrate(users=1000, bins=2**64, epsilon=1, delta=1e-6).randomize(0)
    most = SparseHistogram(users=10**12, bins=2**63, pairs=SMALL_PAIRS.with_rate(1e-6), lone=SMALL_LONE.with_rate(1e-6))
    assert 2**63 - 1 in most.tally(most.randomize(2**63 - 1)).symbols
    huge = SparseHistogram.calibrate(users=1000, bins=2**62, epsilon=1, delta=1e-6)
    estimate = huge.estimate(huge.sample_tally({"a": 900, "b": 100}), domain=Domain.implicit(2**62))
    assert estimate["a"] == pytest.approx(900, abs=80)


def test_a_persons_work_does_not_depend_on_the_number_of_bins():
    """With as many people as bins a person sends the same few messages, for 10^3 and for 2^40 of them."""
    for bins in (10**3, 10**9, 10**12):
        protocol = SparseHistogram.calibrate(users=min(bins, 10**12), bins=bins, epsilon=1, delta=1e-6)
        sizes = [protocol.randomize(0).size for _ in range(50)]
        assert 50 < np.mean(sizes) < 300


def test_sparse_and_dense_tallies_merge():
    protocol = SparseHistogram(users=4, bins=2**40, pairs=SMALL_PAIRS.with_rate(1e-9), lone=SMALL_LONE.with_rate(1e-9))
    rng = np.random.default_rng(47)
    first = np.array([2 * 7, 2 * 7 + 1, 2 * 9, 2 * (2**39) + 1])
    second = np.array([2 * 7, 2 * 9, 2 * 9])
    merged = protocol.tally(first) + protocol.tally(second)
    assert merged.total == 7
    assert merged.as_dict() == {7: [2, 1], 9: [3, 0], 2**39: [0, 1]}
    assert merged.messages == 7
    assert merged == protocol.tally(shuffle([first, second], rng=rng))
    assert protocol.estimator.statistic(merged).as_dict() == {7: [2, 1], 9: [3, 0]}


def test_bad_input():
    protocol = SparseHistogram.calibrate(users=1000, bins=10, epsilon=1, delta=1e-6)
    with pytest.raises(DataError, match="value is not a bin"):
        protocol.randomize([10])
    with pytest.raises(DataError, match="message is not a bin"):
        protocol.tally([20])
    with pytest.raises(DataError, match="add up"):
        protocol.sample_tally({0: 3})
    with pytest.raises(ParameterError, match="labels"):
        protocol.estimate(protocol.sample_tally({0: 1000}), domain=Domain.range(3))


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("place", [KNEE, 20])
def test_search_finds_the_first_rate_that_keeps_the_guarantee(narrow, place):
    search = NoiseSearch(epsilon=1.0, delta=1e-6, narrow=narrow)
    found = search.at(PAIR_RATES[place])
    assert search.excess(found) <= 0
    assert search.excess(search.distributions(found.pairs.rate, found.lone.rate * (1 - 5e-4))) > 0


def test_search_reports_the_fewest_messages():
    search = NoiseSearch(epsilon=1.0, delta=1e-6)
    fewest = search.cheapest().messages
    assert search.within(1.05 * fewest) is not None
    assert search.within(0.8 * fewest) is None

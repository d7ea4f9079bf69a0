"""The privacy of numbers and choices by enumeration, and the distribution of the messages that clients send.

Enumeration uses Fractions and starts from the values that the deployed client randomizes. Statistical assertions have a
false failure rate of at most 1e-6 each, under fixed seeds.
"""

import math
from fractions import Fraction
from itertools import product

import msgspec
import numpy as np
import pytest
from scipy.stats import chi2

from shuffledp.collect.analyzer.releases import release_of
from shuffledp.collect.client.making import messages_of
from shuffledp.collect.task import Named
from shuffledp.histogram.inputs import filled_up
from shuffledp.histogram.tally import Tally
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.paper.finite_randomizer import exact_delta
from tests.collect.task.test_most_messages import output
from tests.collect.tasks import small_task
from tests.oracles.goodness import assert_distribution, assert_not_distribution

RATIOS = [Fraction(1), Fraction(3, 2), Fraction(3)]
GRID = 1.002
"""The curve of several values is an upper bound, at most this factor above the truth."""


def with_noise(task, **parameters):
    """The same task with other noise, which no calibration would choose."""
    return msgspec.structs.replace(task, protocol_used=Named(task.protocol_used.name, parameters))


def held_by(task, answer):
    """The bins that the client randomizes, padding included."""
    protocol, values = task.protocol, task.values_of(answer)
    if protocol.values_per_person == 1:
        return [values]
    return filled_up(values, bins=protocol.bins, each=protocol.values_per_person, padding_bins=protocol.padding_bins)[
        0
    ].tolist()


# Choices: two of three answers, two people, fair coins ------------------------------------------------------------


def two_of_three():
    task = small_task(most=2, protocol="hist", users=2, epsilon=4.0, delta=0.9).task
    return with_noise(task, missing_probability="1/2^1")


CHOSEN = [["dark", "light"], ["system", "else"], ["dark"], [], ["dark", "system"]]


@pytest.mark.slow
def test_the_curve_of_choices_is_the_worst_of_all_pairs_of_answers():
    """All messages of both people are enumerated; four counts move if no choice is shared."""
    task = two_of_three()
    rows = [held_by(task, answer) for answer in CHOSEN]
    assert [len(set(row)) for row in rows] == [2] * 5
    assert {tuple(sorted(row)) for row in rows} == {(0, 1), (2, 3), (0, 5), (4, 5), (0, 2)}
    person = [task.protocol.randomizer_distribution(*row) for row in rows]
    released = [output([each, person[2]]) for each in person]
    for ratio in RATIOS:
        curve = task.protocol.privacy.delta(math.log(ratio))
        deltas = {
            (one, other): exact_delta(released[one], released[other], ratio=ratio)
            for one, other in product(range(5), repeat=2)
        }
        worst = max(deltas.values())
        assert deltas[0, 1] == deltas[1, 0] == worst
        assert float(worst) <= curve * (1 + 1e-12)
        assert curve <= GRID * float(worst)
        assert deltas[0, 4] < worst  # one shared choice moves two counts only


# Numbers: a tree of two levels, dummies of mean 1/2 for each node --------------------------------------------------


def two_levels():
    task = small_task(protocol="ranges", edges="0", users=2, epsilon=4.0, delta=0.9).task
    dummies = {"rate": "1/2^1", "size_weights": [SIZE_GRID]}
    return with_noise(task, branching=2, dummies=dummies)


MOST = 6
"""The largest count of dummies that is enumerated: more have probability below 1e-6 for each node."""


def poisson(moved):
    """P(count) of a node with Poisson(1/2) dummies, moved by 0 or 1, times sqrt(e): a fraction."""
    counts = range(MOST + 2)
    return [Fraction(1, 2 ** (k - moved) * math.factorial(k - moved)) if k >= moved else Fraction(0) for k in counts]


def node_delta(task, one, other, ratio):
    """The delta of two answers by enumerating the counts of all nodes that differ."""
    rows = [set(held_by(task, answer)) for answer in (one, other)]
    nodes = sorted(rows[0] ^ rows[1])
    total = Fraction(0)
    first, second = ([poisson(node in row) for node in nodes] for row in rows)
    for counts in product(range(MOST + 2), repeat=len(nodes)):
        p = math.prod((chances[count] for chances, count in zip(first, counts, strict=True)), start=Fraction(1))
        q = math.prod((chances[count] for chances, count in zip(second, counts, strict=True)), start=Fraction(1))
        total += max(Fraction(0), p - ratio * q)
    return float(total) * math.exp(-len(nodes) / 2), len(nodes)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", RATIOS)
def test_the_curve_of_numbers_is_the_worst_of_all_pairs_of_answers(ratio):
    task = two_levels()
    assert (task.tree.sizes, task.values_per_person) == ((2, 4), 2)
    curve = task.protocol.privacy.delta(math.log(ratio))
    far, moved = node_delta(task, -1, None, ratio)
    assert moved == 4
    assert far <= curve <= GRID * far + 1e-4  # counts above MOST + 1 are left out
    near, moved = node_delta(task, -1, 1, ratio)
    assert moved == 2  # intervals of one parent
    assert near < far


def test_a_promise_for_fewer_values_is_false():
    """The negative control: with K values the curve of one value is too small."""
    for task in (two_of_three(), two_levels()):
        assert task.values_per_person == 2
        assert task.protocol.privacy.shifts == 4


# The one-person path, the vectorised one and the sampled tally ----------------------------------------------------


TASKS = {
    "ranges": ({"protocol": "ranges", "edges": "0:8:1"}, [-1, 3, 3, 7.5, "x", None, 100]),
    "choices": ({"most": 2}, [["dark"], ["light", "system"], [], None, ["dark", "else"]]),
}
BATCHES = 150


def noise_of(task, tallies, truth):
    """The counts of all bins less those of the people, of many tallies."""
    return np.concatenate([tally.dense(bins=task.protocol.bins).counts - truth for tally in tallies])


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_clients_send_what_the_curve_and_the_estimates_assume(name):
    """The noise of a bin has the distribution of the protocol: from clients one by one, from all at once, and sampled.

    The negative control has 30% more or less noise.
    """
    options, asked = TASKS[name]
    task = small_task(users=40, epsilon=4.0, delta=1e-3, **options).task
    answers = [asked[at % len(asked)] for at in range(task.users)]
    protocol, rng = task.protocol, np.random.default_rng(3)
    rows = np.array([held_by(task, answer) for answer in answers])
    truth = np.bincount(rows.ravel(), minlength=protocol.bins)
    open_rows = np.where(rows < protocol.bins - protocol.padding_bins, rows, -1)
    one_by_one = [
        protocol.tally(np.array([message for answer in answers for message in messages_of(task, answer, rng=rng)]))
        for _ in range(BATCHES)
    ]
    all_at_once = [protocol.tally(protocol.randomize(open_rows, rng=rng)) for _ in range(BATCHES)]
    sampled = [protocol.sample_tally(truth, rng=rng) for _ in range(BATCHES)]
    window = protocol.noise.window
    for tallies in (one_by_one, all_at_once, sampled):
        assert_distribution(noise_of(task, tallies, truth), window.first, window.pmf)
    for factor in (0.7, 1.3):
        wrong = protocol.noise.with_rate(factor * protocol.noise.rate).window
        assert_not_distribution(noise_of(task, one_by_one, truth), wrong.first, wrong.pmf)


# Intervals of collected numbers ------------------------------------------------------------------------------------


def tally_with(task, truth, factor, rng):
    """A tally of these people whose noise has `factor` times the standard deviation, around the same mean."""
    noise = task.protocol.noise
    drawn = noise.sample(truth.size, rng=rng)
    scaled = np.rint(noise.mean + factor * (drawn - noise.mean)).astype(np.int64)
    return Tally(np.arange(truth.size), truth + scaled, messages=int((truth + scaled).sum()))


@pytest.mark.slow
def test_quantiles_and_ranges_of_collected_numbers_are_in_their_intervals():
    """All intervals hold at once with 95%: of 60 releases more than 17 fail with probability below 1e-8.

    Noise that is 30% too small or too large is rejected by the variance of the counts, with probability above 1 - 1e-6.
    """
    task = small_task(protocol="ranges", edges="0:40:1", users=500).task
    rng = np.random.default_rng(8)
    numbers = np.clip(rng.normal(20, 7, size=task.users), -2, 43).round(2)
    places = np.array([task.bin_of(number) for number in numbers])
    leaves = np.bincount(places, minlength=task.tree.leaves)
    truth, below = task.tree.totals(leaves), np.cumsum(leaves)
    failed, squares = 0, {0.7: 0.0, 1.0: 0.0, 1.3: 0.0}
    for _ in range(60):
        for factor in squares:
            tally = tally_with(task, truth, factor, rng)
            squares[factor] += float(((tally.counts - truth - task.protocol.noise.mean) ** 2).sum())
            if factor == 1.0:
                estimate = release_of(task, [tally], refused={}).estimate
                failed += not all_hold(estimate, numbers, below)
    assert failed <= 17
    degrees = 60 * truth.size
    risks = {
        factor: 2 * min(chi2.sf(total, degrees), chi2.cdf(total, degrees))
        for factor, total in ((factor, found / task.protocol.noise.variance) for factor, found in squares.items())
    }
    assert risks[1.0] > 1e-6
    assert max(risks[0.7], risks[1.3]) <= 1e-6


def all_hold(estimate, numbers, below):
    """Whether the medians, quantiles, the distribution function and some ranges are all in their intervals."""
    ordered = np.sort(numbers)
    for quantile in estimate.quantiles([0.1, 0.5, 0.9]):
        exact = ordered[math.ceil(quantile.share * ordered.size) - 1]
        if (quantile.low is not None and exact < quantile.low) or (
            quantile.high is not None and exact >= quantile.high
        ):
            return False
    ranges = [(0, 10), (10, 30), (None, 20), (35, None)]
    return all(
        found.low <= sum((low is None or low <= x) and (high is None or x < high) for x in numbers) <= found.high
        for low, high in ranges
        for found in [estimate.range(low, high)]
    ) and bool(((estimate.below_low <= below[:-1]) & (below[:-1] <= estimate.below_high)).all())

"""Decoding hashed messages in parts, sampling decoded tallies, and looking up some values.

Statistical assertions fail on a correct protocol with a probability of at most 1e-6 each, under fixed seeds.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp import Domain
from shuffledp.errors import DataError, ParameterError
from shuffledp.estimators.supports import DecodedTally
from shuffledp.histogram import hash_family
from shuffledp.histogram.tally import Tally
from shuffledp.protocols import HashedHistogram, Target
from shuffledp.protocols.protocol import decoded
from shuffledp.protocols.shuffled import hashed
from tests.oracles.goodness import FALSE_FAILURE_RATE, same_distribution_p_value

PEOPLE, VALUES = 400, 60
GUARANTEE = {"epsilon": 1.0, "delta": 1e-3}
PROTOCOL = HashedHistogram.calibrate(users=PEOPLE, bins=VALUES, **GUARANTEE)
HUGE = HashedHistogram.calibrate(users=PEOPLE, bins=2**40, **GUARANTEE)
COUNTS = np.bincount(np.minimum(np.random.default_rng(1).geometric(0.1, PEOPLE), VALUES - 1), minlength=VALUES)
HELD = np.repeat(np.arange(VALUES), COUNTS)


def consistent(protocol, messages, value):
    """The number of messages whose hash function maps a value to their bucket, one message at a time."""
    family, found = protocol.family, 0
    for message in messages.tolist():
        seed, bucket = divmod(message, family.modulus)
        digits, rest = [value % family.pieces], value // family.pieces
        for _ in range(family.digits - 1):
            rest, digit = divmod(rest, family.modulus)
            digits.append(digit)
        coefficients = family.coefficients(np.array([seed]))[0].tolist()
        found += sum(a * b for a, b in zip(coefficients, digits, strict=True)) % family.modulus == bucket
    return found


@pytest.mark.parametrize("protocol", [PROTOCOL, HUGE])
def test_looked_up_counts_are_those_of_every_single_message(protocol):
    rng = np.random.default_rng(2)
    messages = protocol.randomize(HELD, rng=rng)
    values = np.array([0, 1, 17, protocol.bins - 1])
    found = protocol.estimator.statistic_of(protocol.tally(messages), values)
    assert found.counts.tolist() == [consistent(protocol, messages, value) for value in values.tolist()]


def test_decoded_parts_add_up_to_the_whole(monkeypatch):
    messages = PROTOCOL.randomize(HELD, rng=np.random.default_rng(3))
    whole = PROTOCOL.decode(PROTOCOL.tally(messages))
    parts = [decoded(PROTOCOL, PROTOCOL.tally(part)) for part in np.array_split(messages, 5)]
    total = parts[0] + parts[1] + parts[2] + parts[3] + parts[4]
    assert isinstance(total, DecodedTally)
    assert total.counts.tolist() == whole.counts.tolist()
    assert total.messages == whole.messages == messages.size
    found = [PROTOCOL.estimate(tally, reports=PEOPLE) for tally in (total, PROTOCOL.tally(messages))]
    assert found[0].counts.tolist() == found[1].counts.tolist()
    monkeypatch.setattr(hash_family, "_MESSAGES_AT_ONCE", 100)  # decoded in many parts
    assert PROTOCOL.decode(PROTOCOL.tally(messages)).counts.tolist() == whole.counts.tolist()
    assert PROTOCOL.estimator.statistic_of(PROTOCOL.tally(messages), np.array([3])).counts == whole.counts[3]


def test_messages_and_counts_are_not_mixed_up():
    tally = PROTOCOL.tally(PROTOCOL.randomize(HELD, rng=np.random.default_rng(4)))
    with pytest.raises(DataError, match="decode the messages first"):
        PROTOCOL.decode(tally) + tally
    assert PROTOCOL.tally(PROTOCOL.decode(tally)).counts.tolist() == PROTOCOL.decode(tally).counts.tolist()
    few = PROTOCOL.decode(PROTOCOL.tally(PROTOCOL.randomize(HELD[:20], rng=np.random.default_rng(4))))
    with pytest.raises(DataError, match="messages do not fit 400 people"):
        PROTOCOL.estimate(few)


@pytest.mark.slow
def test_samples_in_parts_have_the_distribution_of_messages(monkeypatch):
    """And noise that is 30 % off on either side is noticed."""
    monkeypatch.setattr(hashed, "_AT_ONCE", 350)
    rng, value, runs = np.random.default_rng(5), 3, 200

    def samples(protocol):
        return np.array([protocol.sample_tally(COUNTS, rng=rng).counts[value] for _ in range(runs)])

    made = [PROTOCOL.decode(PROTOCOL.tally(PROTOCOL.randomize(HELD, rng=rng))).counts[value] for _ in range(runs)]
    assert same_distribution_p_value(samples(PROTOCOL), np.array(made)) > FALSE_FAILURE_RATE
    for factor in (0.7, 1.3):
        dummies = replace(PROTOCOL.dummies, rate=PROTOCOL.dummies.rate * factor)
        other = replace(PROTOCOL, dummies=dummies)
        assert same_distribution_p_value(samples(other), np.array(made)) < FALSE_FAILURE_RATE


def test_sampling_needs_counts_on_one_level():
    levels = HashedHistogram.for_levels(Target(users=PEOPLE, bins=50, **GUARANTEE), levels=2, pieces=5)
    assert not levels.samples_exactly
    with pytest.raises(ParameterError, match="levels must be 1"):
        levels.sample_tally({1: 400})


# looking up --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("truth", [COUNTS, np.eye(VALUES, dtype=np.int64)[3] * PEOPLE])
def test_intervals_of_a_list_hold_at_once(truth):
    """In 400 runs, also if everybody holds one value; the list is fixed before."""
    rng, listed, runs = np.random.default_rng(6), np.array([3, 40, 59]), 400
    held = 0
    for _ in range(runs):
        tally = PROTOCOL.sample_tally(truth, rng=rng)
        bounds = PROTOCOL.lookup(tally, listed, beta=0.2).simultaneous
        held += bool(((bounds.low <= truth[listed]) & (truth[listed] <= bounds.high)).all())
    assert held >= binom.ppf(FALSE_FAILURE_RATE, runs, 0.8)


def test_intervals_of_a_list_are_narrower_around_the_same_estimates():
    tally, listed = PROTOCOL.sample_tally(COUNTS, rng=np.random.default_rng(11)), np.array([1, 2, 3])
    found, every = PROTOCOL.lookup(tally, listed, beta=0.05), PROTOCOL.estimate(tally, beta=0.05)
    assert found.counts.tolist() == every.counts[listed].tolist()
    assert (found.simultaneous.low > every.simultaneous.low[listed]).all()
    assert (found.simultaneous.high < every.simultaneous.high[listed]).all()
    assert found.per_bin.low.tolist() == every.per_bin.low[listed].tolist()
    alone = PROTOCOL.lookup(tally, [1])
    assert alone.simultaneous.high.tolist() == alone.per_bin.high.tolist()


def test_values_of_a_domain_that_nobody_could_list():
    rng, truth = np.random.default_rng(7), {5: 250, 2**39 + 7: 150}
    tally = HUGE.sample_tally(truth, rng=rng)
    with pytest.raises(DataError, match=r"too large to count all of them, at most 67,108,864: look up some"):
        HUGE.estimate(tally)
    domain = Domain.range(2**40)
    found = HUGE.lookup(tally, [2**39 + 7, 5, 99], domain=domain, beta=FALSE_FAILURE_RATE)
    assert found.keys() == [2**39 + 7, 5, 99]
    for value in found:
        low, high = found.interval(value)
        assert low <= truth.get(value, 0) <= high
    assert found.bins == 2**40
    assert found.simultaneous.unreported_high == PEOPLE
    assert "Only the values that were looked up are shown" in found.explain()
    assert found.consistent().counts.sum() <= PEOPLE


@pytest.mark.parametrize(
    ("values", "error", "reason"),
    [
        ([], ParameterError, "values must be 1 to 1,000,000"),
        (np.arange(10**6 + 1), ParameterError, "values must be 1 to 1,000,000 values to look up, got 1,000,001"),
        ([VALUES], DataError, "not a bin between 0 and 59"),
        ([-1], DataError, "not a bin"),
        (["secret"], DataError, "not a bin"),
        ([[1, 2]], DataError, "flat array"),
        ([3, 3], ParameterError, "occurs more than once"),
    ],
)
def test_values_that_cannot_be_looked_up(values, error, reason):
    tally = PROTOCOL.sample_tally(COUNTS, rng=np.random.default_rng(8))
    with pytest.raises(error, match=reason) as caught:
        PROTOCOL.lookup(tally, values)
    assert "secret" not in str(caught.value)


def test_missing_messages_are_noticed_when_values_are_looked_up():
    many = HashedHistogram.calibrate(users=40 * PEOPLE, bins=VALUES, **GUARANTEE)
    tally = many.tally(many.randomize(np.tile(HELD, 20), rng=np.random.default_rng(9)))
    with pytest.raises(DataError, match="reports="):
        many.lookup(tally, [1])
    assert many.lookup(tally, [1], reports=20 * PEOPLE).guarantee.epsilon > 1
    with pytest.raises(DataError, match="needs a tally"):
        many.lookup({1: 3}, [1])


def test_estimates_lead_back_to_the_messages():
    tally = PROTOCOL.sample_tally(COUNTS, rng=np.random.default_rng(10))
    estimate = PROTOCOL.estimate(tally)
    assert PROTOCOL.estimator.supports_of(estimate.counts).tolist() == tally.counts.tolist()
    with pytest.raises(DataError, match="adjusted or rounded"):
        PROTOCOL.estimator.supports_of(np.rint(estimate.counts))


@pytest.mark.parametrize("dummies", [0, 0.001, 1001, -1, float("nan"), "four"])
def test_numbers_of_dummies_out_of_range(dummies):
    with pytest.raises(ParameterError, match="dummies must be"):
        HashedHistogram.calibrate(users=PEOPLE, bins=VALUES, **GUARANTEE, dummies=dummies)


def test_few_values_have_as_many_buckets_as_many_values():
    """The noise of other people does not grow with their number."""
    few, many = (HashedHistogram.calibrate(users=10**6, bins=bins, epsilon=1, delta=1e-6) for bins in (2, 10**6))
    assert few.family.modulus == many.family.modulus
    assert few.estimator.variance() == many.estimator.variance() == pytest.approx(42.66 * 1.25, rel=1e-3)


def test_more_values_than_machine_integers_are_refused():
    with pytest.raises(ParameterError, match=r"values must be 1 to 4611686018427387904 to be hashed, got 9,223,372"):
        HashedHistogram.calibrate(users=PEOPLE, bins=2**63, **GUARANTEE)
    assert isinstance(HashedHistogram.calibrate(users=PEOPLE, bins=2**62, **GUARANTEE).tally([]), Tally)


def test_too_few_honest_people_are_named():
    with pytest.raises(ParameterError, match="more of them must be honest"):
        HashedHistogram.calibrate(users=10**6, bins=VALUES, honest_users=100, **GUARANTEE)

"""The faces of the protocols: parameters, bad input, sizes, huge domains."""

import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shuffledp
from shuffledp import (
    BinarySum,
    DataError,
    Domain,
    DummyHistogram,
    Histogram,
    ParameterError,
    ShuffledpError,
    Tally,
    run,
    shuffle,
)

GOOD = {"users": 1000, "bins": 10, "epsilon": 1.0, "delta": 1e-6}
BAD = [
    ("users", 0, "at least 1"),
    ("users", -5, "at least 1"),
    ("users", 1e3, "whole number"),
    ("users", True, "whole number"),
    ("users", "many", "whole number"),
    ("bins", 0, "at least 1"),
    ("bins", 2.5, "whole number"),
    ("epsilon", 0, "above 0"),
    ("epsilon", -1, "above 0"),
    ("epsilon", 1e-9, "between"),
    ("epsilon", 1e9, "between"),
    ("delta", 1e-30, "at least"),
    ("users", 10**13, "at most"),
    ("epsilon", math.inf, "finite"),
    ("epsilon", math.nan, "finite"),
    ("epsilon", None, "number"),
    ("delta", 0, "strictly between"),
    ("delta", 1, "strictly between"),
    ("delta", "1e-6", "number"),
]


@pytest.mark.parametrize("make", [Histogram.calibrate, Histogram.published])
@pytest.mark.parametrize(("name", "value", "reason"), BAD)
def test_bad_parameters_name_themselves(make, name, value, reason):
    with pytest.raises(ParameterError, match=f"{name}.*{reason}"):
        make(**{**GOOD, name: value})


@pytest.mark.slow
@settings(max_examples=300)
@given(
    st.one_of(st.integers(-10, 10**6), st.floats(), st.none(), st.text(max_size=3)),
    st.one_of(st.integers(-10, 2**70), st.floats(), st.none()),
    st.one_of(st.floats(), st.integers(-1, 3), st.text(max_size=3)),
    st.one_of(st.floats(), st.none()),
)
def test_any_parameters_give_a_protocol_or_a_clear_error(users, bins, epsilon, delta):
    try:
        protocol = Histogram.calibrate(users=users, bins=bins, epsilon=epsilon, delta=delta)
    except ShuffledpError:
        return
    assert protocol.privacy.delta(epsilon) <= delta


def test_parameters_are_keyword_only_and_frozen():
    with pytest.raises(TypeError):
        Histogram(1000, 10, 0.25)
    with pytest.raises(FrozenInstanceError):
        Histogram(users=10, bins=2, missing_probability=0.5).users = 11


def test_honest_users_are_checked():
    with pytest.raises(ParameterError, match="honest_users=2000 cannot exceed users=1000"):
        Histogram.calibrate(**GOOD, honest_users=2000)
    with pytest.raises(ParameterError, match=r"honest_users=100 is too few.*at least 148"):
        Histogram.calibrate(**GOOD, honest_users=100)


@pytest.mark.parametrize("beta", [0, 1, -0.1, math.nan, "5 %"])
def test_bad_beta(beta):
    protocol = Histogram.calibrate(**GOOD)
    with pytest.raises(ParameterError, match="beta"):
        protocol.error(beta)
    with pytest.raises(ParameterError, match="beta"):
        protocol.estimate(protocol.sample_tally({0: 1000}), beta=beta)


@pytest.mark.parametrize("values", [[10], [-1], [0.5], ["0"], [2**70], [None]])
def test_histogram_values_outside_are_refused_without_showing_them(values):
    with pytest.raises(DataError, match="value is not a bin between 0 and 9"):
        Histogram.calibrate(**GOOD).randomize(values)


@pytest.mark.parametrize("values", [2, [0, 1, 3], [-1], [0.5], "1"])
def test_binary_values_are_bits(values):
    with pytest.raises(DataError, match="bits"):
        BinarySum.calibrate(users=1000, epsilon=1, delta=1e-6).randomize(values)


def test_foreign_messages_are_refused():
    with pytest.raises(DataError, match="message is not a bin"):
        Histogram.calibrate(**GOOD).tally([3, 11])
    with pytest.raises(DataError, match="every message of this protocol is a 1"):
        BinarySum.calibrate(users=1000, epsilon=1, delta=1e-6).tally([1, 2])
    with pytest.raises(DataError, match="one flat array"):
        shuffle(np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ({0: 999}, "add up to 999"),
        ({0: 1001, 1: -1}, "negative"),
        ([1000], "each of the 10 bins"),
        (np.full(10, 100.0), "each of the 10 bins"),
        ({10: 1000}, "not between 0 and 9"),
        ({-1: 1000}, "not between 0 and 9"),
        ({str(k): 100 for k in range(5)} | dict.fromkeys(range(10), 50), "only 10 bins"),
        (Tally(np.array([0, 0]), np.array([500, 500])), "twice"),
    ],
)
def test_bad_counts(counts, reason):
    with pytest.raises(DataError, match=reason):
        Histogram.calibrate(**GOOD).sample_tally(counts)


def test_bad_reports():
    protocol = Histogram.calibrate(**GOOD)
    tally = protocol.tally(protocol.randomize(np.zeros(1000, dtype=int)))
    with pytest.raises(ParameterError, match="reports=1001 exceeds users=1000"):
        protocol.estimate(tally, reports=1001)
    with pytest.raises(DataError, match="do not fit 900 people in 10 bins"):
        protocol.estimate(tally, reports=900)
    sums = BinarySum.calibrate(users=1000, epsilon=1, delta=1e-6)
    with pytest.raises(DataError, match="more messages than 300 people"):
        sums.estimate(sums.tally(sums.randomize(np.ones(1000, dtype=int))), reports=300)


def test_a_partly_sampled_tally_has_no_unbiased_estimate():
    protocol = Histogram.calibrate(**GOOD)
    tally = protocol.sample_tally({0: 1000})
    assert not tally.complete
    with pytest.raises(DataError, match="count of every bin"):
        replace(protocol, truncated=False).estimate(tally)
    assert protocol.sample_tally([1000, *[0] * 9]).complete


def test_domain_and_bins_must_agree():
    protocol = Histogram.calibrate(**GOOD)
    with pytest.raises(ParameterError, match="11 labels"):
        protocol.estimate(protocol.sample_tally({0: 1000}), domain=Domain.range(11))


def test_empty_data():
    protocol = Histogram.calibrate(**GOOD)
    assert protocol.randomize([]).size == 0
    assert shuffle([]).size == 0
    assert protocol.tally([]).total == 0
    assert BinarySum.calibrate(users=1000, epsilon=1, delta=1e-6).randomize([]).size == 0
    with pytest.raises(DataError, match="0 messages do not fit 1000 people"):
        protocol.estimate(protocol.tally([]))


def test_one_person_at_a_time_equals_many():
    protocol = BinarySum.calibrate(users=500, epsilon=1, delta=1e-6)
    messages = shuffle([protocol.randomize(bit) for bit in [1] * 200 + [0] * 300])
    assert protocol.estimate(protocol.tally(messages), reports=500)[1] == pytest.approx(200, abs=60)


def test_run_reads_a_histogram_from_messages():
    protocol = Histogram.calibrate(users=2000, bins=6, epsilon=1, delta=1e-6)
    estimate = run(protocol, np.repeat([0, 5], [1500, 500]))
    assert estimate[0] == pytest.approx(1500, abs=60)
    assert estimate[5] == pytest.approx(500, abs=60)
    assert estimate[3] == 0


@pytest.mark.parametrize("bins", [1, 2, 255, 256, 257, 65_537])
def test_message_types_hold_every_bin(bins):
    protocol = Histogram(users=2, bins=bins, missing_probability=2.0**-6)
    messages = protocol.randomize([bins - 1, 0])
    assert messages.max() == bins - 1
    assert protocol.tally(messages).total == messages.size


def test_costs_of_huge_domains():
    protocol = Histogram(users=1000, bins=2 * math.factorial(1000), missing_probability=2.0**-5)
    assert protocol.messages_per_user.expected == math.inf
    assert protocol.messages_per_user.maximum == 1 + 2 * math.factorial(1000)
    assert protocol.bits_per_message == 8531
    with pytest.raises(ParameterError, match="too many to send messages"):
        protocol.randomize(0)


def test_two_to_the_64_bins_and_beyond():
    for bins in (2**64, 2 * math.factorial(1000)):
        protocol = Histogram.calibrate(users=10**5, bins=bins, epsilon=1, delta=1e-6)
        counts = {bins - 1: 60_000, 2**63: 39_990, "label": 10}
        estimate = protocol.estimate(protocol.sample_tally(counts))
        assert estimate[bins - 1] == pytest.approx(60_000, abs=80)
        assert estimate[2**63] == pytest.approx(39_990, abs=80)
        assert protocol.error(0.05).simultaneous < 80
        assert replace(protocol, truncated=False).error(0.05).simultaneous <= 10**5


def test_unbiased_error_of_an_astronomical_domain_is_the_largest_possible():
    protocol = Histogram(users=100, bins=2 * math.factorial(1000), missing_probability=0.25, truncated=False)
    assert protocol.error(0.05).simultaneous == 75


def test_a_bound_that_tails_cannot_resolve_is_the_largest_possible_error():
    """Among 2^1000 bins some noise is beyond any window: only the largest value is sure."""
    protocol = DummyHistogram.calibrate(users=10**4, bins=2**1000, epsilon=1, delta=1e-6)
    assert protocol.error(0.05).simultaneous == pytest.approx(10**4 - protocol.noise.mean)
    assert DummyHistogram.calibrate(users=10**4, bins=2**60, epsilon=1, delta=1e-6).error(0.05).simultaneous < 200


def test_sums_have_one_bin():
    with pytest.raises(ParameterError, match="bins=1"):
        BinarySum.calibrate(users=1000, bins=5, epsilon=1, delta=1e-6)


def test_error_does_not_grow_with_bins():
    errors = {
        bins: Histogram.calibrate(users=10**6, bins=bins, epsilon=1, delta=1e-6).error(0.05).simultaneous
        for bins in (10**5, 10**6, 2**64, 2 * math.factorial(1000))
    }
    assert len(set(errors.values())) == 1


def test_tally_accepts_counts_in_any_form():
    protocol = Histogram.calibrate(**GOOD)
    rng = np.random.default_rng
    dense = protocol.sample_tally([500, 500, *[0] * 8], rng=rng(1))
    mapping = protocol.sample_tally({0: 500, 1: 500, **dict.fromkeys(range(2, 10), 0)}, rng=rng(1))
    tally = protocol.sample_tally(Tally.of(np.repeat([0, 1], 500)), rng=rng(1))
    assert dense == mapping
    assert dense.counts[:2].tolist() == tally.counts.tolist()


def test_public_surface():
    assert sorted(shuffledp.__all__) == shuffledp.__all__
    for name in shuffledp.__all__:
        assert getattr(shuffledp, name) is not None
    assert dir(shuffledp) == shuffledp.__all__
    with pytest.raises(AttributeError, match="RandomizedResponse"):
        _ = shuffledp.RandomizedResponse


def test_value_counts_of_pandas_are_a_mapping():
    counts = pandas.Series([3] * 600 + [1] * 400).value_counts()
    protocol = Histogram.calibrate(users=1000, bins=5, epsilon=1, delta=1e-6)
    estimate = protocol.estimate(protocol.sample_tally(counts))
    assert estimate.symbols.tolist() == [1, 3]
    assert estimate[3] == pytest.approx(600, abs=40)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda p: p.estimate({0: 3}), "needs a tally, got dict"),
        (lambda p: p.estimate(np.array([1, 2])), "needs a tally, got ndarray"),
        (lambda p: p.estimate(p.sample_tally({0: 1000}), domain=["a"]), "domain must be a Domain"),
        (lambda p: p.tally(5), "messages must be"),
        (lambda p: shuffle(None), "messages must be"),
        (lambda p: p.randomize(np.zeros((3, 1), dtype=int)), "flat array"),
        (lambda p: Domain.range(5).encode(3), "many values are needed"),
        (lambda p: Domain.of("abc"), "many values are needed"),
        (lambda p: Domain.of(None), "many values are needed"),
        (lambda p: Domain.of([[1], [2]]), "hashable"),
        (lambda p: Domain.of(["a", "b"]).encode("ab"), "many values are needed"),
        (lambda p: Domain.of(["a"]).decode(["a"]), "implicit domain"),
        (lambda p: Domain.range(3).decode(["a"]), "implicit domain"),
        (lambda p: Histogram.published(users=10, bins=2, epsilon=2.1, delta=0.6), r"epsilon=2\.1 is above 2"),
    ],
)
def test_plain_misuse_gets_a_clear_error(call, reason):
    with pytest.raises(ShuffledpError, match=reason):
        call(Histogram.calibrate(**GOOD))


def test_almost_no_noise_can_be_calibrated_and_sampled():
    tiny = BinarySum.calibrate(users=1000, epsilon=1, delta=0.7)
    assert tiny.noise.mean < 1
    assert tiny.sample_tally(3).total in range(990, 1004)
    assert BinarySum.calibrate(users=10**12, epsilon=1, delta=0.99999).missing_probability == 2.0**-53


@pytest.mark.slow
def test_the_largest_documented_noise_is_feasible():
    protocol = Histogram.calibrate(users=10**12, bins=100, epsilon=1e-3, delta=1e-20)
    assert protocol.error(0.05).simultaneous > 10**7

"""Every protocol is audited as a black box; planted faults are found.

An audit accuses a correct mechanism with probability at most 1 - CONFIDENCE = 1e-4. Fewer than twenty correct ones
are audited here, under fixed seeds, so that a change of the code that redraws them all fails by bad luck less than once
in 500 times.
"""

import math
from dataclasses import is_dataclass

import numpy as np
import pytest
from scipy.stats import beta, binom

import shuffledp
from shuffledp import BinarySum, DataError, DummyHistogram, Histogram, ParameterError, SparseHistogram, audit
from shuffledp.accounting.confidence import lower_bound, upper_bound
from shuffledp.noise.binomial import round_up_to_grid
from shuffledp.protocols import (
    AmplifiedOracle,
    BassilySmith,
    BlanketHistogram,
    BlanketSum,
    HadamardResponse,
    LaplaceHistogram,
    LocalHashing,
    PrivateCoinHistogram,
    PublicCoinHistogram,
    RandomizedResponse,
    RealSum,
    StabilityHistogram,
    UnaryEncoding,
)
from shuffledp.protocols.local import bassily_smith
from shuffledp.verification.audit.black_box import audit_outputs, released_counts, shuffled_messages, tallied_messages

CONFIDENCE = 1 - 1e-4


def datasets(users, *, others=0, mine=0, instead=1):
    """One person, the first, holds another value."""
    return (np.array([value] + [others] * (users - 1)) for value in (mine, instead))


def audited(mechanism, pair, *, delta, trials, seed=0):
    return audit(mechanism, *pair, trials=trials, delta=delta, confidence=CONFIDENCE, rng=np.random.default_rng(seed))


# correct protocols ------------------------------------------------------------------------------------------------

SHUFFLED = {
    BinarySum: BinarySum(users=12, missing_probability=0.25),
    Histogram: Histogram(users=12, bins=3, missing_probability=0.25),
    SparseHistogram: SparseHistogram.calibrate(users=12, bins=3, epsilon=1, delta=0.05),
    DummyHistogram: DummyHistogram.calibrate(users=12, bins=3, epsilon=1, delta=0.05, dummies="poisson"),
    BlanketSum: BlanketSum(users=60, flip_probability=2.0**-4),
    BlanketHistogram: BlanketHistogram(users=12, bins=3, flip_probability=0.125),
    PublicCoinHistogram: PublicCoinHistogram.calibrate(users=30, bins=4, epsilon=1, delta=0.05, rows=2, width=4),
    PrivateCoinHistogram: PrivateCoinHistogram.calibrate(users=12, bins=3, epsilon=1, delta=0.05, elements=2),
    RealSum: RealSum.calibrate(users=30, epsilon=1, delta=0.01, scale=1),
    AmplifiedOracle: AmplifiedOracle.calibrate(users=200, bins=3, epsilon=1, delta=0.05, kind=RandomizedResponse),
}
CENTRAL = {
    LaplaceHistogram: LaplaceHistogram.published(users=6, bins=3, epsilon=1),
    StabilityHistogram: StabilityHistogram.calibrate(users=6, bins=3, epsilon=1, delta=0.05),
}
LOCAL = {
    kind: kind(users=1, bins=3, epsilon=1)
    for kind in (RandomizedResponse, UnaryEncoding, HadamardResponse, LocalHashing, BassilySmith)
}


def view(protocol):
    """What is looked at: the shuffled messages, but for shares, which say nothing one by one, their sum."""
    return tallied_messages(protocol) if isinstance(protocol, RealSum) else shuffled_messages(protocol)


def test_every_protocol_is_audited():
    offered = {getattr(shuffledp, name) for name in shuffledp.__all__}
    protocols = {
        kind for kind in offered if is_dataclass(kind) and (hasattr(kind, "randomize") or hasattr(kind, "release"))
    }
    tables = {shuffledp.FiniteRandomizer}
    assert protocols - tables == {*SHUFFLED, *CENTRAL, *LOCAL}


@pytest.mark.parametrize("kind", SHUFFLED, ids=lambda kind: kind.__name__)
def test_shuffled_protocols_are_not_accused(kind):
    protocol, delta = SHUFFLED[kind], 0.05
    result = audited(view(protocol), datasets(protocol.users), delta=delta, trials=1500)
    assert not result.accuses(protocol.privacy.epsilon(delta))


@pytest.mark.parametrize("kind", SHUFFLED, ids=lambda kind: kind.__name__)
def test_people_without_noise_are_found(kind):
    """The same protocols, where all but one send nothing that hides the one: the promise counts on their noise."""
    protocol, delta = SHUFFLED[kind], 0.05

    def faulty(values, *, rng):
        return view(protocol)(values[:1], rng=rng)

    result = audited(faulty, datasets(protocol.users), delta=delta, trials=2000)
    assert result.accuses(protocol.privacy.epsilon(delta))


@pytest.mark.parametrize("kind", CENTRAL, ids=lambda kind: kind.__name__)
def test_central_protocols_are_not_accused(kind):
    protocol = CENTRAL[kind]
    pair = datasets(protocol.users, mine=1, instead=0)
    result = audited(released_counts(protocol), pair, delta=protocol.guarantee.delta, trials=2000)
    assert not result.accuses(protocol.guarantee.epsilon)


def single_reports(protocol, value, trials, rng):
    """As many outputs of one person; of a report with a hash, the bins that it supports."""
    reports = protocol.randomize(np.full(trials, value), rng=rng)
    bins = np.arange(protocol.bins, dtype=np.uint64)
    count = {LocalHashing: getattr(protocol, "_in_cell", None), BassilySmith: bassily_smith._agreeing}
    if type(protocol) in count:
        return [dict(enumerate(count[type(protocol)](reports[i : i + 1], bins))) for i in range(trials)]
    return reports.reshape(trials, 1)


@pytest.mark.parametrize("kind", LOCAL, ids=lambda kind: kind.__name__)
def test_local_protocols_are_not_accused(kind):
    rng = np.random.default_rng(1)
    outputs = (single_reports(LOCAL[kind], value, 20_000, rng) for value in (0, 1))
    result = audit_outputs(*outputs, confidence=CONFIDENCE)
    assert not result.accuses(1.0)
    assert result.epsilon > 0.8  # all of these are tight


def test_a_tally_of_reports_can_be_audited():
    result = audited(tallied_messages(LOCAL[HadamardResponse]), datasets(1), delta=0.0, trials=1500)
    assert 0.1 < result.epsilon <= 1


# planted faults ---------------------------------------------------------------------------------------------------


def test_noise_that_is_30_percent_too_small_is_found():
    """In P^hist: 0.7 times the standard deviation of the missing messages."""
    claimed, delta = SHUFFLED[Histogram], 0.05
    faulty = Histogram(users=12, bins=3, missing_probability=round_up_to_grid(0.49 * claimed.missing_probability))
    result = audited(shuffled_messages(faulty), datasets(12), delta=delta, trials=4000)
    assert result.accuses(claimed.privacy.epsilon(delta))


def test_central_noise_that_is_30_percent_too_small_is_found():
    faulty = LaplaceHistogram.published(users=6, bins=3, epsilon=1 / 0.7)
    result = audited(released_counts(faulty), datasets(6), delta=0.0, trials=5000)
    assert result.accuses(CENTRAL[LaplaceHistogram].guarantee.epsilon)


def test_a_bin_without_noise_is_found():
    protocol, delta = SHUFFLED[Histogram], 0.05

    def faulty(values, *, rng):
        messages = protocol.randomize(values, rng=rng)
        silent = np.zeros(protocol.users + np.count_nonzero(values == 0), dtype=messages.dtype)
        return shuffledp.shuffle(np.concatenate([messages[messages != 0], silent]), rng=rng)

    result = audited(faulty, datasets(12), delta=delta, trials=1500)
    assert result.accuses(protocol.privacy.epsilon(delta))
    assert "number" in result.event


def test_a_biased_coin_is_found():
    faulty = RandomizedResponse(users=1, bins=3, epsilon=1.3)
    rng = np.random.default_rng(2)
    result = audit_outputs(*(single_reports(faulty, v, 20_000, rng) for v in (0, 1)), confidence=CONFIDENCE)
    assert result.accuses(1.0)


def test_a_bit_that_is_left_as_it_is_is_found():
    rng, protocol = np.random.default_rng(3), LOCAL[UnaryEncoding]

    def outputs(value):
        reports = protocol.randomize(np.full(3000, value), rng=rng)
        bits = np.unpackbits(reports.view(np.uint8)).reshape(3000, 8)
        bits[:, 0] = value == 0
        return np.packbits(bits, axis=1).view(reports.dtype)

    assert audit_outputs(outputs(0), outputs(1), confidence=CONFIDENCE).accuses(3.0)


@pytest.mark.parametrize("kind", [AmplifiedOracle, Histogram], ids=lambda kind: kind.__name__)
def test_a_shuffler_that_keeps_order_is_found(kind):
    enough = Histogram(users=40, bins=3, missing_probability=0.25)  # others hide more than a person's own noise
    protocol, delta = enough if kind is Histogram else SHUFFLED[kind], 0.05
    result = audited(protocol.randomize, datasets(protocol.users), delta=delta, trials=1500)
    assert result.accuses(protocol.privacy.epsilon(delta))
    assert "place" in result.event


# the audit itself -------------------------------------------------------------------------------------------------


def test_false_accusations_are_as_rare_as_stated():
    """At confidence 0.9, of 200 audits of a tight mechanism at most 10 % may accuse: more than 45 has chance 1e-7."""
    rng = np.random.default_rng(4)
    accused = 0
    for _ in range(200):
        outputs = (single_reports(LOCAL[RandomizedResponse], value, 240, rng) for value in (0, 1))
        accused += audit_outputs(*outputs, confidence=0.9).accuses(1.0)
    assert accused <= 45


@pytest.mark.parametrize(("confidence", "audits"), [(0.9, 300), (0.5, 150)])
def test_what_chooses_the_event_does_not_count_it(confidence, audits):
    """A mechanism that ignores its input is accused with chance 1 - confidence at most: a binomial number of times.

    Counting the event on the outputs that chose it among 40 symbols accuses in most of these audits.
    """
    accused = 0
    for seed in range(audits):
        outputs = np.random.default_rng(seed).integers(0, 40, size=(2, 300, 1))
        accused += audit_outputs(*outputs, confidence=confidence).accuses(0.0)
    assert accused <= binom.isf(1e-6, audits, 1 - confidence)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.9999])
def test_the_bounds_fail_together_as_rarely_as_the_confidence_says(confidence):
    """A bit that tells all: the event happens in all of the 200 outputs that count it, and in none of the others.

    Each bound may fail with half of 1 - confidence: L = failure^(1/200) and U = 1 - L.
    """
    outputs = (np.full((300, 1), value) for value in (0, 1))
    result = audit_outputs(*outputs, confidence=confidence)
    low = ((1 - confidence) / 2) ** (1 / 200)
    assert result.likely == pytest.approx(low, rel=1e-6)
    assert result.unlikely == pytest.approx(1 - low, rel=1e-6)
    assert result.epsilon == pytest.approx(math.log(low / (1 - low)), rel=1e-6)


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (1, 10), (5, 10), (10, 10), (3, 4000), (3900, 4000)])
@pytest.mark.parametrize("failure", [0.05, 1e-7])
def test_confidence_bounds_are_those_of_clopper_and_pearson(successes, trials, failure):
    low = beta.ppf(failure, successes, trials - successes + 1) if successes else 0
    high = beta.isf(failure, successes + 1, trials - successes) if successes < trials else 1
    assert lower_bound(successes, trials, failure=failure) == pytest.approx(low, rel=1e-6)
    assert lower_bound(successes, trials, failure=failure) <= low
    assert upper_bound(successes, trials, failure=failure) == pytest.approx(high, rel=1e-6)
    assert upper_bound(successes, trials, failure=failure) >= high


def test_the_same_seed_gives_the_same_audit():
    mechanism = shuffled_messages(SHUFFLED[BinarySum])
    first, second = (audited(mechanism, datasets(12), delta=0.05, trials=300, seed=7) for _ in range(2))
    assert first == second
    assert "epsilon >=" in str(first)


def test_a_mechanism_that_ignores_its_input_is_never_accused():
    result = audited(lambda values, *, rng: rng.integers(0, 3, size=5), datasets(5), delta=0.0, trials=2000)
    assert result.epsilon < 0.2
    assert math.isfinite(result.epsilon)


@pytest.mark.parametrize(
    ("pair", "options", "reason"),
    [
        (([0, 1], [1, 0]), {}, "exactly one person"),
        (([0, 1], [0, 1]), {}, "exactly one person"),
        (([0, 1], [0]), {}, "equally long"),
        (([0], [1]), {"trials": 5}, "trials"),
        (([0], [1]), {"confidence": 1.0}, "confidence"),
        (([0], [1]), {"delta": -0.1}, "delta"),
    ],
)
def test_wrong_questions_are_refused(pair, options, reason):
    with pytest.raises(ParameterError, match=reason):
        audit(LOCAL[RandomizedResponse].randomize, *pair, **{"trials": 100, **options})


def test_outputs_that_cannot_be_compared_are_refused():
    with pytest.raises(DataError, match="flat"):
        audit(lambda values, *, rng: np.zeros((2, 2)), [0], [1], trials=100)
    with pytest.raises(ParameterError, match="successes"):
        lower_bound(3, 2, failure=0.1)


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ({"a": math.nan}, "finite"),
        ({"a": math.inf}, "finite"),
        ({"a": "many"}, "numbers"),
        ({"a": [1, 2]}, "numbers"),
        ([[1], [1, 2]], "flat"),
        (np.array([{}, []], dtype=object), "flat"),
        ([0.5, math.nan], "NaN"),
        (7, "flat"),
    ],
)
def test_outputs_that_say_nothing_are_refused(output, reason):
    with pytest.raises(DataError, match=reason):
        audit_outputs([output] * 100, [output] * 100)


def test_outputs_of_two_kinds_are_refused():
    with pytest.raises(DataError, match="all mappings"):
        audit_outputs([{"a": 1}] * 100, [[1]] * 100)


@pytest.mark.parametrize("wrong", [{"delta": 1.0}, {"delta": math.nan}, {"confidence": 0.0}, {"confidence": "high"}])
def test_wrong_questions_cost_no_runs(wrong):
    def mechanism(values, *, rng):
        raise AssertionError

    with pytest.raises(ParameterError, match=next(iter(wrong))):
        audit(mechanism, [0], [1], **wrong)

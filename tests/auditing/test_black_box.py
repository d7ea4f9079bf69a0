"""The audit itself: how often it accuses, what it chooses, and what it refuses."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp import BinarySum, DataError, ParameterError, audit
from shuffledp.auditing.black_box import audit_outputs, shuffled_messages
from shuffledp.protocols.local import RandomizedResponse
from tests.oracles.audits import audited, datasets, single_reports

RESPONSE = RandomizedResponse(users=1, bins=3, epsilon=1)


@pytest.mark.slow
def test_false_accusations_are_as_rare_as_stated():
    """At confidence 0.9, of 100 audits of a tight mechanism at most 10 % may accuse: more than 28 has chance 1e-7."""
    rng = np.random.default_rng(4)
    accused = 0
    for _ in range(100):
        outputs = (single_reports(RESPONSE, value, 240, rng) for value in (0, 1))
        accused += audit_outputs(*outputs, confidence=0.9).accuses(1.0)
    assert accused <= 28


@pytest.mark.slow
@pytest.mark.parametrize(("confidence", "audits"), [(0.9, 100), (0.5, 60)])
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


def test_the_same_seed_gives_the_same_audit():
    mechanism = shuffled_messages(BinarySum(users=12, missing_probability=0.25))
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
        audit(RESPONSE.randomize, *pair, **{"trials": 100, **options})


def test_outputs_that_cannot_be_compared_are_refused():
    with pytest.raises(DataError, match="flat"):
        audit(lambda values, *, rng: np.zeros((2, 2)), [0], [1], trials=100)


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

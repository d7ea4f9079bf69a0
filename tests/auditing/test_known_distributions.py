"""What an audit finds in outputs whose distribution is known, whichever dataset the telling event is likelier on.

Each assertion fails on correct code with a probability of at most 1e-6, under fixed seeds.
"""

import math

import numpy as np
import pytest

from shuffledp.auditing.black_box import audit_outputs

TRIALS = 3000


def bits(probability, rng):
    return (rng.random((TRIALS, 1)) < probability).astype(int)


@pytest.mark.parametrize("swapped", [False, True])
def test_an_event_is_found_on_either_dataset(swapped):
    """A one in 40 per cent and in 1 per cent of the outputs; the zeros say nothing: their ratio is below 1.7."""
    rng = np.random.default_rng(95)
    outputs = [bits(0.4, rng), bits(0.01, rng)]
    found = audit_outputs(*(outputs[::-1] if swapped else outputs), confidence=1 - 1e-6).epsilon
    assert 2 < found <= math.log(40)


def test_delta_is_no_leak():
    """An outcome that reveals a person with probability delta is allowed; the same with a far smaller delta is not."""
    rng = np.random.default_rng(96)
    outputs = [bits(0.3, rng), bits(0.0, rng)]
    assert not audit_outputs(*outputs, delta=0.3, confidence=1 - 1e-6).accuses(0.2)
    assert audit_outputs(*outputs, delta=0.01, confidence=1 - 1e-6).accuses(0.2)

"""When a statement holds: to the last digit."""

import math

import pytest

from shuffledp.verification.statements.verdict import ENUMERATED, Verdict


@pytest.mark.parametrize("claimed", [1e-6, 1.0, 42.0])
def test_a_claim_that_is_missed_by_a_hair_does_not_hold(claimed):
    words = {"statement": "a", "claim": "b", "basis": ENUMERATED}
    above, below = math.nextafter(claimed, math.inf), math.nextafter(claimed, 0)
    assert [Verdict.at_most(claimed=claimed, exact=exact, **words).holds for exact in (below, claimed, above)] == [
        True,
        True,
        False,
    ]
    assert [Verdict.at_least(claimed=claimed, exact=exact, **words).holds for exact in (below, claimed, above)] == [
        False,
        True,
        True,
    ]

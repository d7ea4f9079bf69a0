"""How often a report is of a kind that two values send with different probabilities, on which amplification rests."""

import pytest

from shuffledp.protocols.local import HadamardResponse, RandomizedResponse, UnaryEncoding


@pytest.mark.parametrize("bins", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("kind", [RandomizedResponse, UnaryEncoding, HadamardResponse])
def test_telling_is_the_probability_of_reports_that_differ(kind, bins, epsilon):
    oracle = kind(users=10, bins=bins, epsilon=epsilon)
    one, other = oracle.randomizer_distribution(0), oracle.randomizer_distribution(bins - 1)
    telling = float(sum(p for report, p in one.items() if p != other[report]))
    assert telling * (1 - 1e-15) <= oracle.telling <= telling * (1 + 1e-9) + 1e-15

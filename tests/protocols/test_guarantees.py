"""A guarantee is given where the curve gives it, and not a little beyond."""

from dataclasses import replace

import pytest

from shuffledp.accounting import Guarantee
from shuffledp.protocols import Histogram
from shuffledp.protocols.target import kept


@pytest.mark.parametrize(("factor", "holds"), [(1.01, True), (0.99, False), (0.6, False)])
def test_a_delta_that_is_missed_by_one_per_cent_is_missed(factor, holds):
    protocol = Histogram(users=1000, bins=4, missing_probability=0.125)
    promised = Guarantee(epsilon=1.0, delta=factor * protocol.privacy.delta(1.0), basis="a test")
    assert kept(promised, protocol.privacy) == holds
    assert (replace(protocol, guarantee=promised)._as_kept.guarantee == promised) == holds

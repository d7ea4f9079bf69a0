"""A value whose counts an empty one can have is never shown; one more message, and it is."""

import numpy as np
import pytest

from shuffledp.histogram.tally import Tally
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.protocols import Histogram, SparseHistogram, StabilityHistogram

HISTOGRAM = Histogram(users=100, bins=4, missing_probability=0.25)
SPARSE = SparseHistogram.calibrate(users=100, bins=4, epsilon=1, delta=1e-3)
STABILITY = StabilityHistogram(users=100, bins=4, noise=DiscreteLaplace(decay=0.5), threshold=20)


@pytest.mark.parametrize(
    ("protocol", "counts"),
    [
        (HISTOGRAM, [99, 100, 101, 102]),
        (SPARSE, [[49, 50], [50, 50], [51, 50], [52, 50]]),
        (STABILITY, [18, 19, 20, 21]),
    ],
    ids=["hist", "sparse", "stability"],
)
def test_a_count_that_an_empty_value_can_have_is_hidden(protocol, counts):
    shown = protocol.estimator.statistic(Tally(np.arange(4), np.array(counts), complete=False))
    assert shown.symbols.tolist() == [2, 3]

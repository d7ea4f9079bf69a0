"""One module per protocol, named for what it does."""

from shuffledp.protocols.binary_sum import BinarySum
from shuffledp.protocols.blanket_histogram import BlanketHistogram
from shuffledp.protocols.blanket_sum import BlanketSum
from shuffledp.protocols.dummy_histogram import DummyHistogram
from shuffledp.protocols.estimators import ErrorBound
from shuffledp.protocols.histogram import Histogram
from shuffledp.protocols.private_coin import PrivateCoinHistogram
from shuffledp.protocols.release import MessageCount
from shuffledp.protocols.sparse_histogram import SparseHistogram

__all__ = [
    "BinarySum",
    "BlanketHistogram",
    "BlanketSum",
    "DummyHistogram",
    "ErrorBound",
    "Histogram",
    "MessageCount",
    "PrivateCoinHistogram",
    "SparseHistogram",
]

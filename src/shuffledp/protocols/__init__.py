"""One module per protocol, named for what it does."""

from shuffledp.protocols.release import MessageCount
from shuffledp.protocols.shuffled.blanket import BlanketHistogram
from shuffledp.protocols.shuffled.dummy import DummyHistogram
from shuffledp.protocols.shuffled.histogram import Histogram
from shuffledp.protocols.shuffled.private_coin.histogram import PrivateCoinHistogram
from shuffledp.protocols.shuffled.sparse.histogram import SparseHistogram
from shuffledp.protocols.sums.binary_sum import BinarySum
from shuffledp.protocols.sums.blanket_sum import BlanketSum
from shuffledp.reading.reading import ErrorBound

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

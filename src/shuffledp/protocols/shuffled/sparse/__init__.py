"""Our own protocol: a few messages per person, no value reported that nobody holds."""

from shuffledp.protocols.shuffled.sparse.histogram import SparseHistogram

__all__ = ["SparseHistogram"]

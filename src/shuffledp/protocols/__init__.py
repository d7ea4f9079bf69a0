"""Histogram protocols: the interface (protocol.py), base classes (base.py), the catalogue and the classes.

Each class is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shuffledp.lazy_import import lazy_names

if TYPE_CHECKING:
    from shuffledp.protocols.catalogue import CATALOGUE, Entry
    from shuffledp.protocols.central import LaplaceHistogram, StabilityHistogram
    from shuffledp.protocols.free_text import FreeText, TextChoices, TextPlan
    from shuffledp.protocols.local import (
        BassilySmith,
        HadamardResponse,
        LocalHashing,
        RandomizedResponse,
        UnaryEncoding,
    )
    from shuffledp.protocols.protocol import HistogramProtocol, MessageCount, MessageProtocol
    from shuffledp.protocols.ranges import Ranges
    from shuffledp.protocols.shuffled.amplified import AmplifiedOracle
    from shuffledp.protocols.shuffled.blanket import BlanketHistogram, BlanketSum
    from shuffledp.protocols.shuffled.dummy import DummyHistogram
    from shuffledp.protocols.shuffled.hashed import HashedHistogram
    from shuffledp.protocols.shuffled.histogram import Histogram
    from shuffledp.protocols.shuffled.private_coin import PrivateCoinHistogram
    from shuffledp.protocols.shuffled.public_coin import PublicCoinHistogram
    from shuffledp.protocols.shuffled.sparse import SparseHistogram
    from shuffledp.protocols.shuffled_histogram import ShuffledHistogram
    from shuffledp.protocols.sums.binary_sum import BinarySum
    from shuffledp.protocols.sums.real_sum import RealSum
    from shuffledp.protocols.target import Target

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "catalogue": (
            "CATALOGUE",
            "Entry",
        ),
        "central": (
            "LaplaceHistogram",
            "StabilityHistogram",
        ),
        "free_text": (
            "FreeText",
            "TextChoices",
            "TextPlan",
        ),
        "local": (
            "BassilySmith",
            "HadamardResponse",
            "LocalHashing",
            "RandomizedResponse",
            "UnaryEncoding",
        ),
        "protocol": (
            "HistogramProtocol",
            "MessageCount",
            "MessageProtocol",
        ),
        "ranges": ("Ranges",),
        "shuffled.amplified": ("AmplifiedOracle",),
        "shuffled.blanket": (
            "BlanketHistogram",
            "BlanketSum",
        ),
        "shuffled.dummy": ("DummyHistogram",),
        "shuffled.hashed": ("HashedHistogram",),
        "shuffled.histogram": ("Histogram",),
        "shuffled.private_coin": ("PrivateCoinHistogram",),
        "shuffled.public_coin": ("PublicCoinHistogram",),
        "shuffled.sparse": ("SparseHistogram",),
        "shuffled_histogram": ("ShuffledHistogram",),
        "sums.binary_sum": ("BinarySum",),
        "sums.real_sum": ("RealSum",),
        "target": ("Target",),
    },
)

__all__ = [
    "CATALOGUE",
    "AmplifiedOracle",
    "BassilySmith",
    "BinarySum",
    "BlanketHistogram",
    "BlanketSum",
    "DummyHistogram",
    "Entry",
    "FreeText",
    "HadamardResponse",
    "HashedHistogram",
    "Histogram",
    "HistogramProtocol",
    "LaplaceHistogram",
    "LocalHashing",
    "MessageCount",
    "MessageProtocol",
    "PrivateCoinHistogram",
    "PublicCoinHistogram",
    "RandomizedResponse",
    "Ranges",
    "RealSum",
    "ShuffledHistogram",
    "SparseHistogram",
    "StabilityHistogram",
    "Target",
    "TextChoices",
    "TextPlan",
    "UnaryEncoding",
]

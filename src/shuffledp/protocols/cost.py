"""What a protocol costs each person: how many messages, and of how many bits."""

from __future__ import annotations

import math
from typing import NamedTuple


class MessageCount(NamedTuple):
    """How many messages one person sends."""

    expected: float
    maximum: float

    @property
    def fixed(self) -> bool:
        """Whether everybody always sends the same number."""
        return self.expected == self.maximum < math.inf


def expected_messages(*, bins: int, noise_per_bin: float, values: int = 1) -> float:
    """One message for each value, and a person's noise in every bin; infinite where no float can hold it."""
    try:
        return values + bins * noise_per_bin
    except OverflowError:
        return math.inf


def bits_to_name(bins: int) -> int:
    """Bits that tell this number of bins apart."""
    return max(1, (bins - 1).bit_length())

"""What a law is here: a table from outcomes to exact probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

Messages = tuple[Any, ...]
"""A multiset of messages, as a sorted tuple."""

Law = Mapping[Any, Fraction]
"""From outcomes to probabilities."""


@runtime_checkable
@runtime_checkable
class EnumerableProtocol(Protocol):
    """A protocol that can list the exact law of one person's messages."""

    def randomizer_law(self, value: int) -> Law:
        """From sorted messages to probabilities."""

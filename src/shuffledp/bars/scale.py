"""The axis of the bars: linear, or logarithmic where a linear one would hide most of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

_SLIVER = 1 / 20
"""Of the longest bar: shorter ones cannot be told apart on a telephone."""

_MOST_SLIVERS = 1 / 4
"""Of the bars of values that somebody surely holds; with more of them the axis is logarithmic."""

_MOST_STEPS = 5
"""Between the marks of an axis, so that their numbers fit the width of a telephone."""


class Bar(Protocol):
    """What is drawn of a value: its label, the estimate, and the ends of the interval."""

    @property
    def label(self) -> Any:
        """Whatever people hold."""

    @property
    def count(self) -> float:
        """The estimate."""

    @property
    def low(self) -> int:
        """The lower end of the interval."""

    @property
    def high(self) -> int:
        """The upper end of the interval."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Numbers of people from `low` to `high` on an axis, with a mark at every `step`: a sum, or a factor."""

    low: float
    high: float
    step: float
    logarithmic: bool

    @classmethod
    def of(cls, bars: Sequence[Bar]) -> Scale:
        """The axis on which these bars can be seen."""
        counts = [bar.count for bar in bars if bar.count > 0]
        high = max([1.0, *(float(bar.high) for bar in bars), *counts])
        longest = max(counts, default=1.0)
        held = [bar.count for bar in bars if bar.low > 0]  # noise around 0 says nothing on any axis
        slivers = sum(count < _SLIVER * longest for count in held)
        if slivers <= _MOST_SLIVERS * len(held):
            return cls(low=0.0, high=high, step=float(round_step(high, steps=_MOST_STEPS)), logarithmic=False)
        # the shortest bar is a third of a decade long, but for bars of one or two people
        first = max(0, math.floor(math.log10(max(min(counts), 1.0) / 2)))
        decades = math.log10(high) - first
        return cls(low=10.0**first, high=high, step=10.0 ** math.ceil(decades / _MOST_STEPS), logarithmic=True)

    def place(self, people: float) -> float:
        """Where a number of people lies, as a share of the axis; the ends for what lies beyond."""
        if self.logarithmic:
            at = math.log(max(people, self.low) / self.low) / math.log(self.high / self.low)
        else:
            at = (people - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, at))

    @property
    def marks(self) -> list[float]:
        """The numbers that stand at the axis."""
        found, at = [], self.low
        while at <= self.high * (1 + 1e-9):
            found.append(at)
            at = at * self.step if self.logarithmic else at + self.step
        return found

    @property
    def name(self) -> str:
        """What the axis shows; that it is logarithmic is said."""
        return f"people; each line is {self.step:,.0f} times the one before" if self.logarithmic else "people"


def round_step(span: float, *, steps: int) -> int:
    """A whole step of the form 1, 2 or 5 times a power of ten, at most `steps` of which fit a span."""
    least = max(span / steps, 1.0)
    power = 10 ** math.floor(math.log10(least))
    return next(int(factor * power) for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))

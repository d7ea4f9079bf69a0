"""The multiset of a protocol with two symbols per bin, +j and -j."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError
from shuffledp.pipeline.tally import Tally, increasing


@dataclass(frozen=True)
class SignedTally:
    """How often each +j and each -j occurs; adds up over parts of the messages."""

    plus: Tally
    minus: Tally

    @classmethod
    def of_messages(cls, messages: Tally) -> SignedTally:
        """From the counts of messages, where 2j stands for +j and 2j + 1 for -j."""
        signs, numbers = messages.symbols % 2, (messages.symbols // 2).astype(np.int64)
        plus, minus = (Tally(numbers[signs == sign], messages.counts[signs == sign]) for sign in (0, 1))
        return cls(plus, minus)

    def __add__(self, other: SignedTally) -> SignedTally:
        if not isinstance(other, SignedTally):
            return NotImplemented
        return SignedTally(self.plus + other.plus, self.minus + other.minus)

    @classmethod
    def join(cls, parts: Iterable[SignedTally]) -> SignedTally:
        """Parts of one draw that list different bins, as one partly drawn tally."""
        listed = list(parts)
        plus, minus = (Tally.join(getattr(part, sign) for part in listed) for sign in ("plus", "minus"))
        return cls(plus, Tally(plus.symbols, minus.counts, complete=False))

    def pick(self, at: NDArray[np.int64], *, named: NDArray[Any]) -> SignedTally:
        """Some of the entries under other names; a partly drawn tally."""
        return SignedTally(self.plus.pick(at, named=named), self.minus.pick(at, named=named))

    @property
    def complete(self) -> bool:
        """Whether bins that are not listed occurred 0 times."""
        return self.plus.complete and self.minus.complete

    @property
    def total(self) -> int:
        """How many messages were counted."""
        return self.plus.total + self.minus.total

    def aligned(self) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
        """The bins with a plus, and how often +j and -j occur for each."""
        symbols, plus, minus = self.plus.symbols, self.plus.counts, self.minus
        if symbols is minus.symbols or np.array_equal(symbols, minus.symbols):
            return symbols, plus, minus.counts
        if not self.complete:
            raise DataError("a partly drawn tally must list the same bins with both signs")
        if increasing(symbols) and increasing(minus.symbols) and len(minus):
            at = np.minimum(np.searchsorted(minus.symbols, symbols), len(minus) - 1)
            return symbols, plus, np.where(minus.symbols[at] == symbols, minus.counts[at], 0)
        found = minus.as_dict()
        return symbols, plus, np.array([found.get(symbol, 0) for symbol in symbols.tolist()], dtype=np.int64)

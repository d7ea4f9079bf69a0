"""A small instance of a protocol, beside the law of what one person sends, straight from the protocol's definition.

Nothing here asks the protocol for its law. A law goes from outcomes to probabilities; where it has no end, what is
left out is below 1e-12. The outcome of one person is what `spell` makes of their messages, that of several people their
tally: the sum of what each one `adds`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.protocol import MessageProtocol
from shuffledp.reading.reading import Reading

FloatLaw = Mapping[Any, float]
Vector = tuple[int, ...]

EPSILON = 1.0
"""Of the local protocols and of RealSum."""
QUARTER = 0.25
"""How often noise is made, or left out, or a bit is flipped: so often that a few hundred draws show it."""
FEW = 4
"""People who are drawn together."""
NEGLIGIBLE = 1e-12
"""What is less likely is left out of laws that have no end."""


class Sampled(Protocol):
    """What is run of a protocol: a histogram, or a sum."""

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> Any:
        """The messages of one person or of many."""

    def tally(self, messages: Any, /) -> Tally:
        """The counts of messages."""

    def sample_tally(self, counts: Any, /, *, rng: np.random.Generator | None = None) -> Tally:
        """A tally drawn from its law."""

    def estimate(self, tally: Tally, *, beta: float = 0.05) -> Estimate:
        """What the tally says."""


@dataclass(frozen=True, kw_only=True)
class Specimen:
    """A small `protocol`, and what its people should send.

    `messages` goes from a value to the law of what one person with it sends, as `spell` spells it; `adds` from that to
    what it adds to the tally. `labels` are what an estimate reports: every bin, or the ones of a sum. `count` makes of
    a dataset what `sample_tally` is given, `reading` is how a tally is read, `kinds` how many kinds of messages a bin
    has. Of a sum of shares, `shares` is how many a person makes, and the tally is a number modulo `modulus`.
    """

    protocol: Sampled
    labels: tuple[int, ...]
    values: tuple[Any, ...]
    dataset: tuple[Any, ...]
    messages: Callable[[Any], FloatLaw]
    spell: Callable[[NDArray[Any]], Hashable]
    adds: Callable[[Any], Vector]
    reading: Reading | None
    count: Callable[[Sequence[Any]], Any] | None = None
    kinds: int = 1
    complete: bool = True
    law_of_tally: Callable[[Sequence[Any]], FloatLaw] | None = None
    shares: int | None = None
    modulus: int | None = None

    @property
    def counts(self) -> Any:
        """The dataset as `sample_tally` wants it."""
        return np.bincount(self.dataset, minlength=len(self.labels)) if self.count is None else self.count(self.dataset)

    @property
    def truth(self) -> tuple[float, ...]:
        """The true count of each label."""
        if len(self.labels) == 1:
            return (float(sum(self.dataset)),)
        return tuple(float(self.dataset.count(label)) for label in self.labels)

    def with_dataset(self, dataset: tuple[Any, ...]) -> Specimen:
        """The same for other people."""
        return replace(self, dataset=dataset)

    @cached_property
    def tally_law(self) -> FloatLaw:
        """The law of the tally of the dataset."""
        if self.law_of_tally is not None:
            return self.law_of_tally(self.dataset)
        together: dict[Vector, float] = {}
        for value in self.dataset:
            each = self.addition(value)
            together = _sum_of(together, each) if together else dict(each)
        return together

    def addition(self, value: Any) -> FloatLaw:
        """The law of what one person with this value adds to the tally."""
        if self.law_of_tally is not None:
            return self.law_of_tally((value,))
        law: dict[Vector, float] = {}
        for messages, p in self.messages(value).items():
            added = self.adds(messages)
            law[added] = law.get(added, 0.0) + p
        return law


def of_bins(protocol: MessageProtocol, **definition: Any) -> Specimen:
    """The specimen of a histogram."""
    return Specimen(protocol=protocol, labels=tuple(range(protocol.bins)), reading=protocol.reading, **definition)


def _sum_of(one: FloatLaw, other: FloatLaw) -> dict[Vector, float]:
    law: dict[Vector, float] = {}
    for (x, p), (y, q) in product(one.items(), other.items()):
        both = tuple(a + b for a, b in zip(x, y, strict=True))
        law[both] = law.get(both, 0.0) + p * q
    return law


def sorted_numbers(messages: NDArray[Any]) -> Hashable:
    """Messages that are numbers, in any order."""
    return tuple(sorted(messages.tolist()))


def counts_of(symbols: int) -> Callable[[Any], Vector]:
    """How many messages there are of each symbol."""
    return lambda messages: tuple(messages.count(symbol) for symbol in range(symbols))

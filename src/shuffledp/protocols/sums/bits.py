"""What the sums of bits have in common: a histogram of one bin, how many people hold a 1."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.checks import whole
from shuffledp.errors import DataError, ParameterError
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.inputs import check_tally
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.base import BaseHistogram
from shuffledp.protocols.target import Target
from shuffledp.randomness import generator

_THE_ONES = Domain.of([1])


@dataclass(frozen=True, kw_only=True)
class SumOfBits(BaseHistogram):
    """A protocol for `users` people with a bit each."""

    bins: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bins != 1:
            raise ParameterError(f"a sum of bits has bins=1, got {self.bins}")

    @classmethod
    def calibrate(
        cls, *, users: int, epsilon: float, delta: float, bins: int = 1, honest_users: int | None = None, **choices: Any
    ) -> Self:
        """The least noise that makes the release (epsilon, delta)-private, with the `choices` of `for_target`."""
        target = Target(users=users, bins=bins, epsilon=epsilon, delta=delta, honest_users=honest_users)
        return cls.for_target(target, **choices)

    @classmethod
    def published(cls, *, users: int, epsilon: float, delta: float, bins: int = 1) -> Self:
        """The published parameters for (epsilon, delta)-privacy."""
        return cls.published_for(Target(users=users, bins=bins, epsilon=epsilon, delta=delta))

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[np.uint8]:
        """The messages of one person (a bit) or of many (an array of bits)."""
        bits = np.atleast_1d(np.asarray(values))
        check_bits(bits, "values")
        return self._send(bits, generator(rng))

    @abstractmethod
    def _send(self, bits: NDArray[Any], rng: np.random.Generator) -> NDArray[np.uint8]:
        """The messages of people with these bits."""

    @abstractmethod
    def tally(self, messages: ArrayLike) -> Tally:
        """How many messages are a 1."""

    def sample_tally(self, counts: Any, *, rng: np.random.Generator | None = None, part: bool = False) -> Tally:
        """A tally drawn from its exact law, without making messages; `counts` is how many people hold a 1."""
        ones = whole("ones", counts, minimum=0)
        if ones > self.users:
            raise DataError(f"there are more ones than {self.users} people")
        return replace(self._draw(Tally(np.array([1]), np.array([ones])), generator(rng)), drawn=True)

    def estimate(
        self,
        tally: Tally,
        *,
        beta: float = 0.05,
        reports: int | None = None,
        domain: Domain | None = None,
        forged: bool = False,
    ) -> Estimate:
        """The number of ones: `estimate[1]`, or `estimate.frequency(1)` as the paper normalises it."""
        check_tally(tally, Tally)
        one_bin = replace(tally, symbols=np.array([0]), counts=np.array([tally.total]))
        domain = _THE_ONES if domain is None else domain
        return super().estimate(one_bin, beta=beta, reports=reports, domain=domain, forged=forged)


def check_bits(bits: NDArray[Any], what: str) -> None:
    """Refuses anything but zeros and ones in a flat array."""
    if bits.size and (bits.ndim != 1 or bits.dtype.kind not in "biu" or bits.min() < 0 or bits.max() > 1):
        raise DataError(f"{what} must be bits: 0 or 1")

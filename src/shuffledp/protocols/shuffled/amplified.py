"""Any local protocol, shuffled: each message alone protects a little, the mix of all of them much more.

A local randomizer with a large epsilon0 is chosen so that its shuffled messages have the guarantee that is asked for
(accounting/amplification.py). One message per person, but errors of the order of the square root of n: what shuffling
alone can do, without noise that is made for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from shuffledp.accounting.amplification import Amplification, largest_local_epsilon
from shuffledp.accounting.guarantee import Guarantee
from shuffledp.checks import head_count, honest_among, reporting, target_delta, target_epsilon
from shuffledp.errors import ParameterError
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.local import HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from shuffledp.protocols.local.frequency_oracle import FrequencyOracle
from shuffledp.protocols.release import MessageCount, describe_release
from shuffledp.reading.reading import ErrorBound

ORACLES: tuple[type[FrequencyOracle], ...] = (LocalHashing, HadamardResponse, RandomizedResponse, UnaryEncoding)
"""Those whose message carries all that the analyzer needs, so that nobody must know whose it is."""

_MOST_CELL_BITS = 20


@dataclass(frozen=True, kw_only=True)
class AmplifiedOracle:
    """The messages of a local protocol, shuffled."""

    oracle: FrequencyOracle
    honest_users: int
    guarantee: Guarantee

    numbered_messages: ClassVar[bool] = False
    """Messages are not always single numbers, which some engines need."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "honest_users", honest_among(self.honest_users, users=self.oracle.users))

    @classmethod
    def calibrate(
        cls,
        *,
        users: int,
        bins: int,
        epsilon: float,
        delta: float,
        honest_users: int | None = None,
        kind: type[FrequencyOracle] | None = None,
    ) -> Self:
        """The largest local epsilon whose messages are (epsilon, delta)-private once shuffled.

        Without `kind`, the local protocol with the smallest error there. For local hashing the range of the hash is the
        best one after amplification, which is far above the best one without (Wang et al. 2019).
        """
        if kind is not None and kind not in ORACLES:
            raise ParameterError(f"kind must be one of {', '.join(choice.__name__ for choice in ORACLES)}")
        users = head_count("users", users)
        honest = honest_among(honest_users, users=users)
        epsilon, delta = target_epsilon(epsilon), target_delta(delta)

        def amplified(make: Callable[..., FrequencyOracle]) -> FrequencyOracle:
            def oracle(local_epsilon: float) -> FrequencyOracle:
                return make(users=users, bins=bins, epsilon=local_epsilon)

            local = largest_local_epsilon(
                epsilon=epsilon,
                delta=delta,
                users=honest,
                special=lambda local_epsilon: oracle(local_epsilon).amplified(honest),
            )
            return oracle(local)

        candidates = [
            _best_hashing(amplified) if choice is LocalHashing else amplified(choice)
            for choice in ([kind] if kind else ORACLES)
        ]
        best = min(candidates, key=_largest_error)
        guarantee = Guarantee(epsilon=epsilon, delta=delta, basis="amplification by shuffling")
        return cls(oracle=best, honest_users=honest, guarantee=guarantee)

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float) -> int:
        """One: then every message is private enough by itself."""
        return 1

    @property
    def users(self) -> int:
        """How many people take part."""
        return self.oracle.users

    @property
    def bins(self) -> int:
        """How many values are possible."""
        return self.oracle.bins

    @cached_property
    def privacy(self) -> Amplification:
        """The curve of the shuffled messages: an upper bound, counting the honest people's messages only."""
        return self.oracle.amplified(self.honest_users)

    def error(self, beta: float, *, estimator: str = "unbiased", occupied_bins: int | None = None) -> ErrorBound:
        """As in the local model, with the larger epsilon."""
        return self.oracle.error(beta, estimator=estimator)

    @property
    def messages_per_user(self) -> MessageCount:
        """One."""
        return self.oracle.messages_per_user

    @property
    def bits_per_message(self) -> int:
        """Bits of one report."""
        return self.oracle.bits_per_message

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> Any:
        """One report for each person."""
        return self.oracle.randomize(values, rng=rng)

    def tally(self, messages: Any) -> Tally:
        """How many reports support each bin."""
        return self.oracle.tally(messages)

    def estimate(self, tally: Tally, *, beta: float = 0.05, reports: int | None = None, **options: Any) -> Estimate:
        """The histogram of every bin; with fewer reports than honest people, the guarantee that was reached."""
        ran = self
        people = self.users if reports is None else reporting(reports, users=self.users)
        if people < self.honest_users:
            reached = self.oracle.amplified(people).epsilon(self.guarantee.delta)
            basis = (
                f"fewer people reported than the promised ({self.guarantee.epsilon:g}, {self.guarantee.delta:g}) needs"
            )
            ran = replace(self, honest_users=people, guarantee=replace(self.guarantee, epsilon=reached, basis=basis))
        estimate = self.oracle.estimate(tally, beta=beta, reports=reports, **options)
        return replace(estimate, guarantee=ran.guarantee, about=partial(ran.describe, beta=beta))

    def describe(self, *, beta: float = 0.05, drawn: bool = False) -> str:
        """The guarantee, its conditions and the error to expect, in words."""
        return describe_release(
            self,
            bins=self.bins,
            noise=f"Each message is {self.oracle.epsilon:.3g}-differentially private by itself.",
            error=self.error(beta).simultaneous,
            beta=beta,
            drawn=drawn,
        )


def _largest_error(oracle: FrequencyOracle) -> float:
    return oracle.error(0.05).simultaneous


def _best_hashing(amplified: Callable[[Callable[..., FrequencyOracle]], FrequencyOracle]) -> FrequencyOracle:
    """Local hashing with the range of the hash, a power of two, that has the smallest error: it falls, then rises."""
    best = amplified(partial(LocalHashing, cells=2))
    for power in range(2, _MOST_CELL_BITS + 1):
        wider = amplified(partial(LocalHashing, cells=2**power))
        if _largest_error(wider) >= _largest_error(best):
            break
        best = wider
    return best

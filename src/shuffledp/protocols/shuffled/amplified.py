"""Privacy amplification: the messages of a local protocol, shuffled.

The local randomizer has a larger epsilon0, chosen so that the shuffled messages have the requested guarantee
(accounting/amplification.py). The error is of the order of the square root of n, since no noise is designed for the
shuffled model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.amplification import Amplification, largest_local_epsilon
from shuffledp.errors import ParameterError
from shuffledp.estimators.base import Estimator
from shuffledp.histogram.facts import NoiseFacts, NoiseKind
from shuffledp.histogram.tally import Tally
from shuffledp.protocols.local import HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from shuffledp.protocols.local.frequency_oracle import FrequencyOracle
from shuffledp.protocols.protocol import MessageCount
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram
from shuffledp.protocols.target import Target

ORACLES: tuple[type[FrequencyOracle], ...] = (LocalHashing, HadamardResponse, RandomizedResponse, UnaryEncoding)
"""The local protocols whose messages can be decoded without knowing their senders."""

_MOST_CELL_BITS = 20
"""The largest exponent of a power of two as the range of a hash; beyond it the error only grows."""

_BETA = 0.05
"""The failure probability of the error by which the local protocol is chosen."""


@dataclass(frozen=True, kw_only=True)
class AmplifiedOracle(ShuffledHistogram):
    """The messages of a local protocol, the `oracle`, shuffled."""

    oracle: FrequencyOracle

    numbered_messages = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.oracle.users, self.oracle.bins) != (self.users, self.bins):
            raise ParameterError("oracle must be a local protocol for the same users and bins")

    @classmethod
    def for_target(cls, target: Target, *, kind: type[FrequencyOracle] | None = None) -> Self:
        """Return the protocol with the largest local epsilon whose shuffled messages are (epsilon, delta)-private.

        Without `kind`, it is the local protocol with the smallest error. For local hashing, the range of the hash is
        the best one after amplification, which is far above the best one without it (Wang et al. 2019).
        """
        target.needs_one_value(cls)
        if kind is not None and kind not in ORACLES:
            raise ParameterError(f"kind must be one of {', '.join(choice.__name__ for choice in ORACLES)}")
        choices = [kind] if kind else ORACLES
        candidates = [_best(target, choice) for choice in choices]
        return cls._made(target, "amplification by shuffling", oracle=min(candidates, key=_largest_error))

    @cached_property
    def privacy(self) -> Amplification:
        """The curve of the shuffled messages: an upper bound, counting the honest people's messages only."""
        return self.oracle.amplified(self.honest)

    @property
    def estimator(self) -> Estimator:
        """The estimator of the local protocol."""
        return self.oracle.estimator

    @property
    def messages_per_user(self) -> MessageCount:
        """One report each."""
        return self.oracle.messages_per_user

    @property
    def bits_per_message(self) -> int:
        """Bits of one report."""
        return self.oracle.bits_per_message

    @property
    def samples_exactly(self) -> bool:
        """Whether the local protocol samples its tally."""
        return self.oracle.samples_exactly

    @property
    def drawing_cost(self) -> float:
        """The sampling cost of the local protocol."""
        return self.oracle.drawing_cost

    @property
    def noise_facts(self) -> NoiseFacts:
        """The kind of noise and its numbers."""
        return NoiseFacts(NoiseKind.AMPLIFIED, {"epsilon": self.oracle.epsilon})

    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        return self.oracle.randomize(people, rng=rng)

    def tally(self, messages: Any) -> Tally:
        """Count the reports that support each bin."""
        return self.oracle.tally(messages)

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        return self.oracle.sample_tally(truth, rng=rng)

    def _noise_of(self, people: int) -> dict[str, Any]:
        return {"oracle": replace(self.oracle, users=people, honest_users=None)}


@lru_cache(maxsize=64)
def _best(target: Target, kind: type[FrequencyOracle]) -> FrequencyOracle:
    """Return one kind of local protocol for the target. Cached, since the search over all kinds repeats it."""
    return _best_hashing(target) if kind is LocalHashing else _amplified(target, kind)


def _amplified(target: Target, make: Callable[..., FrequencyOracle]) -> FrequencyOracle:
    def oracle(local_epsilon: float) -> FrequencyOracle:
        return make(users=target.users, bins=target.bins, epsilon=local_epsilon)

    return oracle(
        largest_local_epsilon(
            epsilon=target.epsilon,
            delta=target.delta,
            users=target.honest,
            special=lambda local_epsilon: oracle(local_epsilon).amplified(target.honest),
        )
    )


def _best_hashing(target: Target) -> FrequencyOracle:
    best = _amplified(target, partial(LocalHashing, cells=2))
    for power in range(2, _MOST_CELL_BITS + 1):
        wider = _amplified(target, partial(LocalHashing, cells=2**power))
        if _largest_error(wider) >= _largest_error(best):
            break
        best = wider
    return best


def _largest_error(oracle: FrequencyOracle) -> float:
    return oracle.error(_BETA).simultaneous

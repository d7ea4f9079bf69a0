"""GGK+19 with private coins: messages of parities, decoded by linear algebra.

The private coin protocol of Ghazi, Golowich, Kumar, Pagh and Velingker (2019). With 2^b > d, the set of bin j is H_j =
{y in [2^b] : j + 1 and y share an even number of one bits}. A person sends one real message, T uniform elements of
their bin's set. They also send r noise messages of T uniform elements of [2^b] each.

A message supports bin j if all of its elements are in H_j. A real message of j always does, any other with probability
t = 2^-T. So bin j is supported by c_j + Bin(n (1 + r) - c_j, t) messages, which gives an unbiased estimate of c_j. The
number of messages does not depend on the number of bins. The analyzer's work hardly does: the bins that a message
supports solve T linear equations (parities.py).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.support_curves import MOST_ELEMENTS, SupportCurve
from shuffledp.errors import DataError, ParameterError
from shuffledp.estimators.supports import ChanceSupports
from shuffledp.formatting import readable
from shuffledp.histogram.facts import NoiseFacts, NoiseKind
from shuffledp.histogram.inputs import few_enough_bins
from shuffledp.histogram.shuffle import concatenate
from shuffledp.histogram.tally import Tally
from shuffledp.protocols.protocol import MessageCount
from shuffledp.protocols.shuffled import parities
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram
from shuffledp.protocols.target import Target, need_one_value, require_guarantee
from shuffledp.validation import target_delta, target_epsilon, whole

MOST_NOISE_MESSAGES = 2**20
"""The most noise messages of one person."""

_NOISE_MESSAGES_WANTED = 8
"""The default: other people's real messages then add at most about an eighth to the variance of the noise."""

_RARE = 30
"""From this number of elements on, the number of supports is close enough to Poisson to choose the elements."""

_SOLVING = 100
"""The cost of decoding a message, in comparisons of a report with a bin."""

_TOO_FAR = 10
"""The allowed deviation of the number of supports, in standard deviations; each bin adds the same number."""


@dataclass(frozen=True, kw_only=True)
class PrivateCoinHistogram(ShuffledHistogram):
    """A protocol with `elements` (T) parities per message, and `noise_messages` (r) for each real message."""

    elements: int
    noise_messages: int

    numbered_messages = False
    samples_exactly = True

    def __post_init__(self) -> None:
        super().__post_init__()
        few_enough_bins(self.bins)
        object.__setattr__(self, "elements", _few_enough_elements(self.elements))
        noise = whole("noise_messages", self.noise_messages)
        if noise > MOST_NOISE_MESSAGES:
            raise ParameterError(
                f"noise_messages must be at most {MOST_NOISE_MESSAGES}, got {noise}: use fewer elements"
            )
        object.__setattr__(self, "noise_messages", noise)

    @classmethod
    def for_target(cls, target: Target, *, elements: int | None = None) -> Self:
        """Return the protocol with the fewest noise messages per person for an (epsilon, delta)-private release.

        With more `elements`, other people's real messages disturb an estimate less, but each one more doubles the
        number of noise messages. The default is the number of elements that needs 8 to 16.
        """
        target.needs_one_value(cls)
        few_enough_bins(target.bins)
        epsilon, delta, honest = target.epsilon, target.delta, target.honest
        if elements is None:
            supporting = math.ldexp(_fewest_noise(_RARE, epsilon, delta), -_RARE)
            elements = max(1, math.ceil(math.log2(_NOISE_MESSAGES_WANTED * honest / supporting)))
        elements = _few_enough_elements(elements)
        needed = math.ceil(_fewest_noise(elements, epsilon, delta) / honest)
        if needed > MOST_NOISE_MESSAGES:
            raise target.too_few(
                math.ceil(honest * needed / MOST_NOISE_MESSAGES),
                how=f"with elements={elements}, as each would send {needed} noise messages, more than "
                f"{MOST_NOISE_MESSAGES}",
                instead="or fewer elements" if elements > 1 else "",
            )
        return cls._made(target, "computed as an upper bound", elements=elements, noise_messages=needed)

    @classmethod
    def published_for(cls, target: Target) -> Self:
        """Return the published parameters, T = log2 n and r = 36 ln(1/delta) / epsilon^2, both rounded up.

        They are refused if they do not give the guarantee, because r is too small.
        """
        target.needs_one_value(cls)
        return require_guarantee(
            cls._made(
                target,
                "published parameters",
                elements=max(1, (target.users - 1).bit_length()),
                noise_messages=math.ceil(36 * math.log(1 / target.delta) / target.epsilon**2),
            )
        )

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float, values_per_person: int = 1) -> int:
        """The fewest honest people with whom (epsilon, delta) is possible, with one element per message.

        A person's own noise hides them, so this is 1 unless they would have to send too many messages.
        """
        need_one_value(cls, values=values_per_person)
        return math.ceil(_fewest_noise(1, target_epsilon(epsilon), target_delta(delta)) / MOST_NOISE_MESSAGES)

    @cached_property
    def privacy(self) -> SupportCurve:
        """An upper bound on the privacy curve, counting the honest people's noise messages only."""
        return SupportCurve(noise_messages=self.honest * self.noise_messages, elements=self.elements)

    @cached_property
    def estimator(self) -> ChanceSupports:
        """The estimator that subtracts the expected number of supports by chance."""
        return ChanceSupports(
            people=self.users,
            bins=self.bins,
            messages=self.users * (1 + self.noise_messages),
            probability=2.0**-self.elements,
        )

    @property
    def messages_per_user(self) -> MessageCount:
        """The real message and the noise messages; the same number for everyone."""
        return MessageCount(expected=1.0 + self.noise_messages, maximum=1.0 + self.noise_messages)

    @property
    def bits_per_element(self) -> int:
        """b, with 2^b above the number of bins."""
        return self.bins.bit_length()

    @property
    def bits_per_message(self) -> int:
        """Bits of all elements."""
        return self.elements * self.bits_per_element

    @property
    def drawing_cost(self) -> float:
        """The cost of sampling the few bins that each message supports, about the cost of decoding it."""
        supported = 1 + self.bins * 2.0**-self.elements
        return self.users * self.messages_per_user.expected * supported * _SOLVING

    @property
    def noise_facts(self) -> NoiseFacts:
        """The kind of noise and its numbers."""
        return NoiseFacts(NoiseKind.RANDOM_MESSAGES, {"messages": self.noise_messages})

    @property
    def _message(self) -> np.dtype[np.void]:
        """The elements of a message as one item, so that messages form a flat array."""
        return np.dtype((np.void, self.elements * parities.word_kind(self.bits_per_element).itemsize))

    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        """Send the real messages of all people, then the noise."""
        kind = parities.word_kind(self.bits_per_element)
        size = people.size * (1 + self.noise_messages), self.elements
        words = rng.integers(0, 1 << self.bits_per_element, size=size, dtype=kind)
        real, vectors = words[: people.size], (people + 1).astype(kind)[:, None]
        # flipping the lowest bit of the bin's vector moves an element into the set: a bijection
        real ^= (np.bitwise_count(real & vectors) & 1) * (vectors & (~vectors + kind.type(1)))
        return words.view(self._message).ravel()

    def tally(self, messages: Any) -> Tally:
        """Count the messages that support each bin, on all cores."""
        flat = concatenate(messages)
        if flat.size and flat.dtype != self._message:
            raise DataError(
                f"messages must be reports of this protocol: {self.elements} elements of {self.bits_per_element} bits, "
                f"{self._message.itemsize} bytes each"
            )
        bits, kind = self.bits_per_element, parities.word_kind(self.bits_per_element)
        words = flat.view(kind).reshape(flat.size, self.elements)
        if words.size and int(words.max()) >> bits:
            raise DataError(f"a message has an element of more than {bits} bits")
        supported = parities.supports(words, bits=bits, bins=self.bins)
        return Tally(np.arange(self.bins), supported, messages=flat.size)

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        """Sample all supports from their joint distribution. Only messages that support a bin by chance cost work."""
        supports = parities.sample_supports(
            np.repeat(truth.symbols.astype(np.int64), truth.counts),
            self.users * self.noise_messages,
            equations=self.elements,
            bits=self.bits_per_element,
            bins=self.bins,
            rng=rng,
        )
        return Tally(np.arange(self.bins), supports)

    def _check_number(self, tally: Tally) -> None:
        """Check the number of messages and the number of bins that they support."""
        super()._check_number(tally)
        if not tally.complete:
            return
        chance = self.users * ((1 + self.noise_messages) * self.bins - 1) * self.estimator.probability
        if abs(tally.total - self.users - chance) > _TOO_FAR * math.sqrt(chance) + _TOO_FAR * self.bins:
            raise DataError(
                f"messages that support bins {tally.total} times do not fit {self.users} people in "
                f"{readable(self.bins)} bins, who do so about {self.users + chance:.0f} times; give the number who "
                "reported as reports="
            )


def _fewest_noise(elements: int, epsilon: float, delta: float) -> int:
    """The fewest noise messages, from all people, that give (epsilon, delta); more are as private."""

    def enough(noise: int) -> bool:
        return SupportCurve(noise_messages=noise, elements=elements).delta(epsilon) <= delta

    high = 1 << elements
    while not enough(high):
        high *= 2
    if high == 1 << elements:
        return bisect_left(range(1, high), True, key=enough) + 1
    # rounded up, to a relative 1e-5 if there are very many
    step = max(1, high >> 17)
    return high // 2 + step * (bisect_left(range(high // 2 + step, high, step), True, key=enough) + 1)


def _few_enough_elements(elements: int) -> int:
    if whole("elements", elements) > MOST_ELEMENTS:
        raise ParameterError(f"elements must be at most {MOST_ELEMENTS}, got {elements}")
    return int(elements)

"""GGK+19 with private coins: messages of parities, decoded by linear algebra.

The private coin protocol of Ghazi, Golowich, Kumar, Pagh and Velingker (2019). With 2^b > d, the set of bin j is H_j =
{y in [2^b] : j + 1 and y share an even number of one bits}. A person sends one real message, T uniform elements of
their bin's set. They also send r noise messages of T uniform elements of [2^b] each.

A message supports bin j if all of its elements are in H_j. A real message of j always does, any other with probability
t = 2^-T. So bin j is supported by c_j + Bin(n (1 + r) - c_j, t) messages, which gives an unbiased estimate of c_j. The
number of messages does not depend on the number of bins.

**Decoding.** A message supports bin j if the vector j + 1 solves T linear equations over GF(2). The solutions form a
space of about 2^(b - T) vectors. Decoding finds and lists this space in O(T b) steps on whole words, for many messages
at once; it does not try single bins.

**Sampling** gives the supports of messages from their exact distribution, without any equations. The equations of a
noise message are a uniform T x b matrix over GF(2). The dimension of its space of solutions has a distribution in
closed form. Given the dimension, the space is uniform, since an invertible change of the b coordinates changes neither.
A real message of vector v is the same for the space modulo v, which has b - 1 dimensions.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
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
from shuffledp.noise.distribution import InversionTable
from shuffledp.protocols.protocol import MessageCount
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram, on_all_cores, sum_counts
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
            cls._published(
                target,
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
        return np.dtype((np.void, self.elements * word_kind(self.bits_per_element).itemsize))

    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        kind = word_kind(self.bits_per_element)
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
        bits, kind = self.bits_per_element, word_kind(self.bits_per_element)
        words = flat.view(kind).reshape(flat.size, self.elements)
        if words.size and int(words.max()) >> bits:
            raise DataError(f"a message has an element of more than {bits} bits")
        supported = supports(words, bits=bits, bins=self.bins)
        return Tally(np.arange(self.bins), supported, messages=flat.size)

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        """Sample all supports from their joint distribution. Only messages that support a bin by chance cost work."""
        supported = sample_supports(
            np.repeat(truth.symbols.astype(np.int64), truth.counts),
            self.users * self.noise_messages,
            equations=self.elements,
            bits=self.bits_per_element,
            bins=self.bins,
            rng=rng,
        )
        return Tally(np.arange(self.bins), supported)

    def _check_number(self, tally: Tally) -> None:
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


MESSAGES_AT_ONCE = 1 << 14
"""The number of messages whose equations are solved together, so that their words stay in the cache."""

_VECTORS_AT_ONCE = 1 << 20

Words = NDArray[np.unsignedinteger]


def word_kind(bits: int) -> np.dtype[np.unsignedinteger]:
    """The narrowest unsigned integer type with this number of bits."""
    return np.dtype(np.min_scalar_type((1 << bits) - 1))


def solve(equations: Words, *, bits: int) -> Words:
    """Return a basis of every message's solutions, from an array with a row of words per message.

    The result has `bits` columns; the nonzero entries of a row are the basis. It starts as the basis of the whole
    space. For each equation, the largest vector that violates it is added to all vectors that violate it. This makes
    the others solutions, and the vector itself 0.
    """
    basis = np.repeat(np.left_shift(1, np.arange(bits)).astype(equations.dtype)[:, None], equations.shape[0], axis=1)
    work, violating = np.empty_like(basis), np.empty(basis.shape, dtype=np.uint8)
    for words in np.ascontiguousarray(equations.T):
        np.bitwise_count(np.bitwise_and(basis, words, out=work), out=violating)
        violating &= 1
        pivot = np.multiply(basis, violating, out=work).max(axis=0)
        basis ^= np.multiply(pivot, violating, out=work)
    return basis.T


def by_dimension(bases: Words) -> Iterator[tuple[int, NDArray[np.int64], Words]]:
    """Group spaces by dimension: the dimension, the rows, and their bases without zeros."""
    filled = bases != 0
    dimensions = filled.sum(axis=1)
    for dimension in np.unique(dimensions).tolist():
        which = np.flatnonzero(dimensions == dimension)
        yield dimension, which, bases[which][filled[which]].reshape(which.size, dimension)


def count_members(bases: Words, *, bins: int) -> NDArray[np.int64]:
    """For each of the vectors 1 .. bins, the number of spaces that contain it; each row is the basis of a space."""
    spaces, dimension = bases.shape
    counts = np.zeros(bins, dtype=np.int64)
    if dimension == 0:
        return counts
    at_once = max(1, _VECTORS_AT_ONCE >> dimension)
    for start in range(0, spaces, at_once):
        block = bases[start : start + at_once]
        members = np.zeros((1, block.shape[0]), dtype=bases.dtype)
        for column in block.T:
            members = np.concatenate([members, members ^ column])
        vectors = members[1:].ravel()  # the first vector is 0, which belongs to no bin
        counts += np.bincount(vectors[vectors <= bins], minlength=bins + 1)[1:]
    return counts


def supports(equations: Words, *, bits: int, bins: int) -> NDArray[np.int64]:
    """The number of messages that support each bin, from an array with a row of words per message, on all cores."""

    def count(start: int) -> NDArray[np.int64]:
        solved = solve(equations[start : start + MESSAGES_AT_ONCE], bits=bits)
        return sum_counts((count_members(bases, bins=bins) for _, _, bases in by_dimension(solved)), bins=bins)

    return on_all_cores(count, range(0, equations.shape[0], MESSAGES_AT_ONCE), bins=bins)


_SPACES_AT_ONCE = 1 << 16


def matrices(*, equations: int, bits: int, dimension: int) -> int:
    """The number of equations x bits matrices over GF(2) whose space of solutions has this dimension.

    With rank r = bits - dimension: product over i < r of (2^equations - 2^i) (2^bits - 2^i) / (2^r - 2^i).
    """
    rank, total, orders = bits - dimension, 1, 1
    for i in range(rank):
        total *= ((1 << equations) - (1 << i)) * ((1 << bits) - (1 << i))
        orders *= (1 << rank) - (1 << i)
    return total // orders


@lru_cache(maxsize=32)
def dimension_distribution(*, equations: int, bits: int) -> InversionTable:
    """The distribution of the dimension of the solutions of uniform equations."""
    weights = [matrices(equations=equations, bits=bits, dimension=k) for k in range(bits + 1)]
    return InversionTable(first=0, weights=weights)


def sample_supports(
    values: NDArray[np.int64], noise: int, *, equations: int, bits: int, bins: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Sample the number of messages that support each bin: one real message per value, and `noise` others."""
    counts = np.bincount(values, minlength=bins)
    for start in range(0, values.size, _SPACES_AT_ONCE):
        known = (values[start : start + _SPACES_AT_ONCE] + 1).astype(word_kind(bits))[:, None]
        counts += _other_members(known, equations=equations, bits=bits, bins=bins, rng=rng)
    for start in range(0, noise, _SPACES_AT_ONCE):
        nothing = np.empty((min(_SPACES_AT_ONCE, noise - start), 0), dtype=word_kind(bits))
        counts += _other_members(nothing, equations=equations, bits=bits, bins=bins, rng=rng)
    return counts


def _other_members(
    known: Words, *, equations: int, bits: int, bins: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The number of messages that support each bin, beyond the vectors (none, or one per row) that they always do."""
    counts = np.zeros(bins, dtype=np.int64)
    dimensions = dimension_distribution(equations=equations, bits=bits - known.shape[1]).sample(known.shape[0], rng=rng)
    for dimension in np.unique(dimensions[dimensions > 0]).tolist():
        sure = known[dimensions == dimension]
        bases = _completed(sure, by=dimension, bits=bits, rng=rng)
        counts += count_members(bases, bins=bins) - count_members(sure, bins=bins)
    return counts


def _completed(known: Words, *, by: int, bits: int, rng: np.random.Generator) -> Words:
    """Extend each row of independent vectors by a few uniform ones that keep the row independent."""
    added = np.empty((known.shape[0], by), dtype=known.dtype)
    rows = np.hstack([known, added])
    missing = np.arange(rows.shape[0])
    while missing.size:
        rows[missing, known.shape[1] :] = rng.integers(0, 1 << bits, size=(missing.size, by), dtype=known.dtype)
        rank = bits - np.count_nonzero(solve(rows[missing], bits=bits), axis=1)
        missing = missing[rank < rows.shape[1]]
    return rows

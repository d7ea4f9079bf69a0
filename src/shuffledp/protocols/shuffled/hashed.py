"""`HashedHistogram`: a few short messages per person for any number of possible values.

Proofs: docs/proofs/hashed-histogram.md. After Luo, Wang and Yi, "Frequency estimation in the shuffle model with
(almost) a single message" (CCS 2022), with exact calibration and Poisson dummies. A person draws a random seed, which
selects one of a public family of hash functions, and sends the seed with the bucket of their value. Beside it they send
a Poisson number of dummies, each a random seed with a random bucket. The number of messages consistent with a value is
the number of its holders plus noise, whose distribution is known exactly. With q buckets, a dummy is consistent
with every q-th value. So a few dummies per person hide any number of values. More buckets mean more dummies from each
person and less noise by chance from the messages of others.

If people hold one value on each of several `levels`, each level has its own messages and dummies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting import calibration
from shuffledp.accounting.curve import Curve
from shuffledp.accounting.rounding import SHARE_OF_A_RATE
from shuffledp.accounting.support_curves import HashedCurve
from shuffledp.errors import DataError, ParameterError
from shuffledp.estimators.supports import MOST_VALUES, DecodedTally, HashedValues
from shuffledp.formatting import counted, readable
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.facts import NoiseFacts, NoiseKind
from shuffledp.histogram.hash_family import (
    EXPANDED_SEEDS,
    MOST_LEVELS,
    MOST_MESSAGES,
    MOST_MODULUS,
    HashFamily,
    is_prime,
    next_prime,
)
from shuffledp.histogram.inputs import check_bins
from shuffledp.histogram.shuffle import concatenate
from shuffledp.histogram.tally import Tally
from shuffledp.noise import CompoundPoisson
from shuffledp.noise.binomial import GRID_BITS
from shuffledp.noise.compound_poisson import LARGEST_RATE, SIZE_GRID, Clusters, poisson
from shuffledp.protocols.base import labelled, read
from shuffledp.protocols.protocol import MessageCount, bits_to_name
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram
from shuffledp.protocols.target import Target
from shuffledp.randomness import generator
from shuffledp.validation import failure_probability, real, whole

DUMMIES = 4.0
"""The default number of dummies for each value of a person: the standard deviation is then 1.12 times the least."""

LEAST_DUMMIES, MOST_DUMMIES = 0.01, 1000.0
"""With fewer dummies, the messages of other people are nearly all of the noise; more of them gain nothing."""

_ROUNDS = 2
"""The number of times that noise and buckets of several values are adjusted to each other; the noise comes last."""

_BUCKETS_PER_SQUARE = 4
"""The fewest buckets for K values of a person, relative to K^2: with fewer, shared messages cost too many dummies."""

MOST_LOOKED_UP = 10**6
"""The most values that are looked up at once."""

_AT_ONCE = 1 << 20
"""Messages that are made together where only their counts are kept."""

_MAKING, _FINDING = 500.0, 30.0
"""The approximate number of elementary steps to make a message, and to find the consistent value of one parent."""


@dataclass(frozen=True, kw_only=True)
class HashedHistogram(ShuffledHistogram):
    """Hashed messages; `dummies` is the distribution of dummies consistent with one value, summed over all `users`."""

    family: HashFamily
    dummies: CompoundPoisson
    levels: int = 1

    takes_sets = True
    joins = True
    most_bins_in_messages = 2**63

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.family.values != self.bins:
            raise ParameterError(f"family must hash {self.bins} values, got {self.family.values}")
        if self.dummies.size_weights != (SIZE_GRID,):
            raise ParameterError("dummies must come one at a time")
        if not 1 <= whole("levels", self.levels) <= MOST_LEVELS:
            raise ParameterError(f"levels must be 1 to {MOST_LEVELS}, got {self.levels}")
        if self.alphabet > MOST_MESSAGES:
            raise ParameterError(f"family must have at most 2^62 messages on all levels, got {self.alphabet}")
        if self.values_per_person > 1 and (self.levels > 1 or self.family.expanded):
            raise ParameterError("values_per_person must be 1 with several levels, or with expanded seeds")

    @classmethod
    def for_target(cls, target: Target, *, dummies: float = DUMMIES) -> Self:
        """Return the protocol with the least noise, at about `dummies` dummies for each value of a person."""
        rate, modulus = _calibrate_values(target, dummies=dummies)
        family = HashFamily.of(modulus=modulus, values=target.cells)
        return cls._made(target, "computed as an upper bound", family=family, dummies=_dummies_of_all(rate, target))

    @classmethod
    def for_levels(cls, target: Target, *, levels: int, pieces: int, dummies: float = DUMMIES) -> Self:
        """Return the protocol for one value on each of several levels; each parent of a value has `pieces` values."""
        rate, modulus = _calibrate_levels(target, levels=levels, pieces=pieces, dummies=dummies)
        family = HashFamily.of(modulus=modulus, values=target.cells, pieces=pieces, levels=levels)
        dummies_of = _dummies_of_all(rate, target)
        return cls._made(target, "computed as an upper bound", family=family, dummies=dummies_of, levels=levels)

    @cached_property
    def privacy(self) -> Curve:
        """An upper bound on the privacy curve of the whole release, counting the honest people's dummies only."""
        if self.batch is not None:
            return self.batch.privacy
        rate = self.dummies.share(self.honest, of=self.users).rate
        if self.levels > 1:
            return HashedCurve(rate=rate, values=self.levels)
        return HashedCurve(rate=rate, values=self.values_per_person, shared=1 / self.family.modulus)

    @property
    def alphabet(self) -> int:
        """The number of different messages: of seeds and buckets on every level."""
        return self.levels * self.family.messages

    @cached_property
    def estimator(self) -> HashedValues:
        """The estimator of the messages of one level."""
        return HashedValues(
            people=self.users,
            bins=self.bins,
            messages=self.users * self.values_per_person,
            probability=_on_grid(1 / self.family.modulus),
            family=self.family,
            dummies=self.dummies,
        )

    @property
    def reach(self) -> float:
        """One message is consistent with every q-th value, and an estimate divides by 1 - 1 / q."""
        return 1 / (1 - 1 / self.family.modulus)

    @property
    def messages_per_user(self) -> MessageCount:
        """One for each value and level, and the dummies."""
        return MessageCount(expected=self._real + self._dummies_each, maximum=math.inf)

    @property
    def bits_per_message(self) -> int:
        """Bits of a level, a seed and a bucket."""
        return bits_to_name(self.alphabet)

    @property
    def tally_implies_lengths(self) -> bool:
        """True: dummies come one at a time, each with a random seed and bucket."""
        return True

    @property
    def samples_exactly(self) -> bool:
        """Whether counts of values are enough to sample a tally; people's paths through several levels are not."""
        return self.levels == 1

    @property
    def drawing_cost(self) -> float:
        """The steps of making and decoding messages."""
        number = self.users * self.messages_per_user.expected
        return number * (_MAKING + _FINDING * min(self.family.parents, self.bins))

    def participation_statistic(self, tally: Tally) -> float:
        """The number of messages, also of a decoded tally."""
        return tally.total if tally.messages is None else tally.messages

    def participation_cumulant(self, tilts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The cumulant of the values and a Poisson number of dummies."""
        return self._real * tilts + self._dummies_each * np.expm1(tilts)

    @property
    def noise_facts(self) -> NoiseFacts:
        """The kind of noise and its numbers."""
        sent = self.messages_per_user.expected
        numbers = {"mean": self.dummies.mean, "buckets": self.family.modulus, "messages": sent, "levels": self.levels}
        return NoiseFacts(NoiseKind.HASHED_VALUES, numbers)

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """The messages of one person or of many; with several levels, a row of one value for each level and person."""
        if self.levels == 1:
            return super().randomize(values, rng=rng)
        rows = np.asarray(values)
        rows = rows[np.newaxis] if rows.ndim == 1 else rows
        if rows.ndim != 2 or rows.shape[1] != self.levels or rows.dtype.kind not in "iu":
            raise DataError(f"a row of {self.levels} values for each person is needed, one on each level")
        check_bins(rows.ravel(), bins=self.bins, what="value")
        return self._send(rows.astype(np.int64), generator(rng))

    def tally(self, messages: ArrayLike | Tally) -> Tally:
        """Count equal messages; the estimator finds the values that they are consistent with."""
        if isinstance(messages, DecodedTally):
            return messages
        counted = messages if isinstance(messages, Tally) else Tally.of(concatenate(messages).astype(np.int64))
        check_bins(counted.symbols, bins=self.alphabet, what="message")
        order = np.argsort(counted.symbols, kind="stable")
        return Tally(counted.symbols[order].astype(np.int64), counted.counts[order], messages=counted.total)

    def decode(self, tally: Tally) -> Tally:
        """Count the messages consistent with each value, which takes less memory than the messages of many people."""
        return self.estimator.statistic(tally) if self.levels == 1 and self.bins <= MOST_VALUES else tally

    def lookup(
        self,
        tally: Tally,
        values: ArrayLike,
        *,
        beta: float = 0.05,
        reports: int | None = None,
        domain: Domain | None = None,
    ) -> Estimate:
        """Estimate the counts of some values only, with intervals that hold for all of them at once.

        They are narrower than the intervals of all values. Choose the values without looking at their estimates: an
        interval of the largest of many estimates fails more often. The result is an estimate of a domain of exactly
        these values, in the same order. `domain` gives the labels of all bins.
        """
        bins = np.atleast_1d(np.asarray(values))
        check_looked_up(bins.size)
        check_bins(bins, bins=self.bins, what="value")
        domain = labelled(domain, bins=self.bins, padding_bins=self.padding_bins)
        ran, tally = self.accept(tally, reports=reports)
        labels = bins.astype(np.int64) if domain is None else domain.decode(bins)
        return ran.looked_up(ran.estimator.statistic_of(tally, bins.astype(np.int64)), labels, beta=beta)

    def looked_up(self, statistic: Tally, labels: NDArray[Any], *, beta: float) -> Estimate:
        """Estimate values with these labels from the numbers of messages that are consistent with them."""
        estimate = read(
            self,
            statistic.renamed(np.arange(len(statistic))),
            bins=len(labels),
            beta=failure_probability(beta),
            domain=Domain.of(labels.tolist()),
        )
        return replace(
            estimate,
            bins=self.bins - self.padding_bins,
            values_per_person=self.values_per_person,
            per_bin=replace(estimate.per_bin, unreported_high=self.users),
            simultaneous=replace(estimate.simultaneous, unreported_high=self.users),
        )

    def level_messages(self, values: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """The messages of everybody on one level, as messages of a protocol with one level."""
        own = self._hashed(values, rng)
        clusters = Clusters(distribution=self.dummies, users=self.users, bins=self.family.modulus)
        number = clusters.draw_number(values.size, rng=rng)
        return np.concatenate([own, rng.integers(0, self.family.messages, size=number)])

    def level(self, tally: Tally, level: int) -> Tally:
        """The messages of one level, as messages of a protocol with one level."""
        start, stop = np.searchsorted(tally.symbols, [level * self.family.messages, (level + 1) * self.family.messages])
        counts = tally.counts[start:stop]
        return Tally(tally.symbols[start:stop] - level * self.family.messages, counts, messages=int(counts.sum()))

    @property
    def _real(self) -> int:
        return self.values_per_person * self.levels

    @property
    def _dummies_each(self) -> float:
        return self.dummies.rate * self.family.modulus * self.levels / self.users

    @cached_property
    def _clusters(self) -> Clusters:
        return Clusters(distribution=self.dummies, users=self.users, bins=self.family.modulus * self.levels)

    def _hashed(self, values: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        seeds = rng.integers(0, self.family.seeds, size=values.size)
        return np.asarray(seeds * self.family.modulus + self.family.buckets(seeds, values))

    def _send(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """Send the values under fresh seeds, then all dummies."""
        own = self._hashed(people.ravel(), rng)
        if self.levels > 1:
            own += np.tile(np.arange(self.levels) * self.family.messages, people.shape[0])
        number = self._clusters.draw_number(people.shape[0], rng=rng)
        return np.concatenate([own, rng.integers(0, self.alphabet, size=number)])

    def _draw(self, truth: Tally, rng: np.random.Generator) -> Tally:
        """Make the messages of all people part by part, and count those consistent with each value.

        Each value is hashed by itself and dummies do not depend on values, so the counts of values are enough.
        """
        if self.levels > 1:
            raise ParameterError("levels must be 1 to sample a tally of counts: make the messages of several levels")
        return reduce(add, (self.decode(Tally.of(part)) for part in self._in_parts(truth, rng)))

    def _in_parts(self, truth: Tally, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        held = truth.counts.cumsum()
        for start in range(0, truth.total, _AT_ONCE):
            at = np.searchsorted(held, np.arange(start, min(start + _AT_ONCE, truth.total)), side="right")
            yield self._hashed(truth.symbols[at].astype(np.int64), rng)
        number = self._clusters.draw_number(self.users, rng=rng)
        for start in range(0, number, _AT_ONCE):
            yield rng.integers(0, self.alphabet, size=min(_AT_ONCE, number - start))

    def _noise_of(self, people: int) -> dict[str, Any]:
        return {"dummies": self.dummies.share(people, of=self.users)}


def check_looked_up(number: int) -> None:
    """Refuse an empty list of values to look up, and one that is too long."""
    if not 1 <= number <= MOST_LOOKED_UP:
        raise ParameterError(f"values must be 1 to {MOST_LOOKED_UP:,} values to look up, got {readable(number)}")


def _on_grid(probability: float) -> float:
    return math.ldexp(round(math.ldexp(probability, GRID_BITS)), -GRID_BITS)


def _calibrate_values(target: Target, *, dummies: float) -> tuple[float, int]:
    """Return the mean number of honest people's dummies on each value, and the number of buckets."""
    dummies, values = _checked(dummies), target.values_per_person
    rate = _rate(target, values=values, shared=0.0)
    for _ in range(_ROUNDS):
        modulus = _buckets(dummies * values * target.honest / rate, target.cells, each=values)
        if values == 1:
            break
        rate = _rate(target, values=values, shared=1 / modulus)
    return rate, modulus


def _calibrate_levels(target: Target, *, levels: int, pieces: int, dummies: float) -> tuple[float, int]:
    """Return the same for one value on each of several levels."""
    dummies = _checked(dummies)
    rate = _rate(target, values=levels, shared=0.0)
    most = min(MOST_MODULUS, MOST_MESSAGES // (EXPANDED_SEEDS * levels)) // 2  # the next prime is below twice as much
    return rate, next_prime(max(pieces, 2, min(most, math.ceil(dummies * target.honest / rate))))


def _dummies_of_all(rate: float, target: Target) -> CompoundPoisson:
    """The dummies of all people together, given the mean number of the honest ones."""
    mean = rate * (1 + SHARE_OF_A_RATE) * target.users / target.honest
    if mean > LARGEST_RATE:
        raise ParameterError(
            f"with only {target.honest:,} honest people among {target.users:,}, all together must make more noise than "
            "can be computed: more of them must be honest"
        )
    return poisson(mean)


def _checked(dummies: float) -> float:
    number = real("dummies", dummies)
    if not LEAST_DUMMIES <= number <= MOST_DUMMIES:
        raise ParameterError(f"dummies must be {LEAST_DUMMIES:g} to {MOST_DUMMIES:g} for each value, got {number:g}")
    return number


def _rate(target: Target, *, values: int, shared: float) -> float:
    """The smallest mean number of honest people's dummies that gives the guarantee."""

    def excess(rate: float) -> float:
        delta = HashedCurve(rate=rate, values=values, shared=shared).delta(target.epsilon)
        return math.log(max(delta, 1e-300) / target.delta)

    start = calibration.rate_to_start(epsilon=target.epsilon, delta=target.delta, shifts=2 * values)
    rate = calibration.first_rate(excess, start=start, largest=calibration.LARGEST_CALIBRATED)
    if rate is None:
        each = counted(values, "hashed value")
        raise ParameterError(f"epsilon={target.epsilon:g} is too small for {each} of each person")
    return rate


def _buckets(wanted: float, values: int, *, each: int) -> int:
    """The number of buckets: about the wanted one, however few values there are, so that other people add little."""
    fewest = next_prime(_BUCKETS_PER_SQUARE * each**2 if each > 1 else 2)
    modulus = next_prime(max(fewest, min(math.ceil(wanted), MOST_MODULUS // 2)))
    while each > 1 and HashFamily.of(modulus=modulus, values=values).expanded:
        if modulus == fewest:
            raise ParameterError(f"bins must be fewer for {each} hashed values of each person, got {readable(values)}")
        modulus = max(fewest, _last_prime(int(modulus * 0.9)))
    return modulus


def _last_prime(number: int) -> int:
    while not is_prime(number):
        number -= 1
    return number

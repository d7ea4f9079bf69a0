"""The private coin protocol of Ghazi, Golowich, Kumar, Pagh and Velingker (2019): messages of parities.

With 2^b > d, the set of bin j is H_j = {y in [2^b] : j + 1 and y share an even number of one bits}. A person sends one
real message, T uniform elements of their bin's set, and r noise messages, T uniform elements of [2^b] each. A message
supports bin j when all of its elements lie in H_j: surely if it is a real one of j, else with probability t = 2^-T. So
bin j is supported by c_j + Bin(n (1 + r) - c_j, t) messages, which gives an unbiased estimate of c_j. The number of
messages does not depend on the number of bins, and the analyzer's work depends on it little: the bins that a message
supports solve T linear equations (parity_decoding.py).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.guarantee import Guarantee
from shuffledp.accounting.support_curve import MOST_ELEMENTS, SupportCurve
from shuffledp.checks import failure_probability, head_count, honest_among, target_delta, target_epsilon, whole
from shuffledp.errors import DataError, ParameterError, TooFewUsersError
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate, Intervals
from shuffledp.pipeline.inputs import (
    Counts,
    check_domain,
    check_messages,
    check_tally,
    few_enough_bins,
    people_in_bins,
    true_counts,
)
from shuffledp.pipeline.shuffler import concatenate
from shuffledp.pipeline.tally import Tally
from shuffledp.protocols.release import (
    MessageCount,
    assembled,
    check_people_and_bins,
    describe_release,
    kept_promise,
    ran_with,
)
from shuffledp.protocols.shuffled.private_coin import decoding as parity_decoding
from shuffledp.protocols.shuffled.private_coin import sampling as parity_sampling
from shuffledp.randomness import generator
from shuffledp.reading.chance_supports import OtherSupports
from shuffledp.reading.reading import ErrorBound
from shuffledp.reading.supports import only_unbiased
from shuffledp.words import readable

MOST_NOISE_MESSAGES = 2**20
"""More from one person are not asked for."""

_NOISE_MESSAGES_WANTED = 8
"""By default: other people's real messages then add at most about an eighth to the variance that the noise has."""


@dataclass(frozen=True, kw_only=True)
class PrivateCoinHistogram:
    """`elements` (T) parities per message, and `noise_messages` (r) beside every person's real one."""

    users: int
    bins: int
    elements: int
    noise_messages: int
    honest_users: int | None = None
    guarantee: Guarantee | None = None

    numbered_messages: ClassVar[bool] = False
    """Messages are not single numbers, which some engines need."""

    def __post_init__(self) -> None:
        check_people_and_bins(self)
        few_enough_bins(self.bins)
        object.__setattr__(self, "elements", _few_enough_elements(self.elements))
        noise = whole("noise_messages", self.noise_messages)
        if noise > MOST_NOISE_MESSAGES:
            raise ParameterError(
                f"noise_messages must be at most {MOST_NOISE_MESSAGES}, got {noise}: use fewer elements"
            )
        object.__setattr__(self, "noise_messages", noise)

    @classmethod
    def calibrate(
        cls,
        *,
        users: int,
        bins: int,
        epsilon: float,
        delta: float,
        honest_users: int | None = None,
        elements: int | None = None,
    ) -> Self:
        """The fewest noise messages per person that make the whole release (epsilon, delta)-private.

        With more `elements` other people's real messages disturb an estimate less, but every one more doubles the noise
        messages that are needed. By default there are as many as make that 8 to 16.
        """
        users, bins = head_count("users", users), few_enough_bins(whole("bins", bins))
        honest = honest_among(honest_users, users=users)
        epsilon, delta = target_epsilon(epsilon), target_delta(delta)
        if elements is None:
            supporting = math.ldexp(_fewest_noise(_RARE, epsilon, delta), -_RARE)
            elements = max(1, math.ceil(math.log2(_NOISE_MESSAGES_WANTED * honest / supporting)))
        elements = _few_enough_elements(elements)
        needed = math.ceil(_fewest_noise(elements, epsilon, delta) / honest)
        if needed > MOST_NOISE_MESSAGES:
            least = math.ceil(honest * needed / MOST_NOISE_MESSAGES)
            raise TooFewUsersError(
                f"users={honest} is too few for epsilon={epsilon:g}, delta={delta:g} with elements={elements}: each "
                f"would send {needed} noise messages, more than {MOST_NOISE_MESSAGES}; needs at least {least}"
                + (", or fewer elements" if elements > 1 else ""),
                minimum_users=least,
            )
        guarantee = Guarantee(epsilon=epsilon, delta=delta, basis="calibrated on the safe side")
        return cls(
            users=users,
            bins=bins,
            elements=elements,
            noise_messages=needed,
            honest_users=honest,
            guarantee=guarantee,
        )

    @classmethod
    def from_paper(cls, *, users: int, bins: int, epsilon: float, delta: float) -> Self:
        """The published parameters, T = log2 n and r = 36 ln(1/delta) / epsilon^2, both rounded up.

        Refused where they do not give what they promise: then r is too small for any epsilon.
        """
        users = head_count("users", users)
        epsilon, delta = target_epsilon(epsilon), target_delta(delta)
        return kept_promise(
            cls(
                users=users,
                bins=bins,
                elements=max(1, (users - 1).bit_length()),
                noise_messages=math.ceil(36 * math.log(1 / delta) / epsilon**2),
                guarantee=Guarantee(epsilon=epsilon, delta=delta, basis="published parameters"),
            )
        )

    @classmethod
    def minimum_users(cls, *, epsilon: float, delta: float) -> int:
        """The fewest honest people with whom (epsilon, delta) is possible, with one element per message.

        A person's own noise hides them, so this is 1 unless they would have to send too many messages.
        """
        return math.ceil(_fewest_noise(1, target_epsilon(epsilon), target_delta(delta)) / MOST_NOISE_MESSAGES)

    @cached_property
    def privacy(self) -> SupportCurve:
        """A curve never below the truth, counting the honest people's noise messages only."""
        honest = self.honest_users or self.users
        return SupportCurve(noise_messages=honest * self.noise_messages, elements=self.elements)

    def error(self, beta: float, *, estimator: str = "unbiased", occupied_bins: int | None = None) -> ErrorBound:
        """Certified errors in people: exact binomial tails for the worst true count, added up over the bins."""
        only_unbiased(estimator)
        beta = failure_probability(beta)
        per_bin, simultaneous = (self._others.error(beta / bins) for bins in (1, self.bins))
        return ErrorBound(beta=beta, per_bin=per_bin, simultaneous=simultaneous)

    @cached_property
    def _others(self) -> OtherSupports:
        """The messages that support a bin by chance."""
        return OtherSupports(
            people=self.users, messages=self.users * (1 + self.noise_messages), probability=2.0**-self.elements
        )

    def variance(self, count: int = 0) -> float:
        """Variance of the estimate of a bin that `count` people hold."""
        return self._others.variance(count)

    @property
    def messages_per_user(self) -> MessageCount:
        """The real one and the noise, the same number for everyone."""
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
    def _message(self) -> np.dtype[np.void]:
        """The elements of a message as one item, so that messages form a flat array."""
        return np.dtype((np.void, self.elements * parity_decoding.word_kind(self.bits_per_element).itemsize))

    def randomize(self, values: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[np.void]:
        """The messages of one person (a bin) or of many (an array of bins), the real ones first."""
        people = people_in_bins(values, bins=self.bins)
        kind = parity_decoding.word_kind(self.bits_per_element)
        size = people.size * (1 + self.noise_messages), self.elements
        words = generator(rng).integers(0, 1 << self.bits_per_element, size=size, dtype=kind)
        real, vectors = words[: people.size], (people + 1).astype(kind)[:, None]
        # an element outside the set moves into it by flipping the lowest bit of the bin's vector: a bijection
        real ^= (np.bitwise_count(real & vectors) & 1) * (vectors & (~vectors + kind.type(1)))
        return words.view(self._message).ravel()

    def tally(self, messages: ArrayLike) -> Tally:
        """How many messages support each bin, on all cores."""
        flat = concatenate(messages)
        if flat.size and flat.dtype != self._message:
            raise DataError(
                f"messages must be those of this protocol: {self.elements} elements of {self.bits_per_element} bits, "
                f"{self._message.itemsize} bytes each"
            )
        bits, kind = self.bits_per_element, parity_decoding.word_kind(self.bits_per_element)
        words = flat.view(kind).reshape(flat.size, self.elements)
        if words.size and int(words.max()) >> bits:
            raise DataError(f"a message has an element of more than {bits} bits")
        supported = parity_decoding.supports(words, bits=bits, bins=self.bins)
        return Tally(np.arange(self.bins), supported, messages=flat.size)

    def sample_tally(self, counts: Counts, *, rng: np.random.Generator | None = None) -> Tally:
        """A tally drawn from its exact joint law given the true counts, without making messages.

        Only messages that support something by chance cost work, at most about as much as decoding them.
        """
        truth = true_counts(counts, users=self.users, bins=self.bins)
        supports = parity_sampling.sample_supports(
            np.repeat(truth.symbols.astype(np.int64), truth.counts),
            self.users * self.noise_messages,
            equations=self.elements,
            bits=self.bits_per_element,
            bins=self.bins,
            rng=generator(rng),
        )
        return Tally(np.arange(self.bins), supports)

    def estimate(
        self,
        tally: Tally,
        *,
        estimator: str = "unbiased",
        beta: float = 0.05,
        reports: int | None = None,
        domain: Domain | None = None,
    ) -> Estimate:
        """The histogram of every bin, with intervals that hold with probability 1 - beta."""
        check_tally(tally, Tally)
        only_unbiased(estimator)
        check_domain(domain, bins=self.bins)
        if len(tally) != self.bins or not tally.complete:
            raise DataError("this protocol estimates every bin: tally messages first")
        ran, beta = self.for_reports(reports), failure_probability(beta)
        check_messages(tally, people=ran.users, each=1 + self.noise_messages)
        ran._check_total(tally.total)
        return assembled(
            ran,
            symbols=np.arange(self.bins),
            counts=ran._others.estimate(tally.counts),
            intervals=lambda bins: Intervals(*ran._others.interval(tally.counts, beta=beta / bins), unreported_high=0),
            bins=self.bins,
            beta=beta,
            estimator="unbiased",
            domain=domain,
        )

    def _check_total(self, supported: int) -> None:
        """Refuses a number of supports that so many people do not make, by ten standard deviations."""
        chance = self.users * ((1 + self.noise_messages) * self.bins - 1) * self._others.probability
        if abs(supported - self.users - chance) > 10 * math.sqrt(chance) + 10 * self.bins:
            raise DataError(
                f"messages that support bins {supported} times do not fit {self.users} people in {readable(self.bins)} "
                f"bins, who do so about {self.users + chance:.0f} times; give the number who reported as reports="
            )

    def for_reports(self, reports: int | None) -> Self:
        """This protocol as it really ran when only so many people reported: same randomizer, fewer messages."""
        return self if reports is None or reports == self.users else ran_with(self, reports)

    def describe(self, *, beta: float = 0.05, drawn: bool = False) -> str:
        """The guarantee, its conditions and the error to expect, in words."""
        return describe_release(
            self,
            bins=self.bins,
            noise=f"Everyone sends {self.noise_messages} noise messages beside the real one.",
            error=self.error(beta).simultaneous,
            beta=beta,
            drawn=drawn,
        )


_RARE = 30
"""Elements so many that the number of supports is Poisson, for all that the choice of elements needs."""


def _fewest_noise(elements: int, epsilon: float, delta: float) -> int:
    """The fewest noise messages, from all people, that give (epsilon, delta); more never hurt."""

    def enough(noise: int) -> bool:
        return SupportCurve(noise_messages=noise, elements=elements).delta(epsilon) <= delta

    high = 1 << elements
    while not enough(high):
        high *= 2
    if high == 1 << elements:
        return bisect_left(range(1, high), True, key=enough) + 1
    # to a thousandth of a percent where there are very many, and never too few
    step = max(1, high >> 17)
    return high // 2 + step * (bisect_left(range(high // 2 + step, high, step), True, key=enough) + 1)


def _few_enough_elements(elements: int) -> int:
    if whole("elements", elements) > MOST_ELEMENTS:
        raise ParameterError(f"elements must be at most {MOST_ELEMENTS}, got {elements}")
    return int(elements)

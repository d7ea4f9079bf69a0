"""Support identification (Balcer and Cheu, section 3.3): which h items users hold.

Every user holds one of h unknown items out of d, uniformly at random. A histogram protocol that never reports an empty
bin names no wrong item, so it is right once every item of the support is reported. Two rules use the estimate:

    paper   items whose estimate is at least t + 1 people, where t bounds all errors with probability 199/200
    any     every reported item: nothing else can be reported, so no threshold is needed

The probability of success is a coupon collector's: n users hold one of h items each, and an item that c users hold is
found with a known probability q(c), independently of the others. All items are found with probability

    E[q(C_1) ... q(C_h)] = f^(*h)(n) / P(N = n),        f(c) = q(c) P(C = c),   C ~ Poisson(n / h),   N ~ Poisson(n),

because multinomial counts are independent Poisson counts given their sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting import theorems
from shuffledp.errors import DataError, ParameterError, TooFewUsersError
from shuffledp.estimators.base import Truncating
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.tally import Tally
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.randomness import generator
from shuffledp.validation import MOST_USERS, head_count, one_of, open_probability, target_delta, target_epsilon, whole

TARGET = 0.99
"""The probability of success in the paper's problems."""

_LOG_TAIL = 60 * math.log(2)
"""Each tail of a Poisson distribution is cut off where Bernstein's bound is 2^-60."""


def chance_all_found(*, users: int, items: int, chance: Callable[[int], float], wanted: int | None = None) -> float:
    """The probability that all items, or the `wanted` first of them, are found; off by less than 1e-9."""
    users, items = head_count("users", users), whole("items", items)
    wanted = items if wanted is None else min(items, whole("wanted", wanted))
    first, weights = _poisson(users / items)
    found = weights * [min(1.0, chance(first + step)) for step in range(weights.size)]
    rest_first, rest = _poisson(users / items * (items - wanted)) if wanted < items else (0, np.ones(1))
    at = users - wanted * first - rest_first
    size = 1 << (wanted * (weights.size - 1) + rest.size).bit_length()
    product = np.fft.rfft(found, size) ** wanted * np.fft.rfft(rest, size)
    if not 0 <= at < size:
        return 0.0
    joint = float(np.fft.irfft(product, size)[at])
    return min(1.0, max(0.0, joint * math.exp(-_log_poisson_at_its_mean(users))))


def everybody_has(*, users: int, items: int, copies: int) -> float:
    """The probability that each item is held by at least `copies` of the people."""
    return chance_all_found(users=users, items=items, chance=lambda count: float(count >= copies))


def _poisson(mean: float) -> tuple[int, NDArray[np.float64]]:
    """The Poisson distribution on a window around its mean, from ratios of neighbours outwards from the mode.

    Its closed form is a difference of terms as large as the mean, which leaves few digits for many people.
    """
    reach = _LOG_TAIL / 3 + math.sqrt(_LOG_TAIL**2 / 9 + 2 * _LOG_TAIL * mean)
    first, last, mode = max(0, math.floor(mean - reach)), math.ceil(mean + reach), math.floor(mean)
    steps = np.log(mean / np.arange(first + 1, last + 1))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logs - logs[mode - first])
    return first, weights / weights.sum()


def _log_poisson_at_its_mean(n: int) -> float:
    """The logarithm of e^-n n^n / n!, by Stirling's series where the terms would cancel."""
    if n < 100:  # from there on the next term of the series is below 1e-13
        return n * math.log(n) - n - math.lgamma(n + 1)
    return -math.log(2 * math.pi * n) / 2 - 1 / (12 * n) + 1 / (360 * n**3)


RULES = ("any", "paper")
_HALF_RISK = 1 / 200
"""The failure probability that the paper's proof allows for the sample and for the noise, each."""


class ReportChance(Protocol):
    """From a true count to the probability that its bin is reported."""

    def __call__(self, count: int, *, at_least: float = 0.0) -> float:
        """With an estimate of `at_least` people."""


@dataclass(frozen=True, kw_only=True)
class SupportIdentification:
    """The (h, d) problem: h is `items_in_support`; d, the number of `bins`, does not affect such protocols."""

    items_in_support: int
    bins: int

    def __post_init__(self) -> None:
        items = whole("items_in_support", self.items_in_support)
        if items > whole("bins", self.bins):
            raise ParameterError(f"items_in_support={items} must not exceed bins={self.bins}")

    def draw(self, *, rng: np.random.Generator | None = None) -> tuple[int, ...]:
        """Sample a random support: h different bins, in increasing order."""
        source, chosen = generator(rng), set[int]()
        size = math.ceil(self.bins.bit_length() / 8)
        while len(chosen) < self.items_in_support:
            number = int.from_bytes(source.bytes(size), "little") >> (8 * size - self.bins.bit_length())
            if number < self.bins:
                chosen.add(number)
        return tuple(sorted(chosen))

    def sample(self, support: tuple[Hashable, ...], *, users: int, rng: np.random.Generator | None = None) -> Tally:
        """Sample the number of people who hold each item; each holds a uniformly random one."""
        if len(set(support)) != self.items_in_support:
            raise DataError(f"a support of {self.items_in_support} different items is needed, got {len(support)}")
        counts = generator(rng).multinomial(head_count("users", users), np.full(len(support), 1 / len(support)))
        return Tally.from_mapping(dict(zip(support, counts.tolist(), strict=True)))

    def identify(self, estimate: Estimate, *, error: float | None = None) -> frozenset[Any]:
        """The labels that are found: with an `error` t by the paper's rule, without one every reported label."""
        least = -math.inf if error is None else error + 1
        return frozenset(
            label
            for label, count in zip(estimate.labels.tolist(), estimate.counts.tolist(), strict=True)
            if count >= least
        )

    def error_bound(self, protocol: HistogramProtocol) -> float:
        """The bound t on the errors of the h occupied bins, except with probability 1/200."""
        return protocol.error(_HALF_RISK, occupied_bins=self.items_in_support).simultaneous

    def success(self, protocol: HistogramProtocol, *, rule: str = "any") -> float:
        """The exact probability that exactly the support is found, over the sample and the noise."""
        chance = report_chance(protocol)
        at_least = self.error_bound(protocol) + 1 if one_of("rule", rule, RULES) == "paper" else 0.0
        return chance_all_found(
            users=protocol.users,
            items=self.items_in_support,
            chance=lambda count: chance(count, at_least=at_least),
        )

    def sample_size(
        self, protocol: Callable[[int], HistogramProtocol], *, rule: str = "any", success: float = TARGET
    ) -> int:
        """The smallest number of people with whom the support is found with the given probability.

        `protocol` creates the protocol for a number of people.
        """
        target, rule = open_probability("success", success), one_of("rule", rule, RULES)
        return smallest_users(
            lambda users: self.success(protocol(users), rule=rule), least=possible_users(protocol), target=target
        )

    def claimed_sample_size(self, *, epsilon: float, delta: float) -> int:
        """The number of people in the paper's proof with its own constants, for (epsilon, delta) in total.

        P^hist for half of epsilon and delta has error at most t (Theorem 3.2) except with probability 1/200. Then n is
        the smallest number with which every item occurs 2 t + 1 times except with probability 1/200.
        """
        epsilon, delta, items = target_epsilon(epsilon), target_delta(delta), self.items_in_support
        if math.log(delta) >= -math.log(200 * items) / 25:  # the claim's condition, delta < (1 / (200 h))^(1/25)
            raise ParameterError(f"delta={delta:g} is not below (1 / 200 h)^(1/25), as the claim requires")
        epsilon, delta = epsilon / 2, delta / 2
        bound = theorems.sum_error_bound(epsilon=epsilon, delta=delta, beta=_HALF_RISK / items)
        copies = math.ceil(2 * bound + 1)
        return smallest_users(
            lambda users: everybody_has(users=users, items=items, copies=copies),
            least=theorems.theorem_users(epsilon=epsilon, delta=delta),
            target=1 - _HALF_RISK,
        )


def possible_users(protocol: Callable[[int], object]) -> int:
    """The fewest people for whom a protocol can be made."""
    try:
        protocol(1)
    except TooFewUsersError as error:
        return error.minimum_users
    return 1


def smallest_users(success: Callable[[int], float], *, least: int = 1, target: float = TARGET) -> int:
    """The number n >= least with success(n) >= target > success(n - 1) that doubling and bisection finds.

    Success grows with n except for ripples (noise distributions and thresholds are whole numbers).
    """
    low, high = whole("least", least) - 1, least
    while success(high) < target:
        if high >= MOST_USERS:
            raise ParameterError(f"no number of people up to {MOST_USERS:g} reaches a success of {target:g}")
        low, high = high, min(2 * high, MOST_USERS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if success(middle) >= target else (middle, high)
    return high


def report_chance(protocol: HistogramProtocol) -> ReportChance:
    """The probability that a bin of a zero-preserving protocol is reported."""
    estimator = protocol.estimator
    if not isinstance(estimator, Truncating):
        raise ParameterError(
            f"{type(protocol).__name__} cannot be used: it has false positives, and every reported bin counts as "
            "found; use a protocol without them, such as Histogram"
        )
    return estimator.report_chance

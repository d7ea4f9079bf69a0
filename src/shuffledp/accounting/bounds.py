"""Privacy curves as upper bounds: what all curves share, several rows of one person, and closed forms.

A curve for one replaced row is a bound for k rows, which are replaced in k steps: for epsilon = e_1 + ... + e_k,

    delta_k(epsilon) <= sum over i of e^(e_1 + ... + e_(i-1)) delta(e_i).

Two splits of epsilon are tried: equal parts, which is best for a pure guarantee, and parts that grow by the same amount
from step to step, which is best for Gaussian noise. Curves of shifted noise are exact for k rows instead
(accounting/curve.py); docs/proofs/exact-privacy.md, "Several rows of one person", has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any, Protocol

from shuffledp.accounting.rounding import SEVERAL_OPERATIONS
from shuffledp.accounting.search import MOST_EPSILON, first_safe, log_excess, smallest_epsilon
from shuffledp.accounting.strength import Strength
from shuffledp.errors import ParameterError
from shuffledp.validation import open_probability, real, whole

REPLACE_ONE = "datasets of equal size in which what one person holds is replaced"

_STRIDE = 1.05
"""The factor between the epsilons that are tried. The bound is not monotone: it grows where delta stops falling."""

_WORSE = 2.0
"""The search ends where the bound is this many times its smallest value so far."""

_MOST_PARTS = 1000
"""The most parts of different sizes; more rows, which have hardly any privacy left, get equal parts, in closed form."""

_TOLERANCE = 1e-5
"""The precision of an epsilon; a coarse one saves evaluations of curves that take long."""


def not_negative(epsilon: Any, *, name: str = "epsilon") -> float:
    """Return the epsilon at which a curve is asked for."""
    if (found := real(name, epsilon)) < 0:
        raise ParameterError(f"{name} must not be negative, got {found:g}")
    return found


class Curve(Protocol):
    """A privacy curve of any release; by default an upper bound for one replaced row.

    Curves are frozen records: equal ones are counted together if several releases are composed.
    """

    @property
    def neighbours(self) -> str:
        """The neighbouring relation of datasets."""
        return REPLACE_ONE

    @property
    def exact(self) -> bool:
        """Whether the curve is exact, up to rounding, or an upper bound."""
        return False

    def delta(self, epsilon: float) -> float:
        """A delta such that the release is (epsilon, delta)-private; never below the smallest."""

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for which the curve gives this delta; inf if there is none."""
        return smallest_epsilon(self.delta, delta)

    def for_rows(self, rows: int) -> Curve:
        """The curve of a person with this number of rows, all of which are replaced; itself for one row."""
        return bound_for_rows(self, rows)

    def __hash__(self) -> int:
        return object.__hash__(self)


def rows_of(curve: Curve, rows: int) -> int:
    """Check a number of rows, which only the curve of one row can be asked for."""
    if curve.neighbours != REPLACE_ONE:
        raise ParameterError(f"for_rows needs a curve for {REPLACE_ONE}, got one for {curve.neighbours}")
    return whole("rows", rows)


def bound_for_rows(curve: Curve, rows: int) -> Curve:
    """The curve itself for one row, and for several rows the upper bound that holds for every curve."""
    number = rows_of(curve, rows)
    return curve if number == 1 else GroupCurve(curve=curve, rows=number)


def replaced_rows(rows: int) -> str:
    """The neighbouring relation of a person with this number of rows."""
    return REPLACE_ONE if rows == 1 else f"datasets of equal size in which {rows} rows of one person are replaced"


_LARGEST_DELTA = Decimal("0.01")
"""The largest delta at which the privacy of several rows is stated; a larger one guarantees nothing."""


@dataclass(frozen=True, kw_only=True)
class GroupPrivacy:
    """The (epsilon, delta) guarantee of a person with `rows` rows; epsilon is inf if nothing is guaranteed.

    `exact` says that epsilon is exact but for rounding; otherwise it is an upper bound.
    """

    rows: int
    epsilon: float
    delta: float
    exact: bool

    @property
    def strength(self) -> Strength:
        """How well it protects the person."""
        return Strength.of(self.epsilon, self.delta)


@lru_cache(maxsize=128)
def group_privacy(curve: Curve, rows: int, *, epsilon: float, delta: float) -> GroupPrivacy:
    """The privacy of several rows if one row has (epsilon, delta): at the same delta, or at a power of ten times it.

    Some releases reveal the person with a fixed probability, which grows with the rows. No epsilon is then enough at
    the same delta.
    """
    several = curve.for_rows(rows)
    if not delta:
        return GroupPrivacy(rows=rows, epsilon=rows * epsilon, delta=0.0, exact=False)
    allowed = Decimal(repr(float(delta)))
    largest = max(allowed, _LARGEST_DELTA)
    while allowed <= largest:
        if math.isfinite(found := several.epsilon(float(allowed))):
            return GroupPrivacy(rows=rows, epsilon=found, delta=float(allowed), exact=several.exact)
        allowed = allowed.scaleb(1)
    return GroupPrivacy(rows=rows, epsilon=math.inf, delta=delta, exact=several.exact)


@dataclass(frozen=True, kw_only=True)
class GroupCurve(Curve):
    """An upper bound for `rows` rows of one person, from the `curve` of one row: no event need be best in all steps."""

    curve: Curve
    rows: int

    def __post_init__(self) -> None:
        whole("rows", self.rows, minimum=2)

    @property
    def neighbours(self) -> str:
        """Datasets in which several rows are replaced."""
        return replaced_rows(self.rows)

    def delta(self, epsilon: float) -> float:
        """An upper bound on the delta for an epsilon: the smaller one of two splits."""
        epsilon = not_negative(epsilon)
        # the first part must not be negative
        growth = min(self._growth, 2 * epsilon / (self.rows * (self.rows - 1)))
        growing = self._split(epsilon, growth) if self.rows <= _MOST_PARTS else 1.0
        return min(1.0, self._equal(epsilon), growing)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon that was found for this delta; inf if there is none."""
        delta = open_probability("delta", delta)
        # every term of a split is at least the delta of its part, so no part may be smaller
        if (start := self.rows * self.curve.epsilon(delta)) > MOST_EPSILON:
            return math.inf
        low = 0.0
        high = max(start, _TOLERANCE)
        reached = least = self.delta(high)
        while reached > delta:
            low, high = high, _STRIDE * high
            reached = self.delta(high)
            least = min(least, reached)
            if reached > _WORSE * least or high > MOST_EPSILON:
                return math.inf
        if not low and self.delta(0.0) <= delta:
            return 0.0
        return first_safe(lambda at: log_excess(self.delta(at), delta), low, high, tolerance=_TOLERANCE)

    @cached_property
    def _growth(self) -> float:
        """The square of the shift of Gaussian noise with the same total variation distance, delta(0)."""
        distance = min(self.curve.delta(0.0), 1 - SEVERAL_OPERATIONS)
        return (2 * NormalDist().inv_cdf((1 + distance) / 2)) ** 2

    def _equal(self, epsilon: float) -> float:
        """The bound for equal parts: a geometric sum."""
        part = epsilon / self.rows * (1 - SEVERAL_OPERATIONS)
        if part * self.rows > MOST_EPSILON:
            return 1.0
        factor = self.rows if part <= 0 else math.expm1(self.rows * part) / math.expm1(part)
        return factor * self.curve.delta(part) * (1 + SEVERAL_OPERATIONS)

    def _split(self, epsilon: float, growth: float) -> float:
        """The bound for parts that grow by `growth` and add up to epsilon, up to rounding, which only lowers them."""
        total = before = 0.0
        for step in range(self.rows):
            part = epsilon / self.rows + growth * (step - (self.rows - 1) / 2)
            part = max(0.0, part * (1 - SEVERAL_OPERATIONS))
            if before > MOST_EPSILON:
                return 1.0
            total += math.exp(before) * self.curve.delta(part)
            before += part
        return total * (1 + SEVERAL_OPERATIONS)


@dataclass(frozen=True, kw_only=True)
class PureCurve(Curve):
    """The curve of a release whose likelihood ratios are at most e^epsilon0, with `pure_epsilon` as epsilon0.

    Binary randomized response is the worst case (Kairouz, Oh and Viswanath 2015), so that

        delta(epsilon) <= (e^epsilon0 - e^epsilon) / (1 + e^epsilon0)   below epsilon0, and 0 from there on.
    """

    pure_epsilon: float
    neighbours: str = REPLACE_ONE

    def delta(self, epsilon: float) -> float:
        """An upper bound on the delta for an epsilon."""
        return min(1.0, response_delta(epsilon, self.pure_epsilon) * (1 + SEVERAL_OPERATIONS))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for which the bound is at most delta; epsilon0 for delta = 0."""
        return self.pure_epsilon if delta == 0 else min(self.pure_epsilon, smallest_epsilon(self.delta, delta))

    def for_rows(self, rows: int) -> Curve:
        """The curve of a person with this number of rows: likelihood ratios multiply."""
        number = rows_of(self, rows)
        return PureCurve(pure_epsilon=number * self.pure_epsilon, neighbours=replaced_rows(number))


def response_delta(epsilon: float, pure_epsilon: float) -> float:
    """The delta of binary randomized response that is `pure_epsilon`-private, up to a few roundings."""
    epsilon = not_negative(epsilon)
    if epsilon >= pure_epsilon:
        return 0.0
    # divided by e^epsilon0, so that nothing overflows
    return -math.expm1(epsilon - pure_epsilon) / (1 + math.exp(-pure_epsilon))


@dataclass(frozen=True, kw_only=True)
class StatedCurve(Curve):
    """The worst of all releases with this guarantee, `stated_epsilon` and `stated_delta`, below as epsilon0 and delta0.

    It reveals everything with probability delta0 and is binary randomized response otherwise (Kairouz, Oh and
    Viswanath 2015), so that

        delta(epsilon) <= delta0 + (1 - delta0) (e^epsilon0 - e^epsilon) / (1 + e^epsilon0)

    below epsilon0, and delta0 from there on.
    """

    stated_epsilon: float
    stated_delta: float

    def __post_init__(self) -> None:
        check_guarantee(self.stated_epsilon, self.stated_delta, name="stated_{}")

    def delta(self, epsilon: float) -> float:
        """An upper bound on the delta for an epsilon."""
        response = response_delta(epsilon, self.stated_epsilon)
        if not response:
            return self.stated_delta
        return min(1.0, (self.stated_delta + (1 - self.stated_delta) * response) * (1 + SEVERAL_OPERATIONS))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for which the bound is at most delta; inf if delta is below the stated one."""
        if delta == self.stated_delta:
            return self.stated_epsilon
        return min(self.stated_epsilon, smallest_epsilon(self.delta, delta)) if delta > self.stated_delta else math.inf


def check_guarantee(epsilon: Any, delta: Any, *, name: str = "{}") -> None:
    """Raise an error unless epsilon and delta form a guarantee; `name` gives the names used in the message."""
    not_negative(epsilon, name=name.format("epsilon"))
    if not 0 <= (found := real(name.format("delta"), delta)) < 1:
        raise ParameterError(f"{name.format('delta')} must be at least 0 and below 1, got {found:g}")


_LARGEST_EXPONENT = 700.0
"""The largest exponent: above it e^epsilon overflows, and delta is 1 anyway."""


@dataclass(frozen=True, kw_only=True)
class SplitAndMixCurve(Curve):
    """The curve of the noise, plus (1 + e^epsilon) 2^-sigma for what shares reveal beyond their sum: it is bounded."""

    noise: Curve
    security_bits: int
    neighbours: str = REPLACE_ONE

    def delta(self, epsilon: float) -> float:
        """The delta for an epsilon."""
        leak = (1 + math.exp(min(epsilon, _LARGEST_EXPONENT))) * 2.0**-self.security_bits
        return min(1.0, self.noise.delta(epsilon) + leak)

    def for_rows(self, rows: int) -> Curve:
        """The curve of a person with this number of rows: the shares reveal as much beyond their sum as for one."""
        number = rows_of(self, rows)
        return replace(self, noise=self.noise.for_rows(number), neighbours=replaced_rows(number))

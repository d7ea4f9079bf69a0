"""Validation of parameters at construction: each check names the parameter, its value and what is needed."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from shuffledp.errors import ParameterError
from shuffledp.formatting import printable, readable

MOST_USERS = 10**12
MOST_VALUES = 256
"""The most values of one person: noise grows with their number, and larger calibrations take over half a minute."""

LEAST_EPSILON, MOST_EPSILON = 1e-3, 50.0
LEAST_DELTA = 1e-20
"""The range of epsilon in which accounting resolves every tail; outside of it a guarantee is useless."""

LEAST_BETA = 1e-15
"""The smallest beta: error bounds divide beta among up to 10^12 bins, and tails are resolved down to 2^-100 = 8e-31."""


def whole(name: str, value: Any, *, minimum: int = 1) -> int:
    """Return a whole number of at least `minimum`, as an exact Python int that can be printed."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterError(f"{name} must be a whole number (an int), got {_shown(value)}")
    if value < minimum:
        raise ParameterError(f"{name} must be at least {minimum}, got {int(value)}")
    return printable(int(value))


def real(name: str, value: Any) -> float:
    """Return a finite real number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ParameterError(f"{name} must be a number, got {_shown(value)}")
    number = float(value)
    if not math.isfinite(number):
        raise ParameterError(f"{name} must be finite, got {number}")
    return number


def head_count(name: str, value: Any) -> int:
    """Return a number of people."""
    number = whole(name, value)
    if number > MOST_USERS:
        raise ParameterError(f"{name} must be at most {MOST_USERS:,}, got {readable(number)}")
    return number


def target_epsilon(value: Any) -> float:
    """Return the epsilon of a guarantee."""
    epsilon = real("epsilon", value)
    if epsilon <= 0:
        raise ParameterError(f"epsilon must be above 0, got {epsilon:g}; 1 is a common choice")
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise ParameterError(f"epsilon must lie between {LEAST_EPSILON:g} and {MOST_EPSILON:g}, got {epsilon:g}")
    return epsilon


def open_probability(name: str, value: Any, *, hint: str = "") -> float:
    """Return a probability strictly between 0 and 1."""
    probability = real(name, value)
    if not 0 < probability < 1:
        raise ParameterError(f"{name} must lie strictly between 0 and 1, got {probability:g}{hint}")
    return probability


def target_delta(value: Any) -> float:
    """Return the delta of a guarantee."""
    delta = open_probability("delta", value, hint="; choose it well below 1 / users")
    if delta < LEAST_DELTA:
        raise ParameterError(f"delta must be at least {LEAST_DELTA:g}, got {delta:g}")
    return delta


def failure_probability(value: Any) -> float:
    """Return the probability beta with which an error bound may fail."""
    beta = open_probability("beta", value, hint="; 0.05 gives 95 % intervals")
    if beta < LEAST_BETA:
        raise ParameterError(f"beta must be at least {LEAST_BETA:g}, got {beta:g}; 0.05 gives 95 % intervals")
    return beta


def honest_among(honest_users: Any, *, users: int) -> int:
    """Return the number of users who are known to follow the protocol; None stands for all."""
    if honest_users is None:
        return users
    honest = head_count("honest_users", honest_users)
    if honest > users:
        raise ParameterError(f"honest_users={honest} cannot exceed users={users}")
    return honest


def values_each(value: Any) -> int:
    """Return the number of values that one person may hold."""
    number = whole("values_per_person", value)
    if number > MOST_VALUES:
        raise ParameterError(f"values_per_person must be at most {MOST_VALUES:,}, got {readable(number)}")
    return number


def reporting(reports: Any, *, users: int) -> int:
    """Return the number of users who reported."""
    number = head_count("reports", reports)
    if number > users:
        raise ParameterError(f"reports={number} exceeds users={users}: construct the protocol for more users")
    return number


def positive(name: str, value: Any) -> float:
    """Return a positive number, which may be infinite."""
    if not isinstance(value, bool) and isinstance(value, numbers.Real) and value == math.inf:
        return math.inf
    number = real(name, value)
    if number <= 0:
        raise ParameterError(f"{name} must be above 0, got {number:g}")
    return number


def one_of(name: str, value: Any, options: Iterable[str]) -> str:
    """Return one of some names; the error suggests the closest one."""
    known = list(options)
    if isinstance(value, str) and value in known:
        return value
    near = get_close_matches(value, known, n=1) if isinstance(value, str) else []
    meant = f": did you mean {near[0]}?" if near else ""
    raise ParameterError(f"{name} must be one of {', '.join(known)}; got {_shown_text(value)}{meant}")


def _shown_text(value: Any) -> str:
    return repr(value) if isinstance(value, str) and len(value) <= _MOST_SHOWN else _shown(value)


_MOST_SHOWN = 40
"""Characters of a parameter in an error."""


def _shown(value: Any) -> str:
    """Format a parameter for an error: short, with its type."""
    text = repr(value)
    return f"{text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 3] + '...'} ({type(value).__name__})"

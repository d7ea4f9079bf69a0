"""How often CSU+19 flips a bit (Cheu, Smith, Ullman, Zeber and Zhilyaev, "Distributed differential privacy via
shuffling").

With probability l / n a bit is replaced by a fair coin, so it is flipped with probability f = l / (2 n). Of n people of
whom c hold a 1, Bin(c, 1 - f) + Bin(n - c, f) send one.
"""

from __future__ import annotations

import math
from functools import lru_cache

from shuffledp.accounting import calibration
from shuffledp.accounting.blanket_curve import BlanketCurve
from shuffledp.checks import real
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.noise.binomial import round_up_to_grid, safely_up
from shuffledp.protocols.target import Target

_NO_TRUTH = 1e-9
"""Below this many people's worth of truth, the published number of coins leaves nothing to estimate from."""


def check_flip(flip_probability: float) -> None:
    """Refuses what cannot be sampled exactly, or flips every bit as often as not."""
    flip = real("flip_probability", flip_probability)
    if not 0 < flip < 0.5 or flip != round_up_to_grid(flip):
        raise ParameterError(f"flip_probability must be a multiple of 2^-53 strictly between 0 and 1/2, got {flip!r}")


def blanket_curve(users: int, flip_probability: float, *, moved_bits: int) -> BlanketCurve:
    """An upper bound of the privacy curve, with a lower one beside it, where a replaced value changes some bits."""
    return BlanketCurve(users=users, flip_probability=flip_probability, shifts=moved_bits)


def fewest_flips(target: Target, *, moved_bits: int) -> float:
    """The smallest flip probability that the upper bound allows for the target."""
    # flipping every bit this often is private without anybody else
    alone = safely_up(1 / (1 + math.exp(target.epsilon / moved_bits)))
    found = _allowed_flips(target.honest, target.epsilon, target.delta, moved_bits)
    return alone if found is None else min(found, alone)


@lru_cache(maxsize=64)
def _allowed_flips(users: int, epsilon: float, delta: float, moved_bits: int) -> float | None:
    """Computed once, whoever asks: it takes up to seconds, and a comparison asks for every number of values."""
    return calibration.smallest_probability(
        lambda people, flip: blanket_curve(people, flip, moved_bits=moved_bits),
        users=users,
        epsilon=epsilon,
        delta=delta,
        shifts=moved_bits,
    )


def published_flips(target: Target, *, moved_bits: int) -> float:
    """The published flip probability, for a guarantee that is divided among the bits that move."""
    coins = published_coins(users=target.users, epsilon=target.epsilon / moved_bits, delta=target.delta / moved_bits)
    return safely_up(coins / (2 * target.users))


def published_coins(*, users: int, epsilon: float, delta: float) -> float:
    """L of CSU+19 for one sum: 64 ln(4/delta) / epsilon^2 where that is at most n / 3, else more than a third."""
    log = math.log(4 / delta)
    if epsilon >= math.sqrt(192 * log / users):
        return 64 * log / epsilon**2
    coins: float = users - epsilon * users**1.5 / math.sqrt(432 * log)
    if 2 * users * (1 - coins / users) ** 2 < _NO_TRUTH:
        raise TooFewUsersError(
            f"users={users} is too few for epsilon={epsilon:g}, delta={delta:g} with the published parameters",
            minimum_users=math.ceil(192 * log / epsilon**2),
        )
    return coins

"""Every specimen, by name."""

from __future__ import annotations

from collections.abc import Callable

from shuffledp.verification.drawn.local_specimens import bassily_smith, hadamard, hashing, response, unary
from shuffledp.verification.drawn.shuffled_specimens import (
    blanket,
    dummy,
    dummy_poisson,
    histogram,
    private_coin,
    public_coin,
    sparse,
)
from shuffledp.verification.drawn.specimen import Specimen
from shuffledp.verification.drawn.sum_specimens import SHARERS, binary_sum, blanket_sum, real_sum

SPECIMENS: dict[str, Callable[[], Specimen]] = {
    "zsum": binary_sum,
    "blanket-sum": blanket_sum,
    "real-sum": lambda: real_sum(honest_users=SHARERS // 2),
    "response": response,
    "unary-symmetric": lambda: unary(optimised=False),
    "unary": unary,
    "hashing": hashing,
    "hadamard": hadamard,
    "bassily-smith": bassily_smith,
    "shuffled-response": lambda: response(shuffled=True),
    "shuffled-hadamard": lambda: hadamard(shuffled=True),
    "shuffled-unary": lambda: unary(shuffled=True),
    "shuffled-hashing": lambda: hashing(shuffled=True),
    "blanket": blanket,
    "public-coin": public_coin,
    "private-coin": private_coin,
    "hist": histogram,
    "hist-unbiased": lambda: histogram(truncated=False),
    "sparse": sparse,
    "dummy": dummy,
    "dummy-poisson": dummy_poisson,
}
"""By the name under which their protocol is verified."""

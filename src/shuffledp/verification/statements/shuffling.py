"""Randomness and the shuffler: fresh keys of full size, and a permutation of everything that is uniform."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator
from itertools import permutations

import numpy as np

from shuffledp.pipeline.shuffler import shuffle
from shuffledp.protocols.shuffled.public_coin import fresh_coin
from shuffledp.randomness import child, generator, keyed, random_words, secure_rng
from shuffledp.verification.drawn.agreement import Agreement, agreement, counted, worst_of
from shuffledp.verification.statements.verdict import DRAWN, Verdict

_KEYS = 80
"""Keys that are looked at: a bit that never changes would be equal in all of them by chance once in 2^79 times."""
_KEY_BITS = 128
_WORDS = 20_000
_RUNS = 1_500
_MARKED, _TOGETHER = 10, 60
"""Messages that are marked, the first ones, and all of a small shuffle."""
_LARGE = (1 << 20) + 5000
"""So many messages that they are shuffled in buckets."""


def randomness() -> Iterator[Verdict]:
    """Keys of generators, the words they draw, and public coins."""
    secret = secrets.token_bytes(32)
    parent = secure_rng()
    sources: dict[str, Callable[[int], np.random.Generator]] = {
        "fresh generator": lambda _: generator(None),
        "generator of a part": lambda _: child(parent),
        "generator of a task": lambda task: keyed(secret, task),
        "generator of a run": lambda run: keyed(secrets.token_bytes(32), 1),
    }
    for words, source in sources.items():
        keys = [_key(source(at)) for at in range(_KEYS)]
        yield _counted(_fair(keys, _KEY_BITS), f"{words}, bits of its key", f"share of {_KEYS} keys, {_KEY_BITS} bits")
    yield _counted(_fair([fresh_coin() for _ in range(_KEYS)], 64), "public coin, bits", f"share of {_KEYS} coins")
    drawn = random_words(_WORDS, secure_rng()).tolist()
    yield _counted(_fair(drawn, 64), "random words, bits", f"share of {_WORDS:,} words")


def _key(rng: np.random.Generator) -> int:
    """The key of an AES generator: the first words of its schedule."""
    low, high = rng.bit_generator.state["s"]["seed"][:2]
    return int(low) | int(high) << 64


def _fair(numbers: list[int], bits: int) -> Agreement:
    """Every bit is a fair coin."""
    ones = [(0.5, sum(number >> bit & 1 for number in numbers)) for bit in range(bits)]
    return counted(ones, draws=len(numbers))


def shuffler() -> Iterator[Verdict]:
    """All orders of few messages, where the first of some messages go, and the same for very many."""
    orders = [tuple(shuffle(np.arange(4)).tolist()) for _ in range(_RUNS)]
    law = dict.fromkeys(permutations(range(4)), 1 / 24)
    yield _counted(agreement(orders, law), "shuffler, orders of 4", f"share of {_RUNS:,} shuffles")
    people = [np.array([person < _MARKED]) for person in range(_TOGETHER)]
    stayed = [int(shuffle(people)[:_MARKED].sum()) for _ in range(_RUNS)]
    every = math.comb(_TOGETHER, _MARKED)
    places = {
        k: math.comb(_MARKED, k) * math.comb(_TOGETHER - _MARKED, _MARKED - k) / every for k in range(_MARKED + 1)
    }
    yield _counted(
        agreement(stayed, places, numbers=[float]), "shuffler, who stays in front", f"share of {_RUNS:,} shuffles"
    )
    yield _counted(_prefixes(), "shuffler, very many messages", f"share of marked ones in front, of {_LARGE:,}")


def _prefixes() -> Agreement:
    """Of messages of which the first half is marked, how many are marked among the first 2^i.

    Drawing without repeats is at least as concentrated as with (Hoeffding 1963): 2 exp(-2 t^2 / size).
    """
    half = _LARGE // 2
    mixed = shuffle(np.arange(_LARGE) < half)
    found = []
    for power in range(8, 20):
        size = 1 << power
        share = float(mixed[:size].mean())
        chance = 2 * math.exp(-2 * size * (share - half / _LARGE) ** 2)
        found.append(Agreement(draws=size, expected=half / _LARGE, seen=share, chance=min(1.0, chance)))
    return worst_of(found)


def _counted(agreed: Agreement, title: str, claim: str) -> Verdict:
    return Verdict.counted(agreed, statement=title, claim=claim, ran=DRAWN, oracle="uniform bits and orders")

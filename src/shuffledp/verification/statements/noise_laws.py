"""The laws of noise and the coins: what is drawn, against probabilities that are written down anew."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise import Binomial, CompoundPoisson, IntegerLaw
from shuffledp.noise.binomial import GRID_BITS, round_up_to_grid
from shuffledp.noise.clusters import Clusters
from shuffledp.noise.coins import count_heads, fair_heads, heads, packed_flips
from shuffledp.noise.compound_poisson import SIZE_GRID, poisson_table
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.noise.inversion import InversionTable
from shuffledp.randomness import secure_rng
from shuffledp.verification.drawn.agreement import Agreement, agreement, sum_agreement
from shuffledp.verification.exact import pairs
from shuffledp.verification.statements.verdict import DRAWN, ENUMERATED, RECOMPUTED, Verdict

_DRAWS = 20_000
"""A standard deviation that is off by a tenth shows."""
_FEW_DRAWS = 1_500
_MANY_TOSSES = 1 << 23
"""So many that their number of heads is drawn by inversion."""
_WINDOW = 1e-11
"""How far, relatively, a window's probabilities may be off (accounting/rounding.py, WINDOW_SUM)."""
_REACH = 200


def noise() -> Iterator[Verdict]:
    """Every law, then the coins."""
    third = round_up_to_grid(1 / 3)
    decay = round_up_to_grid(0.6)
    sizes = (SIZE_GRID // 2, SIZE_GRID // 4, SIZE_GRID // 4)
    laws: list[tuple[str, IntegerLaw, int, NDArray[np.float64]]] = [
        ("Binomial", Binomial(trials=40, probability=third), 0, pairs.binomial(40, third)),
        (
            "CompoundPoisson",
            CompoundPoisson(rate=3.0, size_weights=sizes),
            0,
            pairs.compound_poisson(3.0, np.array([0.5, 0.25, 0.25]), most=_REACH),
        ),
        ("DiscreteLaplace", DiscreteLaplace(decay=decay), -_REACH, pairs.discrete_laplace(decay, reach=_REACH)),
    ]
    for title, law, first, listed in laws:
        yield _drawn(title, law, first, listed)
        yield _window(title, law, first, listed)
    yield _poisson()
    yield _clusters()
    yield from _coins(third)
    yield _packed_digits(third)
    yield _edges()
    yield _grid()


def _counted(agreed: Agreement, title: str, claim: str) -> Verdict:
    return Verdict.counted(agreed, statement=title, claim=claim, ran=DRAWN, oracle="the law, from its definition")


def _drawn(title: str, law: IntegerLaw, first: int, listed: NDArray[np.float64]) -> Verdict:
    drawn = law.sample(_DRAWS, rng=secure_rng()).tolist()
    chances = {first + k: p for k, p in enumerate(listed.tolist())}
    return _counted(agreement(drawn, chances, numbers=[float]), f"{title}, sampler", f"share of {_DRAWS:,} draws")


def _window(title: str, law: IntegerLaw, first: int, listed: NDArray[np.float64]) -> Verdict:
    """The probabilities that accounting uses."""
    window = law.window
    off = max(
        abs(p / listed[k - first] - 1)
        for k, p in enumerate(window.pmf.tolist(), start=window.first)
        if 0 <= k - first < listed.size and listed[k - first] > pairs.NEVER
    )
    return Verdict.at_most(
        statement=f"{title}, probabilities",
        claim="largest relative difference",
        claimed=_WINDOW,
        exact=off,
        basis=RECOMPUTED,
        oracle="the law, from its definition",
    )


def _poisson() -> Verdict:
    rate = Fraction(7, 3)
    drawn = poisson_table(rate).sample(_DRAWS, rng=secure_rng()).tolist()
    law = {k: math.exp(-rate) * float(rate) ** k / math.factorial(k) for k in range(60)}
    return _counted(agreement(drawn, law, numbers=[float]), "Poisson, sampler", f"share of {_DRAWS:,} draws")


def _clusters() -> Verdict:
    """One person's part of the noise of two bins that three people make."""
    law = CompoundPoisson(rate=3.0, size_weights=(SIZE_GRID // 2, SIZE_GRID // 2))
    clusters, rng = Clusters(law=law, users=3, bins=2), secure_rng()
    part = pairs.compound_poisson(1.0, np.array([0.5, 0.5]), most=40).tolist()
    chances = {(i, j): p * q for (i, p), (j, q) in product(enumerate(part), repeat=2) if p * q > 1e-12}
    drawn = []
    for _ in range(_FEW_DRAWS):
        bins = clusters.draw_bins(1, rng=rng)
        drawn.append((int(np.count_nonzero(bins == 0)), int(np.count_nonzero(bins == 1))))
    return _counted(
        agreement(drawn, chances, numbers=[lambda row: row[0], lambda row: row[1], sum], complete=False),
        "Clusters, one person's part",
        f"share of {_FEW_DRAWS:,} draws",
    )


def _coins(probability: float) -> Iterator[Verdict]:
    """Coins that are tossed, counted and chosen."""
    rng, tosses = secure_rng(), 100
    fair = [fair_heads(tosses, rng) for _ in range(_FEW_DRAWS)]
    law = dict(enumerate(pairs.binomial(tosses, 0.5).tolist()))
    yield _counted(agreement(fair, law, numbers=[float]), "fair coins", f"share of {_FEW_DRAWS:,} counts")
    biased = [count_heads(tosses, probability, rng) for _ in range(_FEW_DRAWS)]
    law = dict(enumerate(pairs.binomial(tosses, probability).tolist()))
    yield _counted(agreement(biased, law, numbers=[float]), "biased coins", f"share of {_FEW_DRAWS:,} counts")
    which = [tuple(sorted(heads(4, probability, rng).tolist())) for _ in range(_FEW_DRAWS)]
    sets = {
        tuple(j for j, up in enumerate(shown) if up): probability ** sum(shown) * (1 - probability) ** (4 - sum(shown))
        for shown in product((False, True), repeat=4)
    }
    yield _counted(agreement(which, sets, numbers=[len]), "which coins show heads", f"share of {_FEW_DRAWS:,} tosses")
    packed = np.unpackbits(packed_flips(_DRAWS // 2, probability, rng)).reshape(-1, 4)
    rows = [tuple(np.flatnonzero(row).tolist()) for row in packed[:_DRAWS]]
    yield _counted(agreement(rows, sets, numbers=[len]), "packed coins", f"share of {len(rows):,} fours")
    rare = round_up_to_grid(1e-3)
    many = heads(_MANY_TOSSES, rare, rng)
    yield _counted(
        sum_agreement(many.size, draws=_MANY_TOSSES, mean=rare, variance=rare, largest=1.0),
        "many coins",
        f"share of {_MANY_TOSSES:,} coins",
    )
    yield from (_digits(p) for p in (probability, round_up_to_grid(1e-3) + 2.0**-53))


class _Scripted:
    """In place of a generator: words whose leading bits are given, and bytes that are given."""

    bit_generator = None
    """Not one whose words are taken as they are."""

    def __init__(self, bits: list[int], more: bytes = b"") -> None:
        self.bits, self.more = list(bits), more

    def integers(self, low: int, high: int, *, size: int, dtype: Any) -> NDArray[Any]:
        """As many words of 64 bits, from the leading bits of the script."""
        words = []
        for _ in range(size):
            if not self.bits:
                raise _NoMoreBitsError
            words.append(self.bits.pop(0))
        return np.array(words, dtype=dtype)

    def bytes(self, length: int) -> bytes:
        """The bytes of the script."""
        return self.more


class _NoMoreBitsError(Exception):
    """A coin is not decided by the bits that were given."""


def _digits(probability: float) -> Verdict:
    """The exact chance of heads of one coin: all strings of random bits that decide it are tried."""
    undecided: list[int] = []
    chance, place = Fraction(0), 0
    while undecided is not None and place < 64:
        place, open_bit = place + 1, None
        for bit in (0, 1):
            word = bit << 63
            try:
                shown = count_heads(1, probability, cast(Any, _Scripted([*undecided, word])))
            except _NoMoreBitsError:
                open_bit = word
                continue
            chance += Fraction(shown, 2**place)
        if open_bit is None:
            break
        undecided.append(open_bit)
    return Verdict(
        statement="one coin, every digit",
        claim="exact chance of heads",
        claimed=probability,
        exact=float(chance),
        basis=ENUMERATED,
        holds=chance == Fraction(probability),
        has_slack=False,
        ran=DRAWN,
        oracle="all random bits that decide it",
    )


def _packed_digits(probability: float) -> Verdict:
    """A coin shows heads where its uniform number is below the probability: numbers that differ at one digit first."""
    digits = int(Fraction(probability) * 2**GRID_BITS)
    wrong = 0
    for place in range(GRID_BITS):
        number = digits ^ 1 << (GRID_BITS - 1 - place)
        bits = [number >> (GRID_BITS - 1 - at) & 1 for at in range(GRID_BITS)]
        # the digits of the first of eight coins, a byte for each place, eight places to a word
        places = [bits[start : start + 8] for start in range(0, GRID_BITS, 8)]
        words = [sum(bit << (8 * at + 7) for at, bit in enumerate(part)) for part in places]
        shown = packed_flips(1, probability, cast(Any, _Scripted(words)))[0] >> 7
        wrong += bool(shown) != (number < digits)
    return Verdict.at_most(
        statement="packed coins, every digit",
        claim="numbers on the wrong side",
        claimed=0.0,
        exact=float(wrong),
        basis=ENUMERATED,
        oracle="a number that differs from the probability at each digit",
    )


def _grid() -> Verdict:
    """Probabilities are rounded up to what can be sampled, by less than one step."""
    numbers = [1e-3, 1 / 7 / 1024, math.exp(-20), 3 * 2.0**-53, 0.5]
    low = max((Fraction(p) - Fraction(round_up_to_grid(p))) * 2**GRID_BITS for p in numbers)
    return Verdict.at_most(
        statement="grid of probabilities",
        claim="steps below the number",
        claimed=0.0,
        exact=low,
        basis=ENUMERATED,
        oracle="fractions",
    )


def _edges() -> Verdict:
    """Inversion at the edge of two outcomes, 1 to 2: the random bits just below it give one, those at it the other."""
    table = InversionTable(first=0, weights=[1, 2])
    edge = (1 << 192) // 3
    drawn = [
        int(table.sample(1, rng=cast(Any, _Scripted([at >> 128], (at % 2**128).to_bytes(16, "little"))))[0])
        for at in (edge - 1, edge)
    ]
    return Verdict(
        statement="inversion, at an edge",
        claim="outcome of the bits at the edge less that below",
        claimed=1.0,
        exact=float(drawn[1] - drawn[0]),
        basis=ENUMERATED,
        holds=drawn == [0, 1],
        has_slack=False,
        ran=DRAWN,
        oracle="192 random bits on either side",
    )

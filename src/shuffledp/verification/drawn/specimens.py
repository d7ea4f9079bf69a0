"""A small instance of every protocol, beside the law of what one person sends, straight from the protocol's definition.

Nothing here asks the protocol for its law. A law goes from outcomes to probabilities; where it has no end, what is
left out is below 1e-12. The outcome of one person is what `spell` makes of their messages, that of several people their
tally: the sum of what each one `adds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.protocols import (
    AmplifiedOracle,
    BassilySmith,
    BinarySum,
    BlanketHistogram,
    BlanketSum,
    DummyHistogram,
    HadamardResponse,
    Histogram,
    LocalHashing,
    PrivateCoinHistogram,
    PublicCoinHistogram,
    RandomizedResponse,
    RealSum,
    SparseHistogram,
    UnaryEncoding,
)
from shuffledp.protocols.local.frequency_oracle import FrequencyOracle
from shuffledp.verification.exact.pairs import binomial, compound_poisson

FloatLaw = Mapping[Any, float]
Vector = tuple[int, ...]

EPSILON = 1.0
"""Of the local protocols."""
_QUARTER = 0.25
"""How often noise is made, or left out, or a bit is flipped: so often that a few hundred draws show it."""
_FEW = 4
"""People who are drawn together."""
_NEGLIGIBLE = 1e-12
_REACH = 24
"""Beyond it, noise of the small rates used here has less probability than that."""
_SHARERS = 40
"""People of a RealSum, which needs 19 honest ones: half of these make the noise that is promised."""
_NOISE_REACH = 60
"""Where the noise of a RealSum is left off: beyond it lies less than 1e-25."""


@dataclass(frozen=True, kw_only=True)
class Specimen:
    """A small `protocol`, and what its people should send.

    `messages` goes from a value to the law of what one person with it sends, as `spell` spells it; `adds` from that to
    what it adds to the tally.
    """

    protocol: Any
    values: tuple[Any, ...]
    dataset: tuple[Any, ...]
    messages: Callable[[Any], FloatLaw]
    spell: Callable[[NDArray[Any]], Hashable]
    adds: Callable[[Any], Vector]
    complete: bool = True
    law_of_tally: Callable[[Sequence[Any]], FloatLaw] | None = None

    @property
    def counts(self) -> Any:
        """The dataset as `sample_tally` wants it."""
        if isinstance(self.protocol, RealSum):
            return self.dataset
        if isinstance(self.protocol, BinarySum | BlanketSum):
            return sum(self.dataset)
        return np.bincount(self.dataset, minlength=self.protocol.bins)

    @property
    def labels(self) -> tuple[int, ...]:
        """What an estimate reports: the ones of a sum, or every bin."""
        return (1,) if isinstance(self.protocol, RealSum | BinarySum | BlanketSum) else tuple(range(self.protocol.bins))

    @property
    def truth(self) -> tuple[float, ...]:
        """The true count of each label."""
        if len(self.labels) == 1:
            return (float(sum(self.dataset)),)
        return tuple(float(self.dataset.count(label)) for label in self.labels)

    @property
    def modulus(self) -> int | None:
        """Of a tally that is a number modulo q."""
        return 1 << self.protocol.modulus_bits if isinstance(self.protocol, RealSum) else None

    def with_dataset(self, dataset: tuple[Any, ...]) -> Specimen:
        """The same for other people."""
        return replace(self, dataset=dataset)

    @cached_property
    def tally_law(self) -> FloatLaw:
        """The law of the tally of the dataset."""
        if self.law_of_tally is not None:
            return self.law_of_tally(self.dataset)
        together: dict[Vector, float] = {}
        for value in self.dataset:
            each = self.addition(value)
            together = _sum_of(together, each) if together else dict(each)
        return together

    def addition(self, value: Any) -> FloatLaw:
        """The law of what one person with this value adds to the tally."""
        if self.law_of_tally is not None:
            return self.law_of_tally((value,))
        law: dict[Vector, float] = {}
        for messages, p in self.messages(value).items():
            added = self.adds(messages)
            law[added] = law.get(added, 0.0) + p
        return law


def _sum_of(one: FloatLaw, other: FloatLaw) -> dict[Vector, float]:
    law: dict[Vector, float] = {}
    for (x, p), (y, q) in product(one.items(), other.items()):
        both = tuple(a + b for a, b in zip(x, y, strict=True))
        law[both] = law.get(both, 0.0) + p * q
    return law


def _sorted_numbers(messages: NDArray[Any]) -> Hashable:
    return tuple(sorted(messages.tolist()))


def _counts(symbols: int) -> Callable[[Any], Vector]:
    return lambda messages: tuple(messages.count(symbol) for symbol in range(symbols))


def _with_noise(sent: Sequence[int], symbols: Sequence[int], chance: float) -> dict[Hashable, float]:
    """What is sent for sure and, for each symbol by itself, once more with this chance."""
    law: dict[Hashable, float] = {}
    for chosen in product((False, True), repeat=len(symbols)):
        noise = [symbol for symbol, yes in zip(symbols, chosen, strict=True) if yes]
        key = tuple(sorted([*sent, *noise]))
        weight = chance ** len(noise) * (1 - chance) ** (len(symbols) - len(noise))
        law[key] = law.get(key, 0.0) + weight
    return law


def histogram(*, truncated: bool = True) -> Specimen:
    """The value, and every bin but with chance 1/4."""
    return Specimen(
        protocol=Histogram(users=_FEW, bins=2, missing_probability=_QUARTER, truncated=truncated),
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=lambda value: _with_noise([value], (0, 1), 1 - _QUARTER),
        spell=_sorted_numbers,
        adds=_counts(2),
    )


def binary_sum() -> Specimen:
    """As many ones as the bit, and one more but with chance 1/4."""
    return Specimen(
        protocol=BinarySum(users=_FEW, missing_probability=_QUARTER),
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=lambda bit: {(1,) * bit: _QUARTER, (1,) * (bit + 1): 1 - _QUARTER},
        spell=_sorted_numbers,
        adds=lambda messages: (len(messages),),
    )


def blanket_sum() -> Specimen:
    """The bit, or with chance 1/4 the other one."""
    return Specimen(
        protocol=BlanketSum(users=_FEW, flip_probability=_QUARTER),
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=lambda bit: {(bit,): 1 - _QUARTER, (1 - bit,): _QUARTER},
        spell=_sorted_numbers,
        adds=lambda messages: (sum(messages),),
    )


def blanket() -> Specimen:
    """The bins whose bits, a 1 for the value and a 0 for the other, are 1 after flips with chance 1/4."""

    def messages(value: int) -> FloatLaw:
        law = {}
        for flips in product((False, True), repeat=2):
            ones = tuple(j for j, flip in enumerate(flips) if (j == value) != flip)
            law[ones] = math.prod(_QUARTER if flip else 1 - _QUARTER for flip in flips)
        return law

    return Specimen(
        protocol=BlanketHistogram(users=_FEW, bins=2, flip_probability=_QUARTER),
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=messages,
        spell=_sorted_numbers,
        adds=_counts(2),
    )


def dummy() -> Specimen:
    """The value, and a dummy for every bin with chance 1/4."""
    return Specimen(
        protocol=DummyHistogram(users=_FEW, bins=2, noise=Binomial(trials=_FEW, probability=_QUARTER)),
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=lambda value: _with_noise([value], (0, 1), _QUARTER),
        spell=_sorted_numbers,
        adds=_counts(2),
    )


def public_coin() -> Specimen:
    """The cells of the value in two rows, and every cell with chance 1/4; a coin that keeps the values apart."""
    rows = 2
    for coin in range(1000):
        protocol = PublicCoinHistogram(
            users=_FEW, bins=2, rows=rows, width=2, noise=Binomial(trials=_FEW, probability=_QUARTER), coin=coin
        )
        cells = [protocol.hashes.of(np.array([value])).ravel().tolist() for value in (0, 1)]
        if not {*cells[0]} & {*cells[1]}:
            break
    return Specimen(
        protocol=protocol,
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=lambda value: _with_noise(cells[value], range(2 * rows), _QUARTER),
        spell=_sorted_numbers,
        adds=_counts(2 * rows),
    )


def private_coin() -> Specimen:
    """Two elements of the value's half of all elements, and a message of two of all of them."""
    protocol = PrivateCoinHistogram(users=_FEW, bins=2, elements=2, noise_messages=1)
    pairs = list(product(range(1 << protocol.bits_per_element), repeat=2))

    def supports(message: tuple[int, ...], value: int) -> bool:
        return all(((value + 1) & element).bit_count() % 2 == 0 for element in message)

    def messages(value: int) -> FloatLaw:
        inside = [pair for pair in pairs if supports(pair, value)]
        law: dict[Hashable, float] = {}
        for real, noise in product(inside, pairs):
            key = tuple(sorted((real, noise)))
            law[key] = law.get(key, 0.0) + 1 / (len(inside) * len(pairs))
        return law

    return Specimen(
        protocol=protocol,
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=messages,
        spell=lambda sent: tuple(sorted(tuple(message.tobytes()) for message in sent)),
        adds=lambda sent: tuple(sum(supports(y, value) for y in sent) for value in (0, 1)),
    )


def _local(kind: type[FrequencyOracle], *, shuffled: bool, bins: int, **choices: Any) -> Any:
    """A local protocol for a few people, or the protocol that shuffles its messages."""
    oracle = kind(users=_FEW, bins=bins, epsilon=EPSILON, **choices)
    return AmplifiedOracle(users=_FEW, bins=bins, oracle=oracle) if shuffled else oracle


def response(*, shuffled: bool = False) -> Specimen:
    """The value e^epsilon times as often as any other bin."""
    bins, odds = 3, math.exp(EPSILON)
    return Specimen(
        protocol=_local(RandomizedResponse, shuffled=shuffled, bins=bins),
        values=(0, 2),
        dataset=(0, 0, 1, 2),
        messages=lambda value: {(j,): (odds if j == value else 1.0) / (odds + bins - 1) for j in range(bins)},
        spell=_sorted_numbers,
        adds=_counts(bins),
    )


def unary(*, optimised: bool = True, shuffled: bool = False) -> Specimen:
    """A bit for every bin: the own one with chance 1/2, others with 1 / (1 + e^epsilon); or all flipped alike."""
    bins = 3
    own, other = 0.5, 1 / (1 + math.exp(EPSILON))
    if not optimised:
        other = 1 / (1 + math.exp(EPSILON / 2))
        own = 1 - other

    def messages(value: int) -> FloatLaw:
        law = {}
        for bits in product((0, 1), repeat=bins):
            chances = (own if j == value else other for j in range(bins))
            law[(bits,)] = math.prod(p if bit else 1 - p for p, bit in zip(chances, bits, strict=True))
        return law

    return Specimen(
        protocol=_local(UnaryEncoding, shuffled=shuffled, bins=bins, optimised=optimised),
        values=(0, 2),
        dataset=(0, 0, 1, 2),
        messages=messages,
        spell=lambda sent: tuple(
            tuple(np.unpackbits(np.frombuffer(report.tobytes(), np.uint8), count=bins).tolist()) for report in sent
        ),
        adds=lambda sent: tuple(sum(column) for column in zip(*sent, strict=True)),
    )


def hadamard(*, shuffled: bool = False) -> Specimen:
    """A symbol that shares an even number of ones with the value plus one, e^epsilon times as often as any other."""
    bins, symbols, odds = 3, 4, math.exp(EPSILON)

    def inside(symbol: int, value: int) -> bool:
        return ((value + 1) & symbol).bit_count() % 2 == 0

    return Specimen(
        protocol=_local(HadamardResponse, shuffled=shuffled, bins=bins),
        values=(0, 2),
        dataset=(0, 0, 1, 2),
        messages=lambda value: {(y,): (odds if inside(y, value) else 1.0) / (2 * (1 + odds)) for y in range(symbols)},
        spell=_sorted_numbers,
        adds=lambda sent: tuple(sum(inside(y, value) for y in sent) for value in range(bins)),
    )


def hashing(*, shuffled: bool = False) -> Specimen:
    """Which of two bins a report supports: its cell is the value's e^epsilon times as often as any other of four."""
    cells, odds = 4, math.exp(EPSILON)
    own = odds / (odds + cells - 1)

    def supports(report: Any) -> Vector:
        multiplier, offset, cell = (int(report[name]) for name in ("multiplier", "offset", "cell"))
        hashed = ((((multiplier * j + offset) % 2**64) >> 32) * cells >> 32 for j in (0, 1))
        return tuple(int(h == cell) for h in hashed)

    def messages(value: int) -> FloatLaw:
        # the other bin is hashed to the report's cell by chance, whatever the cell
        both = {(mine, yours): (own if mine else 1 - own) * (1 / cells if yours else 1 - 1 / cells)
                for mine, yours in product((0, 1), repeat=2)}  # fmt: skip
        return {(pair if value == 0 else pair[::-1],): p for pair, p in both.items()}

    return Specimen(
        protocol=_local(LocalHashing, shuffled=shuffled, bins=2, cells=cells),
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=messages,
        spell=lambda sent: tuple(supports(report) for report in sent),
        adds=lambda sent: tuple(sum(column) for column in zip(*sent, strict=True)),
    )


def bassily_smith() -> Specimen:
    """Which of two bins a bit supports: the value with chance e^epsilon / (1 + e^epsilon), the other with 1/2."""
    own = 1 / (1 + math.exp(-EPSILON))

    def supports(report: Any) -> Vector:
        multiplier, offset, bit = (int(report[name]) for name in ("multiplier", "offset", "bit"))
        return tuple(int(((multiplier * j + offset) % 2**64) >> 63 == bit) for j in (0, 1))

    def messages(value: int) -> FloatLaw:
        both = {(mine, yours): (own if mine else 1 - own) / 2 for mine, yours in product((0, 1), repeat=2)}
        return {(pair if value == 0 else pair[::-1],): p for pair, p in both.items()}

    return Specimen(
        protocol=_local(BassilySmith, shuffled=False, bins=2),
        values=(0, 1),
        dataset=(0, 0, 0, 1),
        messages=messages,
        spell=lambda sent: tuple(supports(report) for report in sent),
        adds=lambda sent: tuple(sum(column) for column in zip(*sent, strict=True)),
    )


def _bins_apart(laws: Sequence[FloatLaw]) -> FloatLaw:
    """The law of independent bins, each a row of counts, without what hardly ever happens."""
    joint: dict[Vector, float] = {(): 1.0}
    for law in laws:
        joint = {(*x, *y): p * q for (x, p), (y, q) in product(joint.items(), law.items()) if p * q > _NEGLIGIBLE}
    return joint


def dummy_poisson() -> Specimen:
    """The value, and dummies of a Poisson law that is divided among two people."""
    users, rate = 2, 1.5

    def law(values: Sequence[int]) -> FloatLaw:
        dummies = compound_poisson(rate * len(values) / users, np.ones(1), most=_REACH)
        return _bins_apart(
            [{(values.count(j) + k,): p for k, p in enumerate(dummies.tolist()) if p > _NEGLIGIBLE} for j in (0, 1)]
        )

    return Specimen(
        protocol=DummyHistogram(users=users, bins=2, noise=CompoundPoisson(rate=rate, size_weights=(SIZE_GRID,))),
        values=(0, 1),
        dataset=(0, 1),
        messages=lambda value: law((value,)),
        spell=lambda sent: tuple(int(np.count_nonzero(sent == j)) for j in (0, 1)),
        adds=lambda counts: tuple(counts),
        complete=False,
        law_of_tally=law,
    )


def sparse() -> Specimen:
    """The value, and clusters of pairs and of lone messages, of one or two, divided among two people."""
    users, half, quarter = 2, SIZE_GRID // 2, SIZE_GRID // 4
    pairs = CompoundPoisson(rate=0.75, size_weights=(half, half))
    lone = CompoundPoisson(rate=0.5, size_weights=(3 * quarter, quarter))

    def law(values: Sequence[int]) -> FloatLaw:
        share = len(values) / users
        paired = compound_poisson(0.75 * share, np.array([0.5, 0.5]), most=_REACH).tolist()
        alone = compound_poisson(0.5 * share, np.array([0.75, 0.25]), most=_REACH).tolist()
        noise = [
            (i, j, p * q) for (i, p), (j, q) in product(enumerate(paired), enumerate(alone)) if p * q > _NEGLIGIBLE
        ]
        return _bins_apart([{(values.count(b) + i, i + j): p for i, j, p in noise} for b in (0, 1)])

    return Specimen(
        protocol=SparseHistogram(users=users, bins=2, pairs=pairs, lone=lone),
        values=(0, 1),
        dataset=(0, 1),
        messages=lambda value: law((value,)),
        spell=lambda sent: tuple(int(np.count_nonzero(sent == kind)) for kind in range(4)),
        adds=lambda counts: tuple(counts),
        complete=False,
        law_of_tally=law,
    )


def real_sum(*, honest_users: int | None = None) -> Specimen:
    """Numbers 0 and 1/2, which is rounded at random, and noise whose sum over the honest people is discrete Laplace.

    Each person's part is a difference of two negative binomial numbers of order 1 / honest.
    """
    honest = _SHARERS if honest_users is None else honest_users
    protocol = RealSum.calibrate(users=_SHARERS, epsilon=EPSILON, delta=0.01, scale=1, honest_users=honest_users)
    decay = math.exp(-EPSILON)

    def law(values: Sequence[float]) -> FloatLaw:
        order, k = len(values) / honest, np.arange(_NOISE_REACH + 1)
        steps = np.append(1.0, (order + k[:-1]) / k[1:] * decay)
        positive = (1 - decay) ** order * np.cumprod(steps)
        difference = np.convolve(positive, positive[::-1])
        sums = np.convolve(difference, binomial(sum(value > 0 for value in values), 0.5))
        return {(i - _NOISE_REACH,): p for i, p in enumerate(sums.tolist()) if p > _NEGLIGIBLE}

    def total(shares: NDArray[Any]) -> Vector:
        q = 1 << protocol.modulus_bits
        value = sum(shares.tolist()) % q
        return (value if value < q // 2 else value - q,)

    return Specimen(
        protocol=protocol,
        values=(0.0, 0.5),
        dataset=(0.5,) * 4 + (0.0,) * (_SHARERS - 4),
        messages=lambda value: law((value,)),
        spell=total,
        adds=lambda counts: tuple(counts),
        complete=False,
        law_of_tally=law,
    )


SPECIMENS: dict[str, Callable[[], Specimen]] = {
    "zsum": binary_sum,
    "blanket-sum": blanket_sum,
    "real-sum": lambda: real_sum(honest_users=_SHARERS // 2),
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

"""The catalogue of histogram protocols by name, and protocols as JSON records.

A record has the name of the class and its parameters with every digit. Only known classes are created from a record:
the protocols of the catalogue, ranges, and their parts. An integer of more than 64 bits is {"integer": "2^65536"}, an
infinite number is {"number": "inf"}.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from shuffledp.accounting.curve import Guarantee
from shuffledp.errors import DataError, ShuffledpError
from shuffledp.formatting import short_repr
from shuffledp.histogram.hash_family import HashFamily
from shuffledp.noise.binomial import Binomial
from shuffledp.noise.compound_poisson import CompoundPoisson
from shuffledp.noise.discrete_laplace import DiscreteLaplace
from shuffledp.protocols.central import LaplaceHistogram, StabilityHistogram
from shuffledp.protocols.local import BassilySmith, HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from shuffledp.protocols.protocol import EstimatorName, HistogramProtocol
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.shuffled.amplified import AmplifiedOracle
from shuffledp.protocols.shuffled.blanket import BlanketHistogram
from shuffledp.protocols.shuffled.dummy import DummyHistogram
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.protocols.shuffled.histogram import Histogram
from shuffledp.protocols.shuffled.private_coin import PrivateCoinHistogram
from shuffledp.protocols.shuffled.public_coin import PublicCoinHistogram
from shuffledp.protocols.shuffled.sparse import SparseHistogram
from shuffledp.protocols.target import Target
from shuffledp.validation import one_of

_PARTS = (Guarantee, Binomial, CompoundPoisson, DiscreteLaplace, HashFamily)
_MOST_BITS = 64
_STORED_NAMES = {"padding_bins": "fillers"}
"""Fields that releases and ledgers store under their first name."""

_FIELD_NAMES = {stored: field for field, stored in _STORED_NAMES.items()}

_MOST_POWER = 10**6
"""The largest exponent of a power of two in a file: more would fill the memory."""

_MOST_REST = 64
"""The most bits of the rest beside a power of two, such as the number of padding bins."""


def to_record(value: Any) -> Any:
    """Convert a protocol or a parameter to JSON values; what JSON cannot hold is {"text": ...}."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        number = int(value)
        return number if number.bit_length() <= _MOST_BITS else {"integer": _written(number)}
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"number": repr(float(value))}
    if isinstance(value, tuple | list):
        return [to_record(part) for part in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            _STORED_NAMES.get(each.name, each.name): to_record(getattr(value, each.name))
            for each in dataclasses.fields(value)
            if each.init
        }
        return {"class": type(value).__name__, **fields}
    return {"text": short_repr(value)}


def from_record(record: Any) -> HistogramProtocol:
    """Create the protocol of a record; refuse unknown classes and wrong parameters."""
    made = _value(record)
    if not isinstance(made, _protocols()):
        raise DataError("the protocol of this release cannot be restored from its record")
    return made


def _protocols() -> tuple[type[HistogramProtocol], ...]:
    return (*(entry.kind for entry in CATALOGUE.values()), Ranges)


def _value(record: Any) -> Any:
    if isinstance(record, list):
        return tuple(_value(part) for part in record)
    if not isinstance(record, dict):
        return record
    if set(record) == {"integer"}:
        return _integer(str(record["integer"]))
    if set(record) == {"number"}:
        return _number(str(record["number"]))
    kinds = {kind.__name__: kind for kind in (*_PARTS, *_protocols())}
    kind = kinds.get(str(record.get("class")))
    if kind is None:
        raise DataError(
            f"{str(record.get('class', 'this'))[:60]!r} is no protocol or distribution that this version knows"
        )
    try:
        return kind(
            **{_FIELD_NAMES.get(str(name), str(name)): _value(part) for name, part in record.items() if name != "class"}
        )
    except (TypeError, ValueError, ShuffledpError) as reason:
        raise DataError(f"{kind.__name__} cannot be created from the record: {str(reason)[:200]}") from None


def _written(number: int) -> str:
    """An integer as a power of two and a small rest, or in hexadecimal: Python refuses thousands of decimal digits."""
    power = number.bit_length() - 1
    rest = number - (1 << power)
    return hex(number) if rest.bit_length() > _MOST_REST else f"2^{power}" + (f"+{rest}" if rest else "")


def _integer(text: str) -> int:
    base, _, sum_of = text.partition("^")
    power, _, rest = sum_of.partition("+")
    try:
        if base == "2" and power and int(power) <= _MOST_POWER:
            return (1 << int(power)) + int(f"0{rest}")
        return int(text, base=16)
    except ValueError:
        raise DataError(f"a whole number cannot be read: {text[:60]!r}") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(f"a number cannot be read: {text[:60]!r}") from None


Model = Literal["central", "local", "shuffled"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A protocol with a name.

    `choices` are further arguments of its `for_target`; with `published` it has its published parameters instead. The
    planner recommends protocols that are `advised` and shows `earlier` ones on demand. `summary` describes the protocol
    in half a line.
    """

    title: str
    kind: type[HistogramProtocol]
    model: Model = "shuffled"
    estimator: EstimatorName = "unbiased"
    choices: Mapping[str, Any] = field(default_factory=dict)
    published: bool = False
    advised: bool = False
    earlier: bool = False
    summary: str = ""

    @property
    def false_positives(self) -> bool:
        """Whether values that nobody holds can be shown."""
        return self.estimator != "truncated"

    def make(self, target: Target) -> HistogramProtocol:
        """Return the protocol for a target."""
        return self.kind.published_for(target) if self.published else self.kind.for_target(target, **self.choices)


CATALOGUE: dict[str, Entry] = {
    "stability": Entry(
        title="stability-based [BNS16]",
        kind=StabilityHistogram,
        model="central",
        estimator="truncated",
        summary="noise on the values that people hold, and small counts are left out",
    ),
    "laplace": Entry(
        title="discrete Laplace [DMNS06]",
        kind=LaplaceHistogram,
        model="central",
        summary="noise of both signs on every value",
    ),
    "response": Entry(
        title="d-ary randomized response",
        kind=RandomizedResponse,
        model="local",
        summary="the value, or with some probability another one",
    ),
    "unary-symmetric": Entry(
        title="symmetric unary encoding",
        kind=UnaryEncoding,
        model="local",
        choices={"optimised": False},
        summary="a yes or no for every value, all flipped with the same probability",
    ),
    "unary": Entry(
        title="optimised unary encoding",
        kind=UnaryEncoding,
        model="local",
        summary="a yes or no for every value, flipped with the best probabilities",
    ),
    "hashing": Entry(
        title="optimised local hashing",
        kind=LocalHashing,
        model="local",
        summary="the value's place in a random smaller list, randomized",
    ),
    "hadamard": Entry(
        title="Hadamard response",
        kind=HadamardResponse,
        model="local",
        summary="one sign of a random row of a Hadamard matrix",
    ),
    "bassily-smith": Entry(
        title="Bassily-Smith [BS15]",
        kind=BassilySmith,
        model="local",
        summary="one sign of a random projection",
    ),
    "shuffled-response": Entry(
        title="shuffled d-ary response [BBGN19]",
        kind=AmplifiedOracle,
        choices={"kind": RandomizedResponse},
        summary="one message each, mixed",
    ),
    "shuffled-hadamard": Entry(
        title="shuffled Hadamard response",
        kind=AmplifiedOracle,
        choices={"kind": HadamardResponse},
        summary="one message each, mixed",
    ),
    "shuffled-unary": Entry(
        title="shuffled unary encoding",
        kind=AmplifiedOracle,
        choices={"kind": UnaryEncoding},
        summary="a yes or no for every value, mixed",
    ),
    "shuffled-hashing": Entry(
        title="shuffled local hashing [WXD+19]",
        kind=AmplifiedOracle,
        choices={"kind": LocalHashing},
        summary="one message each, mixed",
    ),
    "blanket-published": Entry(
        title="CSU+19, published",
        kind=BlanketHistogram,
        published=True,
        summary="a yes or no for every value, with the parameters of its paper",
    ),
    "blanket": Entry(
        title="CSU+19, calibrated",
        kind=BlanketHistogram,
        earlier=True,
        summary="a yes or no for every value, with the least noise",
    ),
    "public-coin-published": Entry(
        title="GGK+19 public coin, published",
        kind=PublicCoinHistogram,
        estimator="smallest",
        published=True,
        summary="values share cells of a public random table, with the parameters of its paper",
    ),
    "public-coin": Entry(
        title="GGK+19 public coin, calibrated",
        kind=PublicCoinHistogram,
        estimator="smallest",
        earlier=True,
        summary="values share cells of a public random table, with the least noise",
    ),
    "private-coin-published": Entry(
        title="GGK+19 private coin, published",
        kind=PrivateCoinHistogram,
        published=True,
        summary="each message is a random set of values, with the parameters of its paper",
    ),
    "private-coin": Entry(
        title="GGK+19 private coin, calibrated",
        kind=PrivateCoinHistogram,
        earlier=True,
        summary="each message is a random set of values, with the least noise",
    ),
    "amplified": Entry(
        title="best local protocol, shuffled",
        kind=AmplifiedOracle,
        earlier=True,
        summary="whichever local protocol has the smallest error once it is mixed",
    ),
    "hist-published": Entry(
        title="Histogram (P^hist), theorem's constants",
        kind=Histogram,
        estimator="truncated",
        published=True,
        summary="the paper's protocol with the constants of its theorem",
    ),
    "hist": Entry(
        title="Histogram (P^hist)",
        kind=Histogram,
        estimator="truncated",
        advised=True,
        summary="the paper's protocol; never shows a value that nobody holds",
    ),
    "hist-unbiased": Entry(
        title="Histogram (P^hist), unbiased",
        kind=Histogram,
        choices={"truncated": False},
        advised=True,
        summary="the same messages; shows every value with noise of both signs",
    ),
    "sparse": Entry(
        title="SparseHistogram (ours)",
        kind=SparseHistogram,
        estimator="truncated",
        advised=True,
        summary="few messages; never shows a value that nobody holds",
    ),
    "sparse-best": Entry(
        title="SparseHistogram (ours), best error",
        kind=SparseHistogram,
        estimator="truncated",
        choices={"messages": math.inf},
        advised=True,
        summary="more messages, smaller error; never shows a value that nobody holds",
    ),
    "dummy": Entry(
        title="DummyHistogram",
        kind=DummyHistogram,
        advised=True,
        summary="made-up messages for every value; shows every value with noise of both signs",
    ),
    "dummy-poisson": Entry(
        title="DummyHistogram, Poisson",
        kind=DummyHistogram,
        choices={"dummies": "poisson"},
        summary="the same with another distribution of the noise",
    ),
    "hashed": Entry(
        title="HashedHistogram",
        kind=HashedHistogram,
        summary="five short messages for any number of values; shows every value with noise of both signs",
    ),
}


def named(name: str, *, what: str = "protocol") -> Entry:
    """Return the entry of a name."""
    return CATALOGUE[one_of(what, name, CATALOGUE)]

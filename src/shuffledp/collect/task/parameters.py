"""The parameters of the protocols that a task can name, exactly: whole numbers and dyadic fractions.

A task can name protocols whose messages are single numbers. Only what the randomizer needs is written; people and
values are the task's.

The first shuffler, and whoever watches the network, sees how many messages a report holds, and reads the releases like
everybody. That the number has the same law whatever somebody holds is not enough: who knows that one person made all
possible dummies knows that much about the noise. So a report is padded to `most_messages` with messages that count for
nothing, and its length tells nothing at all. One protocol needs no padding: Poisson dummies that come one at a time.
Given everybody's numbers N_1, ..., N_n, their sum S falls on the values uniformly and independently, so

    P_x(numbers, counts) = P_x(counts) P(numbers | S),

where S is the sum of the counts less n, and the last factor knows nothing of x: whoever sees the counts alone could
draw the numbers themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from shuffledp.accounting.curve import Guarantee
from shuffledp.collect.task import schema as exact
from shuffledp.errors import ShuffledpError, TaskError
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.protocols.shuffled.dummy import DummyHistogram
from shuffledp.protocols.shuffled.histogram import Histogram
from shuffledp.protocols.shuffled.sparse import SparseHistogram
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram

P = TypeVar("P", bound=ShuffledHistogram)
Written = dict[str, Any]

_MOST_WORK = 1e11
"""Steps that the probabilities of a law may take: a minute. The smallest epsilon needs a 25th of it."""

_MOST_SIZES = 1 << 15
"""Of the clusters of a law: twice what the smallest epsilon needs. Hundreds of numbers are computed for each."""


class People(NamedTuple):
    """What a task says of its people and of what it claims."""

    users: int
    honest_users: int
    bins: int
    guarantee: Guarantee

    def make(self, kind: type[P], **noise: Any) -> P:
        """A protocol for them."""
        return kind(users=self.users, honest_users=self.honest_users, bins=self.bins, guarantee=self.guarantee, **noise)


class Codec(NamedTuple):
    """How the noise of a protocol is written and read, and whether its reports are padded."""

    fields: tuple[str, ...]
    write: Callable[[Any], Written]
    read: Callable[[Written, People], ShuffledHistogram]
    padded: bool = True


def _distribution(distribution: CompoundPoisson) -> Written:
    return {"rate": exact.written(distribution.rate), "size_weights": list(distribution.size_weights)}


def _distribution_of(written: Any, *, name: str) -> CompoundPoisson:
    if not isinstance(written, Mapping) or set(written) != {"rate", "size_weights"}:
        raise TaskError(f"{name} must have a rate and size_weights")
    weights = written["size_weights"]
    if not isinstance(weights, list) or not all(type(weight) is int for weight in weights) or not weights:
        raise TaskError(f"the size_weights of {name} must be a list of whole numbers")
    rate = exact.read(written["rate"], name=f"the rate of {name}")
    if len(weights) > _MOST_SIZES or rate * len(weights) ** 2 > _MOST_WORK:
        raise TaskError(f"the sizes of {name} are so many that nobody could check the privacy of the task")
    return CompoundPoisson(rate=rate, size_weights=tuple(weights))


def _one_at_a_time(written: Any) -> CompoundPoisson:
    distribution = _distribution_of(written, name="dummies")
    if distribution.size_weights != (SIZE_GRID,):
        raise TaskError("dummies must come one at a time, size_weights=[2^40]: otherwise their numbers tell something")
    return distribution


def _histogram(*, truncated: bool) -> Codec:
    return Codec(
        fields=("missing_probability",),
        write=lambda protocol: {"missing_probability": exact.written(protocol.missing_probability)},
        read=lambda written, people: people.make(
            Histogram,
            missing_probability=exact.read(written["missing_probability"], name="missing_probability"),
            truncated=truncated,
        ),
    )


_SPARSE = Codec(
    fields=("lone", "pairs"),
    write=lambda protocol: {"lone": _distribution(protocol.lone), "pairs": _distribution(protocol.pairs)},
    read=lambda written, people: people.make(
        SparseHistogram,
        lone=_distribution_of(written["lone"], name="lone"),
        pairs=_distribution_of(written["pairs"], name="pairs"),
    ),
)

CODECS: dict[str, Codec] = {
    "hist": _histogram(truncated=True),
    "hist-unbiased": _histogram(truncated=False),
    "sparse": _SPARSE,
    "sparse-best": _SPARSE,
    "dummy": Codec(
        fields=("dummy_probability",),
        write=lambda protocol: {"dummy_probability": exact.written(protocol.noise.probability)},
        read=lambda written, people: people.make(
            DummyHistogram,
            noise=Binomial(
                trials=people.users,
                probability=exact.read(written["dummy_probability"], name="dummy_probability"),
            ),
        ),
    ),
    "dummy-poisson": Codec(
        fields=("dummies",),
        write=lambda protocol: {"dummies": _distribution(protocol.noise)},
        read=lambda written, people: people.make(DummyHistogram, noise=_one_at_a_time(written["dummies"])),
        padded=False,
    ),
}
"""Names of the catalogue that a task can have."""


def is_padded(name: str) -> bool:
    """Whether the reports of a protocol are padded."""
    return _codec(name).padded


def write(name: str, protocol: ShuffledHistogram) -> Written:
    """The noise of a protocol."""
    return _codec(name).write(protocol)


def read(name: str, written: Written, people: People) -> ShuffledHistogram:
    """The protocol with this noise for these people."""
    codec = _codec(name)
    if not isinstance(written, dict) or set(written) != set(codec.fields):
        raise TaskError(f"the parameters of {name} must be {' and '.join(codec.fields)}, and nothing else")
    try:
        return codec.read(written, people)
    except TaskError:
        raise
    except ShuffledpError as error:
        raise TaskError(f"the parameters of {name} cannot be used: {error}") from None


def _codec(name: str) -> Codec:
    if name not in CODECS:
        raise TaskError(f"a task's protocol must be one of {', '.join(CODECS)}; got {name!r:.60}")
    return CODECS[name]

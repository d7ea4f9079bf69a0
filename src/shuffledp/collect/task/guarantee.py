"""The noise of a task: its exact parameters, and the privacy guarantee that they give.

A task can name the protocols whose messages are single numbers; its file has the parameters of the randomizer.

The first shuffler and a network observer see the number of messages in each report, and they can read the releases. It
is not enough that this number has the same distribution for every value: an attacker who knows that one person sent all
possible dummies knows part of the noise. So reports are padded to `most_messages`. Poisson dummies that come one at a
time, each with a random value, node, or seed and bucket, need no padding. Given the numbers N_1, ..., N_n of dummies of
all people, their sum S falls on all possible messages uniformly and independently. If every person sends k other
messages, one for each of their values, and T is the tally of all messages, then

    P_x(numbers, T) = P_x(T) P(numbers | S),

where S is the number of messages in T minus n k. The last factor does not depend on the values x: from the tally alone
anyone could sample the numbers. A release is a function of the tally.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import msgspec

from shuffledp.accounting.curve import Guarantee
from shuffledp.accounting.rounding import PROMISED_DELTA
from shuffledp.accounting.strength import Strength
from shuffledp.collect.task.answers import AnswerChoices, AnswerEdges, Answers, AnswerText, kind_of
from shuffledp.collect.task.public_file import exact_text, read_decimal, read_exact
from shuffledp.errors import BrokenPromiseError, ParameterError, ShuffledpError, TaskError
from shuffledp.estimators.tree import Tree
from shuffledp.formatting import share_at_most
from shuffledp.histogram.hash_family import MOST_MODULUS, HashFamily, is_prime
from shuffledp.noise import Binomial, CompoundPoisson
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.protocols.message_limit import LimitCost
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.shuffled.dummy import DummyHistogram
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.protocols.shuffled.histogram import Histogram
from shuffledp.protocols.shuffled.sparse import SparseHistogram
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram, chance_of_more, seldom_enough
from shuffledp.validation import target_delta, target_epsilon

HASHED = "hashed"
"""The protocol for texts, and for many values."""

RANGES = "ranges"
"""The only protocol for numbers: a tree over their intervals, and Poisson dummies for its nodes."""

P = TypeVar("P", bound=ShuffledHistogram)
Written = dict[str, Any]


class Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A protocol by its name in the catalogue, and its exact parameters."""

    name: str
    parameters: dict[str, Any]


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The guarantee that a task claims: decimal numbers as text."""

    epsilon: str
    delta: str

    @property
    def guarantee(self) -> Guarantee:
        """The claimed numbers."""
        try:
            return Guarantee(
                epsilon=target_epsilon(read_decimal(self.epsilon, name="epsilon")),
                delta=target_delta(read_decimal(self.delta, name="delta")),
                basis="computed from the parameters of the task",
            )
        except ParameterError as error:
            raise TaskError(f"the guarantee of the task cannot be one: {error}") from None


_MOST_WORK = 1e11
"""Steps to compute the probabilities of a distribution: a minute. The smallest epsilon needs a 25th of it."""

_MOST_SIZES = 1 << 15
"""Cluster sizes of a distribution: twice what the smallest epsilon needs. Each takes hundreds of numbers."""


class People(NamedTuple):
    """The numbers of people and values in a task, and the guarantee that it claims.

    Each person has `values_per_person` different values of `bins`, the last `padding_bins` of which are no values. A
    text has one value on each level, and a parent of values has `pieces` of them; None for bins.
    """

    users: int
    honest_users: int
    bins: int
    guarantee: Guarantee
    values_per_person: int = 1
    padding_bins: int = 0
    pieces: int | None = None

    def make(self, kind: type[P], **noise: Any) -> P:
        """Make a protocol for these people."""
        settled = self._asdict()
        del settled["pieces"]
        return kind(**settled | noise)


_ONE_VALUE = frozenset({"list", "range", "listed-at"})
"""The kinds of answers with one bin for each person."""


class Codec(NamedTuple):
    """How parameters are written and read, whether reports are padded, and the kinds of answers that it counts."""

    fields: tuple[str, ...]
    write: Callable[[Any], Written]
    read: Callable[[Written, People], ShuffledHistogram]
    padded: bool = True
    kinds: frozenset[str] = _ONE_VALUE | {"choices"}


def _distribution(distribution: CompoundPoisson) -> Written:
    return {"rate": exact_text(distribution.rate), "size_weights": list(distribution.size_weights)}


def _distribution_of(written: Any, *, name: str) -> CompoundPoisson:
    if not isinstance(written, Mapping) or set(written) != {"rate", "size_weights"}:
        raise TaskError(f"{name} must have a rate and size_weights")
    weights = written["size_weights"]
    if not isinstance(weights, list) or not all(type(weight) is int for weight in weights) or not weights:
        raise TaskError(f"the size_weights of {name} must be a list of whole numbers")
    rate = read_exact(written["rate"], name=f"the rate of {name}")
    if len(weights) > _MOST_SIZES or rate * len(weights) ** 2 > _MOST_WORK:
        raise TaskError(f"the size_weights of {name} are too many to check the privacy of the task")
    return CompoundPoisson(rate=rate, size_weights=tuple(weights))


def _one_at_a_time(written: Any) -> CompoundPoisson:
    distribution = _distribution_of(written, name="dummies")
    if distribution.size_weights != (SIZE_GRID,):
        raise TaskError("dummies must come one at a time, size_weights=[2^40]: otherwise their numbers tell something")
    return distribution


def _histogram(*, truncated: bool) -> Codec:
    return Codec(
        fields=("missing_probability",),
        write=lambda protocol: {"missing_probability": exact_text(protocol.missing_probability)},
        read=lambda written, people: people.make(
            Histogram,
            missing_probability=read_exact(written["missing_probability"], name="missing_probability"),
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


def _hashed(written: Written, people: People) -> HashedHistogram:
    """The hash functions follow from the numbers of buckets and values."""
    buckets = written["buckets"]
    if type(buckets) is not int or not 2 <= buckets <= MOST_MODULUS or not is_prime(buckets):
        raise TaskError(f"buckets must be a prime number up to {MOST_MODULUS}, got {buckets!r:.60}")
    return people.make(
        HashedHistogram,
        family=HashFamily.of(
            modulus=buckets, values=people.bins, pieces=people.pieces, levels=people.values_per_person
        ),
        dummies=_one_at_a_time(written["dummies"]),
        levels=people.values_per_person,
        values_per_person=1,
    )


def _branching(written: Written, leaves: int) -> int:
    branching = written.get("branching")
    if type(branching) is not int or not 2 <= branching <= leaves:
        raise TaskError(f"branching must be a whole number from 2 to the {leaves} intervals, got {branching!r:.60}")
    return branching


CODECS: dict[str, Codec] = {
    "hist": _histogram(truncated=True),
    "hist-unbiased": _histogram(truncated=False),
    "sparse": _SPARSE,
    "sparse-best": _SPARSE,
    "dummy": Codec(
        fields=("dummy_probability",),
        write=lambda protocol: {"dummy_probability": exact_text(protocol.noise.probability)},
        read=lambda written, people: people.make(
            DummyHistogram,
            noise=Binomial(
                trials=people.users,
                probability=read_exact(written["dummy_probability"], name="dummy_probability"),
            ),
        ),
    ),
    "dummy-poisson": Codec(
        fields=("dummies",),
        write=lambda protocol: {"dummies": _distribution(protocol.noise)},
        read=lambda written, people: people.make(DummyHistogram, noise=_one_at_a_time(written["dummies"])),
        padded=False,
    ),
    HASHED: Codec(
        fields=("buckets", "dummies"),
        write=lambda protocol: {"buckets": protocol.family.modulus, "dummies": _distribution(protocol.dummies)},
        read=_hashed,
        padded=False,
        kinds=_ONE_VALUE | {"text"},
    ),
    RANGES: Codec(
        fields=("branching", "dummies"),
        write=lambda ranges: {"branching": ranges.branching, "dummies": _distribution(ranges.nodes.noise)},
        read=lambda written, people: people.make(DummyHistogram, noise=_one_at_a_time(written["dummies"])),
        padded=False,
        kinds=frozenset({"numbers"}),
    ),
}
"""The protocols that a task can name: those of the catalogue with single numbers as messages, and ranges."""


def is_padded(name: str) -> bool:
    """Whether the reports of a protocol are padded."""
    return _codec(name).padded


def write_parameters(name: str, protocol: ShuffledHistogram | Ranges) -> Written:
    """Return the parameters of a protocol as a task file has them."""
    return _codec(name).write(protocol)


def possible_protocols(answers: Answers) -> list[str]:
    """The names of the protocols for a kind of answers."""
    return [name for name, codec in CODECS.items() if kind_of(answers) in codec.kinds]


def tree_of(answers: AnswerEdges, written: Written) -> Tree:
    """The tree over the intervals of numbers, (other) and (none)."""
    leaves = answers.size + 2
    return Tree(leaves=leaves, branching=_branching(written, leaves))


def people_of(
    answers: Answers, name: str, written: Written, *, users: int, honest_users: int, guarantee: Guarantee
) -> People:
    """Return the people of a task; refuse a protocol that is not for its kind of answers."""
    people = People(users, honest_users, answers.size + 2, guarantee)
    _codec(name)
    if name not in (possible := possible_protocols(answers)):
        kind, names = kind_of(answers), ", ".join(possible)
        raise TaskError(f"the protocol of a task with answers of kind {kind} must be {names}, got {name}")
    match answers:
        case AnswerText(code=code):
            return people._replace(bins=code.values, values_per_person=code.levels, pieces=code.symbols)
        case AnswerEdges():
            _check_fields(name, written)
            tree = tree_of(answers, written)
            return people._replace(bins=tree.nodes, values_per_person=tree.levels)
        case AnswerChoices(most=most):
            return people._replace(bins=people.bins + most, values_per_person=most, padding_bins=most)
    return people


def read_protocol(name: str, written: Written, people: People) -> ShuffledHistogram:
    """Return the protocol with these parameters for these people."""
    _check_fields(name, written)
    try:
        return _codec(name).read(written, people)
    except TaskError:
        raise
    except ShuffledpError as error:
        raise TaskError(f"the parameters of {name} cannot be used: {error}") from None


def _check_fields(name: str, written: Written) -> None:
    fields = _codec(name).fields
    if not isinstance(written, dict) or set(written) != set(fields):
        raise TaskError(f"the parameters of {name} must be {' and '.join(fields)}, and nothing else")


def _codec(name: str) -> Codec:
    if name not in CODECS:
        raise TaskError(f"a task's protocol must be one of {', '.join(CODECS)}; got {name!r:.60}")
    return CODECS[name]


@dataclass(frozen=True, kw_only=True)
class Promise:
    """The claimed (epsilon, delta), and the delta that the parameters reach at this epsilon, rounded up.

    `reached` is `exact` but for rounding, or an upper bound.
    """

    epsilon: float
    delta: float
    reached: float
    exact: bool

    @property
    def strength(self) -> Strength:
        """The strength of the claim, which was verified."""
        return Strength.of(self.epsilon, self.delta)


def check_promise(
    protocol: ShuffledHistogram, *, most_messages: int, at_most: tuple[float, float] | None = None
) -> Promise:
    """Compute the guarantee of a protocol with at most this number of messages; refuse one weaker than claimed.

    `at_most` is the (epsilon, delta) that a person allows, which may be stronger than the claim.
    """
    claimed = protocol.guarantee
    assert claimed is not None
    if chance_of_more(protocol, most_messages) > seldom_enough(claimed.delta):
        raise BrokenPromiseError(
            f"most_messages={most_messages} is too small: people would draw other messages than the privacy is "
            "computed for"
        )
    cost = LimitCost.of(protocol, most_messages)  # of sampling again
    reached = reached_delta(lambda epsilon: cost.delta(protocol.privacy.delta, epsilon), claimed, at_most)
    return Promise(epsilon=claimed.epsilon, delta=claimed.delta, reached=reached, exact=protocol.privacy.exact)


def reached_delta(
    delta_at: Callable[[float], float],
    claimed: Guarantee,
    at_most: tuple[float, float] | None,
    *,
    rounds: int | None = None,
) -> float:
    """Return the delta at the claimed epsilon; refuse parameters that give less privacy than claimed or allowed.

    `delta_at` is the privacy curve of a task, or of all `rounds` of a series together.
    """
    whole = "task" if rounds is None else "series"
    scope = "" if rounds is None else f" for all {rounds} rounds together"
    gives = "the task gives" if rounds is None else f"all {rounds} rounds together give"

    def computed(epsilon: float) -> float:
        try:
            return delta_at(epsilon)
        except ParameterError as error:  # the noise of the honest people is 0 in floating point
            raise BrokenPromiseError(f"the privacy of its parameters cannot be computed: {error}") from None

    reached = computed(claimed.epsilon)
    if reached > claimed.delta * (1 + PROMISED_DELTA):
        raise BrokenPromiseError(
            f"the {whole} claims delta={claimed.delta:g} at epsilon={claimed.epsilon:g}{scope}, but its parameters "
            f"give {_in_message(reached)}, which is weaker"
        )
    if at_most is not None:
        epsilon, delta = target_epsilon(at_most[0]), target_delta(at_most[1])
        allowed = computed(epsilon)
        if allowed > delta * (1 + PROMISED_DELTA):
            raise BrokenPromiseError(
                f"{gives} delta={_in_message(allowed)} at epsilon={epsilon:g}, which is more than the {delta:g} that "
                "is allowed here"
            )
    return reached


def _in_message(delta: float) -> str:
    """A delta, spelled as in vectors/promises.json, such as 1e-06."""
    return f"{float(share_at_most(delta)):g}"

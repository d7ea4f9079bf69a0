"""One row of a plan per protocol or per way to count ranges, and the rules that choose between rows.

Plans and releases share these rules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from shuffledp.accounting.calibration import guarantee_of_one
from shuffledp.accounting.composition import composed
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.estimators.base import AdditiveNoise, KnownVariance
from shuffledp.estimators.tree import Tree
from shuffledp.formatting import ShortRepr, printable
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE, Entry, Model
from shuffledp.protocols.protocol import HistogramProtocol, TrustName
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.shuffled.dummy import DummyHistogram
from shuffledp.protocols.shuffled.hashed import DUMMIES, LEAST_DUMMIES
from shuffledp.protocols.target import Target
from shuffledp.validation import failure_probability


class Problem(StrEnum):
    """Why a protocol cannot be used. `NONE` is the empty string, so a row without a problem tests false."""

    NONE = ""
    NEEDS_LIST = "needs-list"
    TOO_FEW_USERS = "too-few-users"
    NOT_POSSIBLE = "not-possible"


@dataclass(frozen=True, kw_only=True)
class PlanRow:
    """The error, detection limit and cost of one protocol, with errors in people.

    name, title          of the catalogue entry
    false_positive_bins  whether values that nobody holds are shown, with noise
    fewest_users         the fewest people for which the protocol can be calibrated; None if no number suffices
    per_bin              error of a single value; `per_bin_share` as a share of all people
    simultaneous         largest error over all values; `simultaneous_share` as a share of all people
    messages             expected number of messages per person; `most_messages` is the maximum
    problem              why the protocol cannot be used; `needed_users` and `detail` belong to it
    deviation            standard deviation of the estimate of one value that nobody holds; None if it is not known
    epsilon, delta       the guarantee of this release, or of one of several rounds; None if there is a problem
    """

    name: str
    title: str
    model: Model
    false_positive_bins: bool
    fewest_users: int | None = None
    per_bin: float = math.inf
    simultaneous: float = math.inf
    per_bin_share: float = math.inf
    simultaneous_share: float = math.inf
    detection_limit: float = math.inf
    messages: float = math.inf
    most_messages: float = math.inf
    bytes_per_person: float = math.inf
    problem: Problem = Problem.NONE
    needed_users: int | None = None
    detail: str = ""
    deviation: float | None = None
    epsilon: float | None = None
    delta: float | None = None


def detection_limit(error: float, *, false_positives: bool) -> int:
    """Return the smallest count that is distinguishable from 0, given the simultaneous error.

    The error of a hidden bin is its whole count. With false positives, an empty bin has an error of its own, so the
    count must exceed both errors.
    """
    return math.floor(error * (2 if false_positives else 1)) + 1


@dataclass(frozen=True)
class Rows:
    """Rows in the order of the request, and the calibrated protocols of the possible ones."""

    rows: tuple[PlanRow, ...]
    protocols: Mapping[str, HistogramProtocol]

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        target: Target,
        *,
        beta: float,
        listed: bool = True,
        rounds: int = 1,
        progress: Progress = quiet,
    ) -> Rows:
        """Calibrate these catalogue entries; `listed` says whether there is a list of the possible values.

        With several `rounds`, the target is the guarantee of all of them, and the rows are of one round.
        """
        rows, protocols = list[PlanRow](), dict[str, HistogramProtocol]()
        for done, name in enumerate(names):
            progress("planning", done / len(names))
            rows.append(_row(name, CATALOGUE[name], target, beta, protocols, listed=listed, rounds=rounds))
        progress("planning", 1.0)
        return cls(tuple(rows), protocols)

    def row(self, name: str) -> PlanRow:
        """Return the row of a protocol by its name."""
        return next(row for row in self.rows if row.name == name)


def _row(
    name: str,
    entry: Entry,
    target: Target,
    beta: float,
    made: dict[str, HistogramProtocol],
    *,
    listed: bool,
    rounds: int,
) -> PlanRow:
    """Calibrate one protocol, store it in `made`, and return its row."""
    row = PlanRow(name=name, title=entry.title, model=entry.model, false_positive_bins=entry.false_positives)
    if entry.false_positives and not listed:
        return replace(row, problem=Problem.NEEDS_LIST)
    try:
        target = target if rounds == 1 else one_round(entry, target, rounds)
        fewest = entry.kind.minimum_users(
            epsilon=target.epsilon, delta=target.delta, values_per_person=target.values_per_person
        )
        row = replace(row, fewest_users=fewest)
        protocol = made[name] = entry.make(target)
    except TooFewUsersError as too_few:
        return replace(row, problem=Problem.TOO_FEW_USERS, needed_users=too_few.minimum_users)
    except ParameterError as reason:
        return replace(row, problem=Problem.NOT_POSSIBLE, detail=str(reason))
    error, messages = protocol.error(beta), protocol.messages_per_user
    return replace(
        row,
        per_bin=error.per_bin,
        simultaneous=error.simultaneous,
        per_bin_share=error.per_bin / target.users,
        simultaneous_share=error.simultaneous / target.users,
        detection_limit=detection_limit(error.simultaneous, false_positives=entry.false_positives)
        if math.isfinite(error.simultaneous)
        else math.inf,
        messages=messages.expected,
        most_messages=printable(messages.maximum) if isinstance(messages.maximum, int) else messages.maximum,
        bytes_per_person=messages.expected * protocol.bits_per_message / 8,
        deviation=_deviation(protocol),
        epsilon=target.epsilon,
        delta=target.delta,
    )


def one_round(entry: Entry, target: Target, rounds: int) -> Target:
    """Return the target of one of several rounds, whose composition is within the target of all."""

    def reached(epsilon: float, delta: float) -> float:
        protocol = entry.make(replace(target, epsilon=epsilon, delta=delta))
        return composed([protocol.privacy] * rounds).delta(target.epsilon)

    found = guarantee_of_one(reached, rounds=rounds, epsilon=target.epsilon, delta=target.delta)
    return replace(target, epsilon=found.epsilon, delta=found.delta)


def _deviation(protocol: HistogramProtocol) -> float | None:
    """The standard deviation of the estimate of a value that nobody holds, before an estimator that truncates it."""
    match protocol.estimator:
        case AdditiveNoise() as estimator:
            return math.sqrt(estimator.error_noise.noise.variance)
        case KnownVariance() as estimator:
            return math.sqrt(estimator.variance())
    return None


PRACTICAL_MESSAGES = 1000.0
"""Protocols that send more messages per person are not recommended."""

FEWER = "hashed"
"""The protocol whose messages, five for each value, do not grow with the number of possible values."""

FAR_MORE = 20.0
"""From here on FEWER is considered: its messages are longer, and more than ten of others take more bytes."""

_HARDLY_LARGER = 1.25
"""The largest ratio of errors at which FEWER is still preferred."""


def fewer_rows(target: Target, *, beta: float, most: float, listed: bool, rounds: int = 1) -> Rows:
    """Calibrate FEWER with its usual number of dummies, or with fewer if that exceeds `most` messages per person."""
    values, dummies = target.values_per_person, DUMMIES
    for _ in range(_ATTEMPTS):
        entry = replace(CATALOGUE[FEWER], choices={"dummies": dummies})
        made = dict[str, HistogramProtocol]()
        row = _row(FEWER, entry, target, beta, made, listed=listed, rounds=rounds)
        if row.problem or row.messages <= most:
            break
        # the number of buckets is a prime, so that there are slightly more dummies than wanted
        dummies = max(LEAST_DUMMIES, 0.995 * dummies * (most - values) / (row.messages - values))
    return Rows((row,), made)


_ATTEMPTS = 4


class Reason(StrEnum):
    """Why a protocol is recommended, or why none is."""

    AS_ASKED = "as-asked"
    SMALLEST_ERROR = "smallest-error"
    SMALLEST_ERROR_NO_FALSE_POSITIVES = "smallest-error-no-false-positives"
    FEWEST_MESSAGES_NO_FALSE_POSITIVES = "fewest-messages-no-false-positives"
    SMALLEST_ERROR_MANY_FALSE_POSITIVES = "smallest-error-many-false-positives"
    FEW_MESSAGES = "few-messages"
    TOO_FEW_USERS = "too-few-users"
    TOO_MANY_MESSAGES = "too-many-messages"


class Advice(NamedTuple):
    """The recommended protocol, None if there is none, with `most` messages per person."""

    name: str | None
    reason: Reason
    most: float


def recommend(rows: Sequence[PlanRow], target: Target, *, most: float) -> Advice:
    """Recommend the smallest error with at most `most` messages per person.

    If there are more possible values than people, most values are held by nobody. Then only protocols without false
    positives are considered, unless there is no other.
    """
    possible = [row for row in rows if not row.problem]
    practical = [row for row in possible if row.messages <= most]
    if not practical:
        return Advice(None, Reason.TOO_MANY_MESSAGES if possible else Reason.TOO_FEW_USERS, most)
    if target.bins <= target.users:
        best = min(practical, key=lambda row: (round(row.simultaneous), row.messages))
        return Advice(best.name, Reason.SMALLEST_ERROR, most)
    without = [row for row in practical if not row.false_positive_bins]
    if not without:
        best = min(practical, key=lambda row: (row.simultaneous, row.messages))
        return Advice(best.name, Reason.SMALLEST_ERROR_MANY_FALSE_POSITIVES, most)
    if math.isinf(most):
        best = min(without, key=lambda row: row.simultaneous)
        return Advice(best.name, Reason.SMALLEST_ERROR_NO_FALSE_POSITIVES, most)
    best = min(without, key=lambda row: row.messages)
    return Advice(best.name, Reason.FEWEST_MESSAGES_NO_FALSE_POSITIVES, most)


def consider_fewer(advice: Advice, rows: Sequence[PlanRow]) -> bool:
    """Return whether `FEWER` may be better than the advice.

    That is so if no protocol is recommended because of its messages, or if the recommended one sends many and has false
    positives anyway.
    """
    best = next((row for row in rows if row.name == advice.name), None)
    if best is None:
        return any(not row.problem for row in rows)
    return best.false_positive_bins and best.messages > FAR_MORE


def or_fewer(advice: Advice, rows: Sequence[PlanRow], fewer: PlanRow, *, most: float) -> Advice:
    """Return the advice, or `fewer` if it sends at most half the messages and no more bytes at a similar error."""
    if fewer.problem or fewer.messages > most:
        return advice
    best = next((row for row in rows if row.name == advice.name), None)
    if best is None or (
        fewer.messages <= best.messages / 2
        and fewer.bytes_per_person <= best.bytes_per_person
        and fewer.simultaneous <= _HARDLY_LARGER * best.simultaneous
    ):
        return Advice(fewer.name, Reason.FEW_MESSAGES, most)
    return advice


RANGES = Entry(
    title="Ranges (ours)",
    kind=Ranges,
    summary="groups of neighbouring values; shows every range of values, and quantiles",
)


@dataclass(frozen=True, kw_only=True)
class RangeRow(ShortRepr):
    """The error and cost of one way to count ranges.

    error         bound on the error of the number of people up to any value, for all values at once, with probability
                  1 - beta; None if there are too few people
    messages      expected number of messages per person; None for a curator, who is given the values
    needed_users  the number of people that are needed, if there are too few
    """

    title: str
    trust: TrustName = "shuffler"
    branching: int | None = None
    levels: int | None = None
    error: float | None = None
    messages: float | None = None
    needed_users: int | None = None


OURS, FEWER_MESSAGES, SUMS, CURATED = (
    RANGES.title,
    "Ranges, fewer messages",
    "sums over a histogram",
    "a curator's ranges",
)


def plan_ranges(
    target: Target, *, beta: float = 0.05, most: float = PRACTICAL_MESSAGES, progress: Progress = quiet
) -> list[RangeRow]:
    """Return the error of the distribution function for a tree, sums over a histogram, and a curator's tree.

    If the tree sends more than `most` messages per person, the best tree within the limit is added.
    """
    beta = failure_probability(beta)
    rows = []
    for done, title in enumerate((OURS, SUMS, CURATED)):
        progress("comparing ranges", done / 3)
        try:
            made = _made_ranges(title, target)
        except TooFewUsersError as error:
            rows.append(RangeRow(title=title, needed_users=error.minimum_users))
            continue
        rows.append(_range_row(title, made, beta))
        if title == OURS and made.messages_per_user.expected > most and (lower := _lower_ranges(made, target, most)):
            rows.append(_range_row(FEWER_MESSAGES, lower, beta))
    return rows


def _made_ranges(title: str, target: Target) -> Ranges:
    if title == SUMS:
        return Ranges.for_target(target, branching=max(2, target.cells))
    return Ranges.for_target(target, trust="curator" if title == CURATED else "shuffler")


def _lower_ranges(ours: Ranges, target: Target, most: float) -> Ranges | None:
    """The tree with the smallest error among those with at most `most` messages; each level needs at least one."""
    made = []
    for levels in range(2, min(math.floor(most), ours.tree.levels) + 1):
        tree = Tree.with_levels(leaves=target.cells, levels=levels)
        with suppress(TooFewUsersError):
            made.append(Ranges.with_tree(tree, target, DummyHistogram.for_target))
    few = [option for option in made if option.messages_per_user.expected <= most]
    return min(few, key=lambda option: option.deviation, default=None)


def _range_row(title: str, made: Ranges, beta: float) -> RangeRow:
    curated = title == CURATED
    return RangeRow(
        title=title,
        trust="curator" if curated else "shuffler",
        branching=made.branching,
        levels=made.tree.levels,
        error=made.range_error(beta),
        messages=None if curated else made.messages_per_user.expected,
    )


class RangeAdvice(NamedTuple):
    """The recommended way to count ranges, None if there is none, and the ways to compare it with.

    reason   why `best` is recommended, or why none is
    most     the limit on messages per person
    ours     the tree that `private_histogram(..., ranges=True)` uses, if it is possible
    sums     sums over a histogram, if they are possible
    curator  a curator's tree
    """

    best: RangeRow | None
    reason: Reason
    most: float
    ours: RangeRow | None
    sums: RangeRow | None
    curator: RangeRow


def advise_ranges(rows: Sequence[RangeRow], *, most: float = PRACTICAL_MESSAGES, held: bool = False) -> RangeAdvice:
    """Recommend the way with the smallest error.

    Where messages are sent, at most `most` of them per person are allowed. For `held`, that is local, data nothing is
    sent, and the way is the one that `private_histogram(..., ranges=True)` uses.
    """
    possible = {row.title: row for row in rows if row.trust == "shuffler" and row.error is not None}
    usable = [row for row in possible.values() if (row.title == OURS if held else _messages(row) <= most)]
    best = min(usable, key=_error, default=None)  # the first of equal ones
    if best is not None:
        reason = Reason.SMALLEST_ERROR
    else:
        reason = Reason.TOO_MANY_MESSAGES if possible else Reason.TOO_FEW_USERS
    curator = next(row for row in rows if row.title == CURATED)
    return RangeAdvice(best, reason, most, possible.get(OURS), possible.get(SUMS), curator)


def _error(row: RangeRow) -> float:
    return math.inf if row.error is None else row.error


def _messages(row: RangeRow) -> float:
    return math.inf if row.messages is None else row.messages

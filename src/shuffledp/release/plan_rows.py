"""What one protocol gives for some people and values: a row of a plan.

Which protocol to use, given the rows of a plan, and what is amiss with a question.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from shuffledp.accounting.curve import privacy_figure
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.formatting import at_most, counted, magnitude, percent_at_most, readable
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE, Entry, Model
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.target import Target


@dataclass(frozen=True, kw_only=True)
class PlanRow:
    """What one protocol gives. Errors are in people; `problem` says why a protocol is not possible.

    `fewest_users` is None where nobody could use it.
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
    problem: str = ""


@dataclass(frozen=True)
class Rows:
    """Rows in the order of their names, and the calibrated protocols of those that are possible."""

    rows: tuple[PlanRow, ...]
    protocols: Mapping[str, HistogramProtocol]

    @classmethod
    def of(
        cls, names: Sequence[str], target: Target, *, beta: float, listed: bool = True, progress: Progress = quiet
    ) -> Rows:
        """The rows of these names of the catalogue; `listed` says whether there is a list of the possible values."""
        rows, protocols = list[PlanRow](), dict[str, HistogramProtocol]()
        for done, name in enumerate(names):
            progress("planning", done / len(names))
            rows.append(_row(name, CATALOGUE[name], target, beta, protocols, listed=listed))
        progress("planning", 1.0)
        return cls(tuple(rows), protocols)

    def row(self, name: str) -> PlanRow:
        """The row of a protocol, by its short name."""
        return next(row for row in self.rows if row.name == name)


def _row(
    name: str, entry: Entry, target: Target, beta: float, made: dict[str, HistogramProtocol], *, listed: bool
) -> PlanRow:
    """The row of one protocol, which is kept among those that were made."""
    row = PlanRow(name=name, title=entry.title, model=entry.model, false_positive_bins=entry.false_positives)
    if entry.false_positives and not listed:
        return replace(row, problem="shows every possible value, and so needs a list of them")
    try:
        fewest = entry.kind.minimum_users(
            epsilon=target.epsilon, delta=target.delta, values_per_person=target.values_per_person
        )
        row = replace(row, fewest_users=fewest)
        protocol = made[name] = entry.make(target)
    except TooFewUsersError as too_few:
        needed = counted(too_few.minimum_users, "honest person", things="honest people")
        return replace(row, problem=f"needs at least {needed}")
    except ParameterError as reason:
        return replace(row, problem=f"is not possible: {reason}")
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
        most_messages=messages.maximum,
        bytes_per_person=messages.expected * protocol.bits_per_message / 8,
    )


def detection_limit(error: float, *, false_positives: bool) -> int:
    """The smallest count that stands out from empty bins, given the simultaneous error.

    A hidden bin is off by its whole count; where empty bins are noisy, both errors must be overcome.
    """
    return math.floor(error * (2 if false_positives else 1)) + 1


PRACTICAL_MESSAGES = 1000.0
"""More messages per person than this are not recommended."""

_USELESS_SHARE = 0.1
"""An error of this share of all people says little."""

FEWER = "private-coin"
"""The earlier protocol whose messages, 9 to 17 of them, do not grow with the number of values."""

FAR_MORE = 50.0
"""From this number of messages on, it sends far fewer."""

_HARDLY_LARGER = 1.25
"""As a factor of the error."""


class Advice(NamedTuple):
    """Which protocol to use, None if there is none, and why."""

    name: str | None
    reason: str


def recommend(rows: Sequence[PlanRow], target: Target, *, most: float) -> Advice:
    """The smallest error with at most that many messages per person, if these are sent at all.

    Where there are more values than people, most of them are held by nobody: only protocols that never show such a
    value are taken. This is the one decision that plans and releases share.
    """
    possible = [row for row in rows if not row.problem]
    practical = [row for row in possible if row.messages <= most]
    free = math.isinf(most)
    if not practical:
        return Advice(None, _nothing_practical(rows, possible, most))
    if target.bins <= target.users:
        best = min(practical, key=lambda row: (round(row.simultaneous), row.messages))
        limit = "" if free else f", of those with at most {counted_messages(most)} per person,"
        noisy = "shows every value with noise" if best.false_positive_bins else "never shows a value that nobody holds"
        return _worth_it(best, f"the protocol with the smallest error{limit} is {best.title}; it {noisy}")
    quiet_ones = [row for row in practical if not row.false_positive_bins]
    if not quiet_ones:
        best = min(practical, key=lambda row: (row.simultaneous, row.messages))
        return _worth_it(
            best,
            f"of those that can be used, the one with the smallest error is {best.title}, but most of the "
            f"{readable(target.bins)} possible values are held by nobody and will look as if they were held",
        )
    best = min(quiet_ones, key=lambda row: row.simultaneous if free else row.messages)
    return _worth_it(
        best,
        "more values are possible than there are people, and of the protocols that never show a value that nobody "
        f"holds the one with the {'smallest error' if free else 'fewest messages'} is {best.title}",
    )


def matters_how_many(advice: Advice, rows: Sequence[PlanRow]) -> bool:
    """Whether so many messages would be sent that a protocol with `FEWER` messages for any number of values may be
    better: none is recommended, or one that sends far more and shows values that nobody holds anyway.
    """
    best = next((row for row in rows if row.name == advice.name), None)
    if best is None:
        return any(not row.problem for row in rows)
    return best.false_positive_bins and best.messages > FAR_MORE


def or_fewer(advice: Advice, rows: Sequence[PlanRow], fewer: PlanRow, target: Target, *, most: float) -> Advice:
    """The advice, or a protocol with far fewer messages, where these are few enough and its error is hardly larger."""
    if fewer.problem or fewer.messages > most:
        return advice
    best = next((row for row in rows if row.name == advice.name), None)
    if best is None or (
        fewer.messages <= best.messages / 2 and fewer.simultaneous <= _HARDLY_LARGER * best.simultaneous
    ):
        empty = (
            f", but most of the {readable(target.bins)} possible values are held by nobody and will look as if they "
            "were held"
            if target.bins > target.users
            else "; it shows every value with noise"
        )
        return _worth_it(
            fewer,
            f"{fewer.title} sends {counted_messages(fewer.messages)} per person, however many values are "
            f"possible{empty}",
        )
    return advice


def _worth_it(best: PlanRow, reason: str) -> Advice:
    """Advice that says so where the result will be of little use."""
    if best.simultaneous_share > _USELESS_SHARE:
        share = percent_at_most(best.simultaneous_share, 1)
        reason += f"; but an error of {share} of all people says little: more people are needed"
    return Advice(best.name, reason)


def _nothing_practical(rows: Sequence[PlanRow], possible: Sequence[PlanRow], most: float) -> str:
    """Why nothing is recommended, and what would help."""
    if not possible:
        return (
            "no protocol is possible with so few honest people: more of them, a larger epsilon or a larger delta help; "
            + "; ".join(f"{row.title} {row.problem}" for row in rows)
        )
    cheapest = min(possible, key=lambda row: row.messages)
    fewest = "" if math.isinf(cheapest.messages) else f" ({cheapest.title} the fewest, {magnitude(cheapest.messages)})"
    return (
        f"every protocol sends more than {counted_messages(most)} per person{fewest}: more people, fewer possible "
        "values or a larger epsilon help"
    )


def warnings(*, users: int, delta: float, error: float = 0.0) -> Iterator[str]:
    """What is amiss with a question, or with a release whose error is known."""
    if delta > 1 / users:
        yield (
            f"delta={privacy_figure(delta)} is larger than 1 / people: publishing the value of one person in "
            f"{users:,} would satisfy it; choose it well below"
        )
    if error > _USELESS_SHARE * users:
        yield (
            f"an error of up to {at_most(error)} of {counted(users, 'person', things='people')} says little: more "
            "people are needed"
        )


def counted_messages(number: float) -> str:
    """A number of messages per person, which need not be whole."""
    return f"{magnitude(number)} message{'' if number == 1 else 's'}"

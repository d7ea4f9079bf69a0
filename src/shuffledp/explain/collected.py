"""Notes and warnings about a release that was collected from people: who took part, whom to trust, what can go wrong.

The analyzer fills in the facts; nothing is computed here except percentages.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shuffledp.collect.reasons import Reason
from shuffledp.collect.task.follow_up import LookedUp
from shuffledp.explain.answers import STEPS
from shuffledp.explain.protocols import protocol_title
from shuffledp.formatting import confidence, counted, people_at_most, readable, share_at_most, shown
from shuffledp.histogram.text_code import TextCode

_SHARE = 100
"""The effect of forged reports is given for one report, and for one in a hundred."""

_REFUSED = {
    Reason.CANNOT_BE_OPENED: "could not be decrypted",
    Reason.REPEATED: "had arrived before",
    Reason.REPLAYED: "had been in an earlier batch",
    Reason.NOT_A_MESSAGE: "held a number that is not a message of the protocol",
    Reason.OTHER_BYTES: "were not in the batch when it was released before",
}

_ADMISSION = {
    "anybody": "Anybody could send any number of reports: nothing checked that each came from a different person.",
    "secret": "Only people who knew a shared secret could send reports, and they could send several.",
    "tokens": (
        "Only people with a token could send a report, and each token was valid once. The organisation that gave them "
        "out decided who was in a batch."
    ),
}


@dataclass(frozen=True, kw_only=True)
class Collected:
    """The facts about a collected release.

    `users` and `honest_users` are per batch. `refused` counts messages by reason. `surplus` and `short` tell whether a
    batch has more or fewer messages than its people send. `chance_of_more` is the probability, per batch, that a client
    draws more than `most_messages` and has to draw again. `ledger` is the population of the ledger with an entry for
    the task. `left_out` batches had too few messages and are not in the release. `kind` is the kind of answers, and
    `text` the code of texts; None for other kinds. A message moves an estimate by at most `reach` people. `planted`
    forged reports are enough to show a value that nobody holds; None if all values are shown. `round` is the number of
    the round and the id of its series; None for a single task. `quantiles` tells whether the release has any, and
    `one_host` whether all servers are on one host.
    """

    task: str
    protocol: str
    false_positives: bool
    answers: int
    batches: int
    users: int
    honest_users: int
    shufflers: int
    admission: str
    most_messages: int
    padded: bool
    chance_of_more: float
    refused: Mapping[str, int]
    surplus: bool
    short: bool
    ledger: str | None = None
    left_out: int = 0
    kind: str = "list"
    text: TextCode | None = None
    reach: float = 1.0
    planted: int | None = None
    round: tuple[int, str] | None = None
    quantiles: bool = False
    one_host: bool = False

    @property
    def people(self) -> int:
        """Everybody in the release."""
        return self.batches * self.users


def collected_notes(facts: Collected) -> Iterator[str]:
    """Yield how the release came about, one note at a time."""
    yield f"Protocol: {protocol_title(facts.protocol)}, as the task says."
    yield (
        f"Collected from people by the task {facts.task}: nobody held the data. Each person's own device made and "
        "encrypted their messages, and the analyzer saw only shuffled messages of whole batches."
    )
    if facts.round is not None:
        number, series = facts.round
        yield (
            f"This is round {number:,} of the series {series}. The guarantee is per person and round: the guarantee of "
            "all rounds together is in the series file."
        )
    yield _counts(facts)
    yield _trust(facts)
    if facts.batches > 1:
        yield (
            "Each person is in one batch, and each batch was shuffled and counted separately. The guarantee of the "
            "release is therefore the guarantee of one batch."
        )
    yield _refusals(facts.refused)
    yield _forged(facts)
    yield _ADMISSION[facts.admission]
    yield _limit(facts)
    yield from _possible(facts)
    if facts.false_positives:
        yield (
            "An estimate is the count minus the expected noise. If few people gave an answer, its estimate can be "
            "below zero. Read a negative number as 0."
        )
    if facts.ledger is not None:
        yield (
            f"The ledger of {facts.ledger} counts the task once, however many of its batches are released, because "
            "each person answers it once."
        )
    if facts.left_out:
        yield (
            f"Left out: {counted(facts.left_out, 'batch')} with fewer messages than the number of "
            "reports requires, whose noise is incomplete."
        )


def lookup_lines(found: Sequence[LookedUp], answers: Sequence[str]) -> Iterator[str]:
    """Yield the counts of the `answers` that were looked up; their intervals hold at once."""
    for one, answer in zip(found, answers, strict=True):
        counted_as = "" if one.value == answer else f", counted as {shown(one.value)}"
        yield f"{shown(answer)}{counted_as}: about {round(one.count):,} ({one.low:,} to {one.high:,} people)."
    if found:
        level = confidence(sum(one.beta for one in found))
        yield f"{level} confidence, all {counted(len(found), 'answer')} looked up at once."


def collected_warnings(facts: Collected) -> Iterator[str]:
    """Yield what is wrong with the servers and the collected messages."""
    if facts.one_host:
        yield "only for tests: one operator ran all servers of this survey and could read every answer"
    if facts.surplus:
        yield (
            "the batch has more messages than its number of reports allows, so some reports are forged. Counts and "
            "intervals may be wrong. The privacy guarantee needs people of a batch who follow the protocol: "
            f"{how_many(facts.honest_users, facts.users)}"
        )
    if facts.short:
        yield (
            "the batch has fewer messages than its number of reports requires, but enough for the "
            f"{readable(facts.honest_users)} honest people that the guarantee needs. The privacy guarantee holds, but "
            "counts and intervals may be wrong"
        )
    if number := sum(facts.refused.values()):
        were = "was" if number == 1 else "were"
        yield f"{counted(number, 'message')} {were} refused and not counted, so counts may be wrong"


def _counts(facts: Collected) -> str:
    each = counted(facts.users, "person")
    if facts.batches == 1:
        return f"The release counts 1 batch of {each}."
    return f"The release counts {counted(facts.people, 'person')} in {readable(facts.batches)} batches of {each} each."


def _trust(facts: Collected) -> str:
    servers = "the shuffler and the analyzer" if facts.shufflers == 1 else f"all {_number(facts.shufflers + 1)} servers"
    return (
        f"Answers stay private unless {servers} cheat together, a shuffler throws away everyone "
        "else's messages, or the server of a survey page changed that page. The noise comes from the people of "
        f"a batch, who must follow the protocol: {how_many(facts.honest_users, facts.users)}."
    )


def how_many(honest_users: int, users: int) -> str:
    """Return how many people of a batch the guarantee needs, such as "at least 40 of 60"."""
    return (
        f"all {readable(users)}" if honest_users == users else f"at least {readable(honest_users)} of {readable(users)}"
    )


_NUMBERS = ("three", "four", "five", "six", "seven", "eight", "nine")


def _number(servers: int) -> str:
    """The number of all servers, at least three, as a word if it has a short one."""
    return _NUMBERS[servers - 3] if servers - 3 < len(_NUMBERS) else readable(servers)


def _refusals(refused: Mapping[str, int]) -> str:
    if not refused:
        return "No message was refused."
    listed = (f"{counted(number, 'message')} {_REFUSED[Reason(reason)]}" for reason, number in refused.items())
    return f"Refused: {'; '.join(listed)}."


def _forged(facts: Collected) -> str:
    """Each message moves a count by at most its reach, and so does a message that is not sent."""
    one, several = math.ceil(facts.most_messages * facts.reach), math.ceil(facts.people / _SHARE)
    more = ""
    if several > 1:
        more = f", and {readable(several)} forged reports (1%) by at most {people_at_most(several * one)}"
    near = "" if facts.false_positives else ". It could also have made a rare value appear or disappear"
    if facts.planted is not None:
        what, reports = "value" if facts.text is None else "text", counted(facts.planted, "forged report")
        near = f". {reports} together could have made a {what} appear that nobody holds, and sometimes fewer could"
    return f"A forged report could have moved a shown count by at most {people_at_most(one)}{more}{near}."


def _possible(facts: Collected) -> Iterator[str]:
    """Yield which answers were possible, and how texts were normalised and cut."""
    code = facts.text
    if facts.kind == "numbers":
        yield (
            f"The edges between the {counted(facts.answers, 'interval')} of numbers are public. A number outside of "
            "them is in the first or the last interval. Anything that is no number is counted as (other), and no "
            "answer as (none); both belong to no range and no quantile."
        )
        return
    if code is None:
        yield f"The list of the {counted(facts.answers, 'possible answer')} is public."
        if facts.kind == "range" and facts.quantiles:
            yield (
                "Anything that is no number of this range is counted as (other), and no answer as (none). The median "
                "and the quantiles are of the other people."
            )
        elif facts.kind == "range":
            yield (
                "The release has no median and no quantiles: the error of sums of these counts is not known, or too "
                "many numbers are possible. A task with edges between numbers has them."
            )
        if facts.kind == "choices":
            yield (
                "A count is the number of people with this choice. A person can have several, so counts may add up to "
                "more than the number of people. No choice at all is counted as the choice (none)."
            )
        return
    pieces = "of a public list"
    if code.alphabet:
        pieces = f"of {'one character' if code.width == 1 else f'up to {code.width} characters'} of a public alphabet"
    yield (
        f"Any text of up to {code.longest:,} bytes could be an answer; nobody listed the possible texts. Each device "
        f"cut the text into at most {counted(code.levels, 'piece')} {pieces}."
    )
    if code.normalisation:
        steps = [STEPS[step] for step in code.normalisation]
        both = f"{', '.join(steps[:-1])} and {steps[-1]}" if len(steps) > 1 else steps[0]
        yield f"Before a text is counted, {both}."
    yield "A text that is longer or cannot be cut is counted as (other), and no answer as (none)."


def _limit(facts: Collected) -> str:
    most = counted(facts.most_messages, "message")
    holds = f"A report holds at most {most}"
    if facts.padded:
        holds = f"Every report holds {most}. Some are padding and count for nothing, so its length reveals nothing"
    if not facts.chance_of_more:
        return f"{holds}. No client makes more."
    return (
        f"{holds}. A client that draws more draws again. This happens to anybody in a batch with probability at most "
        f"{share_at_most(facts.chance_of_more)}, which the guarantee includes."
    )

"""What the reader of a collected release must know, in sentences: who was asked, whom to trust, what can be forged.

A release that was kept, as what a request asks for. A file is made once, however often somebody asks for it.

From tallies to releases: entered in the ledger once for each task, and only then visible.

Everybody answers a task once and is in one batch, so all releases of a task together have the promise of one batch
(`ShuffledHistogram.joined`), and the ledger is entered once, before the first of them. It is entered under the task's
id, by which it is found again: whoever is stopped between the ledger and the release publishes later without spending
again. Nothing that is released is drawn here, so a release that is made again is the same one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path

from shuffledp.collect.reasons import Reason
from shuffledp.collect.server.cache import MadeOnce
from shuffledp.collect.server.observability import log, log_error
from shuffledp.collect.store import KeptTally, TallyStore
from shuffledp.collect.store.tallies import from_bytes
from shuffledp.collect.task import Task
from shuffledp.collect.task.task import BETA
from shuffledp.collect.web.assets import HEADERS, policy
from shuffledp.errors import DataError
from shuffledp.explain.files import parquet_bytes, with_about
from shuffledp.explain.look import LOOK_SOURCE
from shuffledp.explain.plan import warnings
from shuffledp.formatting import counted, people_at_most, readable, share_at_most
from shuffledp.histogram.tally import Tally
from shuffledp.ledger import Ledger
from shuffledp.protocols.catalogue import CATALOGUE
from shuffledp.protocols.shuffled_histogram import chance_of_more
from shuffledp.release.plan_rows import detection_limit
from shuffledp.release.release import Release

_SHARE = 100
"""What forged reports can do is told for one of them, and for one in a hundred."""

_REFUSED = {
    Reason.CANNOT_BE_OPENED: "could not be opened",
    Reason.REPEATED: "had been there before",
    Reason.NOT_A_MESSAGE: "had a number that is no message of the protocol",
}

_ADMISSION = {
    "anybody": "Anybody could send reports, as many as they liked: nobody checked that each came from another person.",
    "secret": "Only whoever knew a shared secret could send a report; they could send several.",
    "tokens": "Only whoever had been given a token could send a report, and each token was good for one.",
}


def collected_notes(task: Task, *, batches: int, refused: Mapping[str, int]) -> Iterator[str]:
    """How the release came about."""
    entry = CATALOGUE[task.protocol_used.name]
    yield f"Protocol: {entry.title}, as the task says."
    yield (
        f"It was collected from people by the task {task.name}: nobody held the data. Everybody's own device made "
        "and sealed their messages, and the analyzer has seen only mixed messages of whole batches."
    )
    yield _counts(task, batches)
    yield _trust(task)
    if batches > 1:
        yield (
            "Everybody is in one batch, and each batch was mixed and counted by itself, so that the promise is that of "
            "one batch."
        )
    yield from _refusals(refused)
    yield _forged(task, people=batches * task.users, truncated=not entry.false_positives)
    yield _ADMISSION[task.admission]
    yield _limit(task)
    yield f"The list of the {counted(task.answers.size, 'possible answer')} is public."
    if entry.false_positives:
        yield (
            "An estimate is what was counted less the noise that was to be expected. Where hardly anybody gave an "
            "answer, it can be below zero, and so can an end of its interval; the true number cannot, so read that "
            "as 0."
        )


def collected_warnings(task: Task, *, surplus: bool, short: bool, refused: Mapping[str, int]) -> Iterator[str]:
    """What is amiss."""
    if surplus:
        yield (
            "there are more messages than so many people send, so some reports are forged: the promise stands, but the "
            "counts and their intervals may be off"
        )
    if short:
        yield (
            f"there are fewer messages than so many people send, though as many as the {readable(task.honest_users)} "
            "who are counted on in a batch: the promise stands, but the counts and their intervals may be off"
        )
    if number := sum(refused.values()):
        were = "was" if number == 1 else "were"
        yield f"{counted(number, 'message')} {were} refused and not counted, so that counts may be off"


def _counts(task: Task, batches: int) -> str:
    people = _people(task.users)
    if batches == 1:
        return f"It counts 1 batch of {people}."
    return f"It counts {_people(batches * task.users)}, in {readable(batches)} batches of {people} each."


def _people(number: int) -> str:
    return counted(number, "person", things="people")


def _trust(task: Task) -> str:
    if len(task.shufflers) == 1:
        who = "the shuffler and the analyzer do not work together"
    else:
        who = f"the analyzer and all {len(task.shufflers)} shufflers do not work together"
    return f"Who sent what stays hidden as long as {who}."


def _refusals(refused: Mapping[str, int]) -> Iterator[str]:
    if not refused:
        yield "No message was refused."
        return
    listed = (f"{counted(number, 'message')} {_REFUSED[Reason(reason)]}" for reason, number in refused.items())
    yield f"Refused: {'; '.join(listed)}."


def _forged(task: Task, *, people: int, truncated: bool) -> str:
    """Each message moves a count by at most one person, and so does one that is not sent."""
    one, several = task.most_messages, math.ceil(people / _SHARE)
    more = f", and {readable(several)} of them (1 %) by at most {people_at_most(several * one)}" if several > 1 else ""
    near = "; it could also have made a value that few people hold appear or vanish" if truncated else ""
    return f"A forged report could have moved a count that is shown by at most {people_at_most(one)}{more}{near}."


def _limit(task: Task) -> str:
    most = counted(task.most_messages, "message")
    holds = f"A report holds at most {most}"
    if task.padded:
        holds = f"Every report holds {most}, of which some count for nothing, so that its length tells nothing"
    again = chance_of_more(task.protocol, task.most_messages)
    if not again:
        return f"{holds}. Nobody makes more."
    return (
        f"{holds}. Whoever makes more draws again, which happens to anybody of a batch with "
        f"probability at most {share_at_most(again)} and is counted in the promise."
    )


ARROW = "application/vnd.apache.arrow.file"
PARQUET = "application/vnd.apache.parquet"


def _arrow(release: Release) -> bytes:
    """A file of Arrow; the metadata of its schema say what the JSON document says."""
    import pyarrow

    table = with_about(release)
    file = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return bytes(file.getvalue())


_MADE: dict[str, tuple[str, Callable[[Release], bytes]]] = {
    "csv": ("text/csv; charset=utf-8", lambda release: release.estimate.to_csv().encode()),
    "arrow": (ARROW, _arrow),
    "parquet": (PARQUET, lambda release: parquet_bytes(with_about(release))),
    "html": ("text/html; charset=utf-8", lambda release: release.to_html().encode()),
}

JSON = "json"
"""The ending of what was kept, byte for byte: nothing has to be made for it."""

ENDINGS = (JSON, *_MADE)

MOST_BYTES = 24 * 2**20
"""Of files that an analyzer keeps: all formats of hundreds of usual releases, or ten tables of 20,000 answers. With
what the console keeps of releases it is 32 MB."""


class Files:
    """The files of releases, made once for each ending."""

    def __init__(self, *, most_bytes: int = MOST_BYTES) -> None:
        self._made: MadeOnce[bytes] = MadeOnce(most_bytes=most_bytes, size=len)

    def get(self, task: Task, number: int, ending: str, release: Callable[[], bytes]) -> bytes:
        """A file; `release` gives what was kept, and is asked for it only if the file has to be made."""
        make = _MADE[ending][1]
        return self._made.get((task.id, number, ending), lambda: make(Release.from_json(release().decode())))


def media_type(ending: str) -> str:
    """The media type for an ending."""
    return "application/json" if ending == JSON else _MADE[ending][0]


def headers_for(ending: str) -> Mapping[str, str]:
    """How a browser may treat a release: the page shows its own style, and runs, loads and sends nothing."""
    if ending != "html":
        return HEADERS
    return {**HEADERS, "content-security-policy": policy(styles=(LOOK_SOURCE,), scripts=False, forms=False)}


def file_name(task: Task, number: int, ending: str) -> str:
    """What the file of a release is called: by the task's id, never by words of somebody else."""
    return f"shuffledp-{task.name[:12]}-release-{number}.{ending}"


def saved_as(task: Task, number: int, ending: str | None) -> Mapping[str, str]:
    """The name under which a browser saves a release; what is asked for without an ending is not saved."""
    if ending is None:
        return {}
    how = "inline" if ending == "html" else "attachment"
    return {"content-disposition": f'{how}; filename="{file_name(task, number, ending)}"'}


def release_of(
    task: Task, tallies: Sequence[Tally], *, refused: Mapping[str, int], beta: float = BETA, more: Iterable[str] = ()
) -> Release:
    """The release of one batch, or of several joined; `refused` counts messages by reason, `more` are further notes.

    Each tally must have passed `counting.check_noise`.
    """
    entry, protocol = CATALOGUE[task.protocol_used.name], task.protocol.joined(len(tallies))
    together = reduce(add, tallies)
    estimate = protocol.estimate(together, beta=beta, reports=protocol.users, domain=task.labels, forged=True)
    error = protocol.error(beta).simultaneous
    amiss = collected_warnings(
        task,
        surplus=any(task.protocol.fewest_reports(tally) > task.users for tally in tallies),
        short=any(task.protocol.most_reports(tally) < task.users for tally in tallies),
        refused=refused,
    )
    return Release(
        estimate=estimate,
        protocol=protocol,
        title=entry.title,
        column=task.question,
        messages=together.messages,
        error=error,
        detection_limit=detection_limit(error, false_positives=True)
        if entry.false_positives
        else estimate.simultaneous.unreported_high + 1,
        notes=(*collected_notes(task, batches=len(tallies), refused=refused), *more),
        warnings=(*amiss, *warnings(users=protocol.users, delta=task.guarantee.delta, error=error)),
        asked={"task": task.name, "batches": len(tallies)},
    )


def entered_as(task: Task) -> str:
    """What the ledger calls a task: first its id, which no other task has."""
    return f"task {task.name} {task.question}"


class Releasing:
    """The releases of one task: of every batch by itself, or `joined`, each of all batches so far."""

    def __init__(
        self, task: Task, store: TallyStore, *, ledger: Ledger | str | Path | None = None, joined: bool = False
    ) -> None:
        self._task, self._store, self._joined = task, store, joined
        self._ledger = None if ledger is None else Ledger.of(ledger)
        _ = task.labels  # a list of answers that is not here is noticed at once

    def release(self) -> int:
        """Releases the batches that wait for it; how many releases became visible."""
        good = [kept for kept in self._store.tallies(self._task.id) if kept.problem is None]
        new = [kept for kept in good if not kept.released]
        if not new:
            return 0
        batches = [good] if self._joined else [[kept] for kept in new]
        for each in batches:
            self._publish(each)
        return len(batches)

    def _publish(self, batches: Sequence[KeptTally]) -> None:
        made = release_of(
            self._task,
            [from_bytes(kept.tally) for kept in batches],
            refused=_together(kept.refused for kept in batches),
            more=() if self._ledger is None else [_entered_in_words(self._ledger)],
        )
        text = made.to_json().encode()
        entry = self._enter()
        number = self._store.keep_release(self._task.id, release=text, batches=[kept.batch_id for kept in batches])
        log("released", task=self._task.id, release=number, batches=len(batches), people=made.protocol.users)
        self._finish(entry)

    def _enter(self) -> int | None:
        """Nothing is visible yet, and everything else has been done."""
        if self._ledger is None:
            return None
        catalogued = CATALOGUE[self._task.protocol_used.name]
        return self._ledger.spend(self._task.protocol, what=entered_as(self._task), entry=catalogued, once=True)

    def _finish(self, entry: int | None) -> None:
        if self._ledger is None or entry is None:
            return
        try:
            self._ledger.finish(entry)
        except DataError as error:  # for information only: it is spent, and the release is there
            log_error("the ledger was not marked", error, task=self._task.id)


def _entered_in_words(ledger: Ledger) -> str:
    return (
        f"The ledger of {ledger.population} counts the task once, however many of its batches are released: everybody "
        "answers it once."
    )


def _together(refused: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in refused:
        for reason, number in each.items():
            total[reason] = total.get(reason, 0) + number
    return total

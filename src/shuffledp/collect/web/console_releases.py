"""Releases as parts of a page. Each is drawn once, however often somebody looks.

How the numbers went over the releases of a task: drawn again only when there is another release, and by one thread.

Of each release only the few values are kept meanwhile that are drawn: thirty whole ones may have hundreds of megabytes.

The ledger for the console: read again now and then, and added up again only when it has changed.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from shuffledp.collect.server.cache import MadeOnce
from shuffledp.collect.store import KeptRelease, ListedRelease, TallyStore
from shuffledp.collect.task import Task
from shuffledp.collect.web.html import NOTHING, Html, cards, html, joined, label, link, table, tag
from shuffledp.collect.web.server_status import Fresh
from shuffledp.errors import ShuffledpError
from shuffledp.explain import page as parts
from shuffledp.explain.history import MOST_RELEASES, MOST_VALUES, Past, history
from shuffledp.explain.ledger import left as left_text
from shuffledp.formatting import counted, moment, readable, share_at_most, shown
from shuffledp.histogram.estimate import Intervals
from shuffledp.ledger import Ledger, LedgerEntry, Standing
from shuffledp.release.release import Release

DOWNLOADS = {
    "csv": "CSV, for a spreadsheet",
    "json": "JSON, everything about the release",
    "parquet": "Parquet, for programs",
    "html": "The report, one page to keep",
}
"""What a release can be had as, and for what; Arrow is left out, since who reads it reads Parquet too."""

MOST_BYTES = 8 * 2**20
"""Of what is kept drawn: more than a hundred releases, of whose answers a page shows the first ones only. It is apart
from the files (formats.py), so that whoever asks for those one after the other does not drive out the pages."""


@dataclass(frozen=True)
class Drawn:
    """The parts of a release, as HTML."""

    people: int
    made_with: str
    cautions: Html
    numbers: Html
    picture: Html
    table: Html
    promise: Html
    words: Html


def _size(made: Drawn | None) -> int:
    return 0 if made is None else sum(sys.getsizeof(getattr(made, each.name)) for each in fields(made))


DRAWN: MadeOnce[Drawn | None] = MadeOnce(most_bytes=MOST_BYTES, size=_size)


def drawn(kept: KeptRelease) -> Drawn | None:
    """The parts of a release; None if this program cannot read it."""
    known_by = hashlib.sha256(kept.release).digest()  # and not by the text itself, which may have megabytes
    return DRAWN.get(known_by, lambda: _drawn(kept.release))


def _drawn(content: bytes) -> Drawn | None:
    release = read(content)
    if release is None:
        return None
    return Drawn(
        people=release.estimate.people,
        made_with=release.version,
        cautions=Html(parts.cautions(release)),
        numbers=Html(parts.cards(release)),
        picture=Html(f"{parts.picture(release)}\n{parts.by_rank(release)}"),
        table=Html(parts.table(release)),
        promise=Html(parts.promise(release)),
        words=Html(f"{parts.meaning(release)}\n{parts.counting(release)}"),
    )


def read(content: bytes) -> Release | None:
    """The release; None for one that is damaged, or made by a newer program."""
    try:
        return Release.from_json(content.decode())
    except (ShuffledpError, ValueError):
        return None


def heading(kept: KeptRelease, found: Drawn | None) -> Html:
    """Which release it is, when it was made and by what."""
    said = [Html(f'made on <time datetime="{kept.made.isoformat()}">{moment(kept.made)}</time>')]
    if found is not None:
        said = [
            html(counted(found.people, "person", things="people")),
            *said,
            html(f"with shuffledp {found.made_with}"),
        ]
    return tag("h2", f"Release {kept.number}") + tag("p", joined(said, ", "), class_="under")


def result(task: Task, kept: KeptRelease) -> Html:
    """What came out: warnings, numbers, picture, table, files."""
    found = drawn(kept)
    shown = [_unreadable()] if found is None else [found.cautions, found.numbers, found.picture, found.table]
    return joined([heading(kept, found), *shown, downloads(task, kept.number)])


def conditions(kept: KeptRelease) -> Html:
    """What is promised, what it means, and how people were counted."""
    found = drawn(kept)
    return NOTHING if found is None else joined([found.promise, found.words])


def downloads(task: Task, number: int) -> Html:
    """The files of a release; the answer to each request says what its file is called."""
    at = f"/v1/tasks/{task.name}/releases/{number}"
    listed = (
        tag("li", link(f"{at}.{ending}", words, class_="button quiet", download=""))
        for ending, words in DOWNLOADS.items()
    )
    return tag("h3", f"Files of release {number}") + tag("ul", joined(listed), class_="buttons")


def _unreadable() -> Html:
    return tag(
        "p", "This release cannot be shown by this version of the program. Its files are there.", class_="warning"
    )


class Histories:
    """The histories of tasks, from the store of their releases."""

    def __init__(self, store: TallyStore) -> None:
        self._store = store
        self._known: dict[str, tuple[list[ListedRelease], Html]] = {}
        self._drawing = threading.Lock()

    def of(self, task: Task) -> Html:
        """A picture, and a list of all releases; nothing where there is only one.

        Whoever comes while it is drawn is not kept waiting, and gets the one before.
        """
        listed = self._store.listed(task.id)
        if len(listed) < 2:
            return NOTHING
        if self._of(task)[0] != listed and self._drawing.acquire(blocking=False):
            try:
                self._known[task.name] = listed, self._drawn(task, listed)
            finally:
                self._drawing.release()
        return self._of(task)[1]

    def _of(self, task: Task) -> tuple[list[ListedRelease], Html]:
        return self._known.get(task.name, ([], NOTHING))

    def _drawn(self, task: Task, listed: list[ListedRelease]) -> Html:
        past = list(self._past(task, [each.number for each in reversed(listed[-MOST_RELEASES:])]))
        links = joined(
            tag("li", link(f"/tasks/{task.name}/releases/{each.number}", f"Release {each.number}, {_when(each)}"))
            for each in reversed(listed)
        )
        title = html(f"All {counted(len(listed), 'release')}")
        return Html(f"{history(past)}\n<details><summary>{title}</summary><ul>{links}</ul></details>")

    def _past(self, task: Task, numbers: Iterable[int]) -> Iterator[Past]:
        """Releases that can be read, each with the values only that are frequent in the first of them."""
        labels: list[Any] | None = None
        for number in numbers:
            kept = self._store.release(task.id, number)
            release = None if kept is None else read(kept.release)
            if kept is None or release is None:
                continue
            if labels is None:
                labels = [row.label for row in release.estimate.top(MOST_VALUES)]
            yield Past(kept.number, kept.made, release.estimate.people, _only(release, labels))


def _only(release: Release, labels: list[Any]) -> Release:
    """A release with some of its values."""
    estimate = release.estimate
    at = [place for place, label in enumerate(estimate) if label in labels]

    def cut(intervals: Intervals) -> Intervals:
        return replace(intervals, low=intervals.low[at], high=intervals.high[at])

    few = replace(
        estimate,
        symbols=estimate.labels[at],
        domain=None,  # the list of all values, which is as long
        counts=estimate.counts[at],
        per_bin=cut(estimate.per_bin),
        simultaneous=cut(estimate.simultaneous),
    )
    return replace(release, estimate=few)


def _when(listed: ListedRelease) -> str:
    return moment(listed.made)


EVERY = 5.0
"""Seconds between two looks at the file: a task is entered in it once."""

_FIRST_WAIT = 2.0
"""Seconds that a page waits which nobody has looked at before: adding up a hundred entries takes one."""

_LONGEST = 120
"""Characters of an entry that are shown."""


class Budget:
    """What is spent and left of a ledger; None is no ledger at all."""

    def __init__(self, ledger: Ledger | str | Path | None) -> None:
        self._ledger = ledger
        self._known: tuple[Sequence[LedgerEntry], Standing] | None = None
        self._fresh = Fresh(self._look, seconds=EVERY)

    def section(self) -> Html:
        """In words and numbers."""
        if self._ledger is None:
            return tag("p", "This analyzer was started without a ledger: nothing adds up what its releases spend.")
        found = self._fresh.latest(wait=_FIRST_WAIT)
        if isinstance(found, Standing):
            return _shown(found)
        words = "It is being added up." if found is None else found
        return tag("p", words, class_="note" if found is None else "warning")

    def _look(self) -> Standing | str:
        """Where it stands, or that it cannot be read."""
        try:
            ledger = Ledger.of(self._ledger or "")
            entries = ledger.entries
            if self._known is None or self._known[0] != entries:
                self._known = entries, ledger.standing
            return self._known[1]
        except ShuffledpError:  # whose words name a file of this machine
            return "The ledger cannot be read at the moment: nothing new can be released until it can."


_FURTHER = "Further batches of a task that is entered cost nothing more: everybody answers it once."


def _shown(standing: Standing) -> Html:
    budget = standing.budget
    spent = share_at_most(standing.epsilon, digits=3) if standing.entries else "0"
    left = standing.left_epsilon if standing.left_epsilon is not None else standing.left_epsilon_of_hist
    numbers = [
        (spent, f"epsilon is spent, at delta {budget.delta:g}"),
        (f"{budget.epsilon:g}", "epsilon is the limit of all releases together"),
        ("nothing" if left is None else f"{left:g}", f"epsilon at most of one more, at delta {standing.left_delta:g}"),
    ]
    over = [tag("p", "More is spent than the limit allows.", class_="open")] if standing.over else []
    return joined(
        [
            Html(f"<p>The ledger of <b>{label(shown(budget.population, width=80))}</b>: {html(_limit(standing))}</p>"),
            cards(numbers),
            *over,
            tag("p", f"Left: {left_text(standing)}. {_FURTHER}", class_="soft"),
            _entries(standing),
        ]
    )


def _limit(standing: Standing) -> str:
    budget = standing.budget
    return (
        f"all releases of their data together promise at most epsilon {budget.epsilon:g} with delta {budget.delta:g}."
    )


def _entries(standing: Standing) -> Html:
    if not standing.entries:
        return tag("p", "Nothing was entered yet.")
    rows = [
        (
            label(shown(each.what, width=_LONGEST)),
            each.day.isoformat(),
            share_at_most(each.epsilon, digits=4),
            share_at_most(each.delta, digits=4),
            "" if each.people is None else readable(each.people),
            "yes" if each.published else "no",
        )
        for each in standing.entries
    ]
    head = ("what", "day", "epsilon", "delta", "people", "published")
    number = html(counted(len(rows), "entry", things="entries"))
    return Html(f"<details><summary>{number}</summary>{table(head, rows)}</details>")

"""Releases as parts of a page. Each is drawn once, however often somebody looks."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, fields

from shuffledp.collection.pages.markup import NOTHING, Html, html, joined, link, tag
from shuffledp.collection.service.making import MadeOnce
from shuffledp.collection.stores import KeptRelease
from shuffledp.collection.task import Task
from shuffledp.errors import ShuffledpError
from shuffledp.jobs.release import Release
from shuffledp.report import parts
from shuffledp.words import counted, moment

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

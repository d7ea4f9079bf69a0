"""A release that was kept, as what a request asks for. A file is made once, however often somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shuffledp.collection.pages.responses import HEADERS, policy
from shuffledp.collection.service.making import MadeOnce
from shuffledp.collection.task import Task
from shuffledp.jobs.release import Release
from shuffledp.report.look import LOOK_SOURCE
from shuffledp.report.release_file import parquet_bytes, with_about

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

"""A release that was kept, as what a request asks for."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from shuffledp.jobs.release import Release
from shuffledp.report.release_file import with_about

ARROW = "application/vnd.apache.arrow.file"


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
    "html": ("text/html; charset=utf-8", lambda release: release.to_html().encode()),
}

ENDINGS = ("json", *_MADE)


@lru_cache(maxsize=64)  # whoever asks again must not make the analyzer compute again
def in_format(kept: bytes, ending: str) -> tuple[str, bytes]:
    """The media type and the content for an ending; JSON is what was kept, byte for byte."""
    if ending == "json":
        return "application/json", kept
    kind, make = _MADE[ending]
    return kind, make(Release.from_json(kept.decode()))

"""Stored releases in the formats that requests ask for: made once, cached, and served with strict headers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shuffledp.collect.server.cache import BoundedCache
from shuffledp.collect.task import Series, Task
from shuffledp.collect.web.pages import HEADERS, policy
from shuffledp.explain.files import ARROW, FORMATS, Format
from shuffledp.explain.html import style_source
from shuffledp.release.release import Release

_MADE: dict[str, Format] = {
    "csv": FORMATS[".csv"],
    "arrow": ARROW,
    "parquet": FORMATS[".parquet"],
    "html": FORMATS[".html"],
}
"""Formats that are made from the stored JSON."""

JSON = "json"
"""The ending of the stored release, which is served byte for byte."""

ENDINGS = (JSON, *_MADE)

MOST_BYTES = 24 * 2**20
"""Size of the cache: all formats of hundreds of usual releases, or ten tables of 20,000 answers. Together with the
cache of the console it is 32 MB."""


class Files:
    """The files of releases, cached by format."""

    def __init__(self, *, most_bytes: int = MOST_BYTES) -> None:
        self._cache: BoundedCache[bytes] = BoundedCache(most_bytes=most_bytes, size=len)

    def get(self, task: Task, number: int, ending: str, release: Callable[[], bytes]) -> bytes:
        """Return a file; `release` returns the stored JSON and is called only if the file is not cached."""
        make = _MADE[ending].content
        return self._cache.get((task.id, number, ending), lambda: make(Release.from_json(release().decode())))


def media_type(ending: str) -> str:
    """Return the media type of a format."""
    return FORMATS[".json"].media_type if ending == JSON else _MADE[ending].media_type


def headers_for(ending: str) -> Mapping[str, str]:
    """Return headers for a browser: a report uses its own style, and runs, loads and sends nothing."""
    if ending != "html":
        return HEADERS
    return {**HEADERS, "content-security-policy": policy(styles=(style_source(),), scripts=False, forms=False)}


def file_name(task: Task, number: int, ending: str) -> str:
    """Return the name of a release file: the task's id, never text from outside."""
    return f"shuffledp-{task.name[:12]}-release-{number}.{ending}"


TREND_ENDINGS = ("json", "csv", "html")
"""The formats in which the rounds of a series are compared."""


def trend_saved_as(series: Series, ending: str | None) -> Mapping[str, str]:
    """Return the header that names a downloaded file of a series; a request without an ending is not a download."""
    if ending is None:
        return {}
    how = "inline" if ending == "html" else "attachment"
    return {"content-disposition": f'{how}; filename="shuffledp-{series.name[:12]}-trend.{ending}"'}


def saved_as(task: Task, number: int, ending: str | None) -> Mapping[str, str]:
    """Return the header that names a downloaded file; a request without an ending is not a download."""
    if ending is None:
        return {}
    how = "inline" if ending == "html" else "attachment"
    return {"content-disposition": f'{how}; filename="{file_name(task, number, ending)}"'}

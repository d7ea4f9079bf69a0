"""Releases as they are shown: without blocked words, in the formats that requests ask for, and compared in a trend."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from shuffledp.collect.analyzer.releases import release_of
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.http import BoundedCache
from shuffledp.collect.server.observability import Event, log_error
from shuffledp.collect.store import KeptRelease, ListedRelease, TallyStore
from shuffledp.collect.store.tallies import from_bytes
from shuffledp.collect.task import Series, Task
from shuffledp.collect.task.task import BETA
from shuffledp.collect.web.pages import HEADERS, policy
from shuffledp.errors import ShuffledpError
from shuffledp.explain.files import ARROW, FORMATS, Format
from shuffledp.explain.html import render, style_source
from shuffledp.explain.trend_page import context, page
from shuffledp.release.free_text import Blocklist, hide
from shuffledp.release.release import Release
from shuffledp.release.trend import Trend
from shuffledp.release.trend_rounds import Risks, Round, is_exact

_MOST_HIDDEN_BYTES = 2**23
"""Size of the cache: hundreds of releases of texts."""

_WHY = "this release cannot be read by this version, so blocked words cannot be hidden in it"
UNREADABLE = json.dumps({"people": None, "asked": {"batches": None}, "guarantee": None, "warnings": [_WHY]}).encode()
"""What is shown of such a release."""


class HidingStore(TallyStore):
    """The same store with a blocklist: no page, file or list of the analyzer shows a blocked word.

    Releases are stored as they were made, and words are hidden when a release is read: an insult is known only after it
    was published, and the operator then starts the analyzer with a longer blocklist. An operator who looks up a text
    that is hidden is given its count.
    """

    def __init__(self, store: TallyStore, block: Blocklist) -> None:
        super().__init__(store._database)
        self._block = block
        self._shown: BoundedCache[bytes] = BoundedCache(most_bytes=_MOST_HIDDEN_BYTES, size=len)

    def release(self, task_id: bytes, number: int | None = None) -> KeptRelease | None:
        """Return the release of this number, or the latest, without blocked words; None if there is none."""
        kept = super().release(task_id, number)
        if kept is None:
            return None
        key = hashlib.sha256(kept.release).digest()
        return replace(kept, release=self._shown.get(key, lambda: self._without(kept.release)))

    def without_blocked(self, release: Release) -> Release:
        """Return a release without blocked words."""
        return hide(release, self._block)

    def _without(self, content: bytes) -> bytes:
        """A release without blocked words, byte for byte the same if it has none."""
        try:
            release = Release.from_json(content.decode())
            shown = hide(release, self._block)
        except (ShuffledpError, ValueError):
            return UNREADABLE
        return content if shown is release else shown.to_json().encode()


JSON = "json"
"""The ending of the stored release, which is served byte for byte; the other formats are made from it."""

_FORMATS: dict[str, Format] = {
    JSON: FORMATS[".json"],
    "csv": FORMATS[".csv"],
    "arrow": ARROW,
    "parquet": FORMATS[".parquet"],
    "html": FORMATS[".html"],
}

ENDINGS = tuple(_FORMATS)

TREND_ENDINGS = ("json", "csv", "html")
"""The formats in which the rounds of a series are compared."""

MOST_BYTES = 24 * 2**20
"""Size of the cache: all formats of hundreds of usual releases, or ten tables of 20,000 answers. Together with the
cache of the console it is 32 MB."""


class Files:
    """The files of releases, cached by format."""

    def __init__(self) -> None:
        self._cache: BoundedCache[bytes] = BoundedCache(most_bytes=MOST_BYTES, size=len)

    def get(self, task: Task, number: int, ending: str, release: Callable[[], bytes]) -> bytes:
        """Return a file; `release` returns the stored JSON and is called only if the file is not cached."""
        if ending == JSON:
            return release()
        make = _FORMATS[ending].content
        return self._cache.get((task.id, number, ending), lambda: make(Release.from_json(release().decode())))


def headers_for(ending: str) -> Mapping[str, str]:
    """Return headers for a browser: a report uses its own style, and runs, loads and sends nothing."""
    if ending != "html":
        return HEADERS
    return {**HEADERS, "content-security-policy": policy(styles=(style_source(),), scripts=False, forms=False)}


def file_response(content: bytes, of: Task | Series, what: str, ending: str | None) -> Response:
    """Answer with a file, named by an id and never by text from outside; without an ending it is no download."""
    headers = headers_for(ending or JSON)
    if ending is not None:
        how = "inline" if ending == "html" else "attachment"
        name = f"shuffledp-{of.name[:12]}-{what}.{ending}"
        headers = {**headers, "content-disposition": f'{how}; filename="{name}"'}
    return Response(content, headers=headers, media_type=_FORMATS[ending or JSON].media_type)


MOST_NUMBERS = 4_000_000
"""Values times rounds of a trend, which is held in memory while it is computed: the latest rounds that fit."""

WAIT = 5.0
"""Seconds that a request waits for a trend before the previous one is shown."""

NOT_READY = "The rounds are being compared: try again in a few seconds."

_State = tuple[tuple[int, ListedRelease, int], ...]


class ShownTrend(NamedTuple):
    """A trend as markup for the console and as files."""

    rounds: int
    part: Markup
    files: dict[str, bytes]


class SeriesTrends:
    """The trends of series: each is computed again only after a new release, by one thread.

    A release has intervals of its own. Those of a trend must hold for all rounds together, so every round is estimated
    again from the tallies of its released batches, with its share of the risk (release/trend_rounds.py). Batches that
    are not released yet are left out: the ledger may have no entry for them. Texts are searched again, which takes as
    long as their release.
    """

    def __init__(self, store: TallyStore, *, processes: int | None = None, wait: float = WAIT) -> None:
        self._store, self._processes, self._wait = store, processes, wait
        self._known: dict[str, tuple[_State, ShownTrend | None]] = {}
        self._running: dict[str, threading.Event] = {}
        self._lock, self._computing = threading.Lock(), threading.Lock()

    def of(self, series: Series) -> ShownTrend | None:
        """Return the trend; None before the first release. While the first one is computed, requests are refused."""
        state = self._state(series)
        if not state:
            return None
        known = self._known.get(series.name)
        if known is None or known[0] != state:
            self._begin(series, state).wait(self._wait)
            known = self._known.get(series.name)
        if known is None:
            raise Refused(Reason.UNAVAILABLE, NOT_READY)
        return known[1]

    def _state(self, series: Series) -> _State:
        """The latest release of each round that has one, and the number of its releases."""
        numbers = {series.task(number).id: number for number in range(1, series.rounds + 1)}
        listed = self._store.listed_of(list(numbers))
        return tuple((numbers[task_id], found[-1], len(found)) for task_id, found in listed.items() if found)

    def _begin(self, series: Series, state: _State) -> threading.Event:
        """Compute a trend in a thread, unless one does so already."""
        with self._lock:
            if series.name in self._running:
                return self._running[series.name]
            done = self._running[series.name] = threading.Event()
        threading.Thread(target=self._run, args=(series, state, done), daemon=True).start()
        return done

    def _run(self, series: Series, state: _State, done: threading.Event) -> None:
        try:
            with self._computing:  # one at a time
                self._known[series.name] = state, self._shown(series, state)
        except Exception as error:  # the previous trend is better than none
            log_error(Event.TREND_FAILED, error)
        finally:
            with self._lock:
                del self._running[series.name]
            done.set()

    def _shown(self, series: Series, state: _State) -> ShownTrend | None:
        trend = self.trend(series, [number for number, _, _ in state])
        if trend is None:
            return None
        part = render("trend.html", **context(trend))
        files = {"json": trend.to_json().encode(), "csv": trend.to_csv().encode(), "html": page(trend).encode()}
        return ShownTrend(len(trend.rounds), part, files)

    def trend(self, series: Series, numbers: list[int]) -> Trend | None:
        """Return the trend of these rounds, or of the latest of them; None if none can be shown."""
        rounds = list(reversed(list(self._rounds(series, numbers))))
        return Trend.of(rounds, rounds=series.rounds, beta=BETA) if rounds else None

    def _rounds(self, series: Series, numbers: list[int]) -> Iterator[Round]:
        """Yield the rounds with a release, the latest first, as long as their numbers fit."""
        room = MOST_NUMBERS
        risks = Risks.of(BETA, series.rounds, exact=is_exact(series.task(1).released_by(1)))
        for number in reversed(numbers):
            found = self._estimated(series.task(number), risks)
            if found is None:
                continue
            room -= len(found.estimate)
            if room < 0:
                return
            yield Round(number, series.opens_at(number), found)

    def _estimated(self, task: Task, risks: Risks) -> Release | None:
        """The round with its share of the risk, without blocked words; None if it cannot be shown."""
        released = [kept for kept in self._store.tallies(task.id) if kept.released and kept.problem is None]
        if not released:
            return None
        tallies = [from_bytes(kept.tally) for kept in released]
        beta = risks.for_estimate(ordered=task.ranges() is not None)
        release = release_of(task, tallies, refused={}, beta=beta, processes=self._processes)
        try:
            return self._store.without_blocked(release)
        except ShuffledpError:
            return None

"""Sessions of the operator: random names that live in the memory of one analyzer, for hours and not for days.

A browser has the name in a cookie; here is only its hash, with when the session began and when somebody last did
something. A restart ends all of them.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

LIFETIME = 8 * 3600.0
"""Seconds after which a session ends whatever happens: a working day."""

IDLE = 30 * 60.0
"""Seconds after which it ends if nobody does anything: the page that looks for news by itself is not somebody."""

MOST = 100
"""At once; the one that was idle for longest ends first. There are a handful of operators."""

_BYTES = 32
"""Of a name: as many as of a token, so that nobody guesses one."""


@dataclass
class _Session:
    begun: float
    last: float


class Sessions:
    """Who is signed in; `clock` gives seconds."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, lifetime: float = LIFETIME, idle: float = IDLE
    ) -> None:
        self._clock, self._lifetime, self._idle = clock, lifetime, idle
        self._open: dict[bytes, _Session] = {}
        self._lock = threading.Lock()

    @property
    def lifetime(self) -> int:
        """Seconds that a session lasts at most."""
        return int(self._lifetime)

    @property
    def idle(self) -> int:
        """Seconds after which one ends if nobody does anything."""
        return int(self._idle)

    def begin(self) -> str:
        """A new session; its name is a secret of whoever signed in."""
        name, now = secrets.token_urlsafe(_BYTES), self._clock()
        with self._lock:
            self._end_the_expired()
            while len(self._open) >= MOST:
                del self._open[min(self._open, key=lambda each: self._open[each].last)]
            self._open[_hash(name)] = _Session(now, now)
        return name

    def is_open(self, name: str | None, *, active: bool = True) -> bool:
        """Whether this is the name of a session that has not ended; `active` if somebody does something."""
        with self._lock:
            self._end_the_expired()
            found = self._open.get(_hash(name or ""))
            if found is not None and active:
                found.last = self._clock()
        return found is not None

    def end(self, name: str | None) -> None:
        """Ends a session, if it is one."""
        with self._lock:
            self._open.pop(_hash(name or ""), None)

    def _end_the_expired(self) -> None:
        now = self._clock()
        self._open = {
            key: each
            for key, each in self._open.items()
            if now < each.begun + self._lifetime and now < each.last + self._idle
        }


def _hash(name: str) -> bytes:
    return hashlib.sha256(name.encode(errors="replace")).digest()

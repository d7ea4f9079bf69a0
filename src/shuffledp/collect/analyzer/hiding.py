"""A store whose releases hide blocked words, so that no page, file or list of the analyzer shows them.

Releases are stored as they were made, and words are hidden when a release is read: an insult is known only after it was
published, and the operator then starts the analyzer with a longer blocklist. An operator who looks up a text that is
hidden is given its count.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from shuffledp.collect.server.cache import BoundedCache
from shuffledp.collect.store import KeptRelease, TallyStore
from shuffledp.errors import ShuffledpError
from shuffledp.release.free_text import Blocklist, hide
from shuffledp.release.release import Release

_MOST_BYTES = 2**23
"""Size of the cache: hundreds of releases of texts."""

_WHY = "this release cannot be read by this version, so blocked words cannot be hidden in it"
UNREADABLE = json.dumps({"people": None, "asked": {"batches": None}, "guarantee": None, "warnings": [_WHY]}).encode()
"""What is shown of such a release."""


class HidingStore(TallyStore):
    """The same store with a blocklist."""

    def __init__(self, store: TallyStore, block: Blocklist) -> None:
        super().__init__(store._database)
        self._block = block
        self._shown: BoundedCache[bytes] = BoundedCache(most_bytes=_MOST_BYTES, size=len)

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

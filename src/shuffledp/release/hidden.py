"""Words that are counted but not shown: texts come from strangers, and a published one can be an insult or a link.

All hidden texts are counted in one row, (hidden). Its interval is the sum of their simultaneous intervals, so it holds
with all others at once. This only processes what is released, so it costs no privacy.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import ShortRepr
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.intervals import Intervals
from shuffledp.histogram.labels import HIDDEN
from shuffledp.histogram.tally import as_symbols
from shuffledp.release.release import Release

MOST_ENTRIES = 100_000
"""Each is compared with every text that is shown."""

NOTE = f"Texts that the publisher has blocked are not shown. They are counted together as {HIDDEN}."

NOT_WITH_BLOCK = "a blocklist must be left out with an evaluation, and with several values of each person"

_WHOLE = "="
_MOST_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Blocklist(ShortRepr):
    """Texts that are not shown: those that contain one of `parts`, or are one of `wholes`, which a file has after =.

    Upper and lower case, and compatible characters such as full-width letters, are the same; invisible characters do
    not count. Letters of other scripts that look alike, and other spellings, need entries of their own.
    """

    parts: tuple[str, ...]
    wholes: frozenset[str]

    @classmethod
    def of(cls, entries: Iterable[str]) -> Blocklist:
        """Return the blocklist of these entries; empty ones are ignored."""
        folded = [entry for entry in map(_folded, entries) if entry.strip(_WHOLE)]
        if len(folded) > MOST_ENTRIES:
            raise ParameterError(f"a blocklist must have at most {MOST_ENTRIES:,} entries, got {len(folded):,}")
        wholes = {entry.removeprefix(_WHOLE).strip() for entry in folded if entry.startswith(_WHOLE)}
        return cls(tuple(entry for entry in folded if not entry.startswith(_WHOLE)), frozenset(wholes))

    @classmethod
    def read(cls, path: Path) -> Blocklist:
        """Read a blocklist from a file of UTF-8 text, one entry in each line."""
        try:
            with path.open("rb") as file:
                content = file.read(_MOST_BYTES + 1)
            if len(content) > _MOST_BYTES:
                raise DataError(f"the blocklist {path} must have at most {_MOST_BYTES:,} bytes")
            return cls.of(content.decode("utf-8-sig").splitlines())
        except OSError as error:
            raise DataError(f"the blocklist {path} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise DataError(f"the blocklist {path} must be UTF-8 text") from None

    def hides(self, label: Any) -> bool:
        """Return whether a label is not shown; labels that are not text always are."""
        if isinstance(label, tuple):
            return any(map(self.hides, label))
        if not isinstance(label, str):
            return False
        text = _folded(label)
        return text in self.wholes or any(part in text for part in self.parts)


def _folded(text: str) -> str:
    seen = "".join(char for char in text if unicodedata.category(char) != "Cf")  # soft hyphens, zero-width spaces
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold()).strip()


def hide(release: Release, block: Blocklist | None) -> Release:
    """Return a release in which blocked texts are counted together as (hidden).

    A release that shows every listed value is returned unchanged: the list is public. So are the choices of a task that
    allows several.
    """
    estimate = release.estimate
    if block is None or estimate.reports_all or (release.collected and estimate.values_per_person > 1):
        return release
    if release.evaluation is not None or estimate.values_per_person > 1:
        raise ParameterError(NOT_WITH_BLOCK)
    labels = estimate.labels.tolist()
    hidden = np.array([block.hides(label) for label in labels], dtype=bool)
    if not hidden.any():
        return release
    hidden |= np.array([label == HIDDEN for label in labels])  # hidden before, with a shorter list
    notes = (*(note for note in release.notes if note != NOTE), NOTE)
    return replace(release, estimate=_together(estimate, hidden), notes=notes)


def _together(estimate: Estimate, hidden: NDArray[np.bool_]) -> Estimate:
    """The estimate with one bin in place of all hidden ones, at the end."""
    bounds = estimate.simultaneous.possible(estimate.people)
    most = min(estimate.people, int(bounds.high[hidden].sum()))
    total = float(estimate.counts[hidden].sum())
    ends = min(int(bounds.low[hidden].sum()), most), max(most, int(np.ceil(total)))

    def joined(intervals: Intervals) -> Intervals:
        low, high = (
            np.append(end[~hidden], one) for end, one in zip((intervals.low, intervals.high), ends, strict=True)
        )
        return replace(intervals, low=low, high=high)

    return replace(
        estimate,
        symbols=as_symbols([*estimate.labels[~hidden].tolist(), HIDDEN]),
        domain=None if estimate.domain is None else estimate.domain.implicit(estimate.bins),
        counts=np.append(estimate.counts[~hidden], total),
        per_bin=joined(estimate.per_bin),
        simultaneous=joined(estimate.simultaneous),
    )

"""What mixing files gives: figures that say nothing about anybody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from shuffledp.words import counted


class MixedBatch(NamedTuple):
    """A batch that was mixed: how many onions it has, and why others are not in it."""

    batch_id: bytes
    number: int
    refused: Counter[str]


@dataclass(frozen=True, kw_only=True)
class MixedFiles:
    """Batches in a folder; of the first shuffler also the reports that were read, and those that are too few for more.

    `known` reports were there more than once with the same bytes and count once. `refused` says how many reports or
    onions were refused, by reason. `copies` of batches were given more than once. Only `out` is for the next hop; what
    the first shuffler must keep is in `kept`.
    """

    out: Path
    kept: Path | None = None
    position: int
    batches: tuple[MixedBatch, ...]
    reports: int | None = None
    known: int = 0
    rest: int = 0
    copies: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "out": str(self.out),
            "kept": None if self.kept is None else str(self.kept),
            "position": self.position,
            "batches": [{"id": batch.batch_id.hex(), "messages": batch.number} for batch in self.batches],
            "reports": self.reports,
            "known": self.known,
            "rest": self.rest,
            "copies": self.copies,
            "refused": dict(self.refused),
        }

    def sentences(self, users: int) -> list[str]:
        """In words: what was made of what, and what is left."""
        batches, messages = counted(len(self.batches), "batch", things="batches"), self._messages()
        if self.reports is None:
            said = [f"Mixed {batches} again, with {messages}."]
        else:
            each = counted(users, "person", things="people")
            said = [f"Mixed {batches} of {each} each, with {messages}, from {counted(self.reports, 'report')}."]
        if self.rest:
            said.append(
                f"{counted(self.rest, 'report')} left for the next batch: run again with later reports and "
                f"--before {self.out}."
            )
        if self.known:
            said.append(f"{counted(self.known, 'report')} there before, with the same bytes: counted once.")
        if self.copies:
            said.append(f"{counted(self.copies, 'file')} of a batch that is there already: taken once.")
        said += [f"Refused, {reason}: {counted(number, 'time')}." for reason, number in sorted(self.refused.items())]
        said.append(f"For the next hop: {self.out}, and nothing else.")
        if self.kept is not None:
            said.append(
                f"{self.kept} stays with you. Never mix these reports again without --before {self.out}: nobody may be "
                "in two batches."
            )
        return said

    def _messages(self) -> str:
        return counted(sum(batch.number for batch in self.batches), "message")

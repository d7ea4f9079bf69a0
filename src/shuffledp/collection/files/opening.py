"""Opening many reports at once, as the first shuffler: the part that both engines share.

What a worker is given is small whatever the task's list of answers is: Spark keeps long closures in files, and a
private key must not be in one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.collection.envelope.keys import KeyPair
from shuffledp.collection.envelope.report import open_report
from shuffledp.collection.files.lots import lot_key, lot_of
from shuffledp.collection.reasons import Reason, Refused
from shuffledp.collection.task import Task


class OpenedBlock(NamedTuple):
    """What was inside the reports of a block that were taken, which rows those are, and why the others were refused."""

    rows: NDArray[np.int64]
    lots: bytes
    digests: bytes
    numbers: NDArray[np.int64]
    onions: list[bytes]
    refused: Counter[str]


@dataclass(frozen=True, kw_only=True)
class ReportLayer:
    """The layer around reports: what the first shuffler needs to open them and to check what it finds."""

    id: bytes
    most_messages: int
    padded: bool
    time_precision: int
    longest_report: int
    onion_bytes: int
    earliest: int
    latest: int
    private_bytes: bytes

    @classmethod
    def of(cls, task: Task, key: KeyPair, *, now: datetime | None = None) -> ReportLayer:
        """For the reports of a task, whose time is within the task's and at most one step ahead of now."""
        opens, closes = int(task.opens.timestamp()), int(task.closes.timestamp())
        return cls(
            id=task.id,
            most_messages=task.most_messages,
            padded=task.padded,
            time_precision=task.time_precision,
            longest_report=task.longest_report,
            onion_bytes=task.onion_length(0),
            earliest=opens - opens % task.time_precision,
            latest=min(closes - 1, int((now or datetime.now(UTC)).timestamp()) + task.time_precision),
            private_bytes=key.private_bytes,
        )

    def onion_length(self, _: int, /) -> int:
        """Bytes of an onion in a report."""
        return self.onion_bytes

    def open_block(self, sealed: Sequence[bytes | None]) -> OpenedBlock:
        """Opens reports; one by one they are taken, or refused for a reason."""
        key = KeyPair.from_private_bytes(self.private_bytes)
        for_lots, refused = lot_key(self.private_bytes, self.id), Counter[str]()
        rows, lots, digests, numbers, onions = [], [], [], [], []
        for row, report in enumerate(sealed):
            try:
                if report is None:
                    raise Refused(Reason.MALFORMED)
                opened = open_report(self, report, key)
                if not self.earliest <= opened.time <= self.latest:
                    raise Refused(Reason.WRONG_TIME)
            except Refused as refusal:
                refused[refusal.reason] += 1
                continue
            rows.append(row)
            lots.append(lot_of(opened.report_id, for_lots))
            digests.append(opened.digest)
            numbers.append(opened.number)
            onions.append(opened.onions)
        return OpenedBlock(
            rows=np.array(rows, dtype=np.int64),
            lots=b"".join(lots),
            digests=b"".join(digests),
            numbers=np.array(numbers, dtype=np.int64),
            onions=onions,
            refused=refused,
        )

    def __repr__(self) -> str:
        return f"<ReportLayer of task {self.id.hex()[:8]}>"

"""A batch on its way from one hop to the next: a head that says what it is, then the onions."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.collection.reasons import Reason, Refused

_MAGIC = b"shuffledp batch 1\n"
_SIZES = (32, 16, 1, 8)
HEAD_BYTES = len(_MAGIC) + sum(_SIZES)


@dataclass(frozen=True)
class BatchHead:
    """Of which task a batch is, its id, the position of the hop that is to open it, and how many onions follow."""

    task_id: bytes
    batch_id: bytes
    position: int
    number: int

    def to_bytes(self) -> bytes:
        """As it travels."""
        return _MAGIC + self.task_id + self.batch_id + bytes([self.position]) + self.number.to_bytes(8)

    @classmethod
    def from_bytes(cls, content: bytes) -> BatchHead:
        """The head that some bytes begin with."""
        if len(content) < HEAD_BYTES or not content.startswith(_MAGIC):
            raise Refused(Reason.MALFORMED, "this is no batch")
        parts, at = [], len(_MAGIC)
        for size in _SIZES:
            parts.append(content[at : at + size])
            at += size
        return cls(parts[0], parts[1], parts[2][0], int.from_bytes(parts[3]))

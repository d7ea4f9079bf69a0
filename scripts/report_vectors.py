"""The test vectors of reports and batches (docs/reference/wire-format.md); `write_vectors.py` writes them."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from scripts.text_vectors import number
from tests.collect.crypto.hpke_by_hand import sealed_by_hand

from shuffledp.collect.crypto.batch import BatchHead
from shuffledp.collect.crypto.keys import KeyPair, info
from shuffledp.collect.reasons import Reason
from shuffledp.collect.task import Task

LONG = 20
"""Padded reports with more messages have one vector per task, which keeps the vectors below 300 kB."""
TIME = 1_798_761_600
"""2027-01-01T00:00:00Z."""


def key(task: str, position: int) -> KeyPair:
    """Return the key pair of a server of a task."""
    return KeyPair.from_private_bytes(hashlib.sha256(f"test vector key {task} {position}".encode()).digest())


class Sealer:
    """Seals with ephemeral keys derived from a label, so that the vectors are reproducible."""

    def __init__(self, name: str, task: Task, label: str) -> None:
        self.name, self.task, self._label, self._number = name, task, label, 0
        self.keys = [key(name, at) for at in range(len(task.shufflers) + 1)]

    def seal(self, text: bytes, position: int, *, pair: KeyPair | None = None, task_id: bytes | None = None,
             place: int | None = None) -> bytes:  # fmt: skip
        """Seal to the server at a position; `pair`, `task_id` and `place` make a wrong ciphertext."""
        self._number += 1
        ephemeral = hashlib.sha256(f"{self.name} {self._label} {self._number}".encode()).digest()
        context = info(task_id or self.task.id, position if place is None else place)
        return sealed_by_hand(text, (pair or self.keys[position]).public_bytes, context, ephemeral=ephemeral)

    def onion(self, symbol: int) -> bytes:
        """Return a message in all its layers."""
        onion = symbol.to_bytes(self.task.symbol_bytes)
        for position in range(len(self.task.shufflers), 0, -1):
            onion = self.seal(onion, position)
        return onion

    def inside(self, symbols: Sequence[int], *, time: int = TIME, label: str = "report") -> bytes:
        """Return the plaintext of a report."""
        return self.report_id(label) + time.to_bytes(8) + b"".join(self.onion(symbol) for symbol in symbols)

    def padded(self, symbols: Sequence[int]) -> list[int]:
        """Pad messages to the length of a report of the task, with the padding messages in between."""
        missing = self.task.most_messages - len(symbols) if self.task.padded else 0
        mixed = enumerate([*symbols, *[self.task.nothing] * missing])
        return [symbol for _, symbol in sorted(mixed, key=lambda one: hashlib.sha256(f"{one[0]}".encode()).digest())]

    def report_id(self, label: str) -> bytes:
        """Return 16 bytes derived from the label."""
        return hashlib.sha256(f"{self.name} {label} id".encode()).digest()[:16]


def reports_vectors(tasks: dict[str, Task]) -> Iterator[dict[str, Any]]:
    """Yield sealed reports with their plaintext; one for each task with long reports, else two."""
    for name, task in tasks.items():
        sealer = Sealer(name, task, "valid")
        long = task.padded and task.most_messages > LONG
        for messages in [[1, 0, 1, task.alphabet - 1], *([] if long else [[0]])]:
            symbols = sealer.padded(messages)
            inside = sealer.inside(symbols)
            yield {
                "task": name,
                "report_id": inside[:16].hex(),
                "time": TIME,
                "messages": [number(symbol) for symbol in symbols],
                "inside": inside.hex(),
                "digest": hashlib.sha256(inside).hexdigest()[:32],
                "sealed": sealer.seal(inside, 0).hex(),
            }


def corrupted_reports(tasks: dict[str, Task]) -> Iterator[dict[str, Any]]:
    """Yield reports that the first shuffler refuses, with the reason."""
    name = "hist-unbiased"  # padded, two shufflers, short reports
    task, other = tasks[name], tasks["hist"]
    sealer = Sealer(name, task, "corrupted")
    inside = sealer.inside(sealer.padded([1, 2]))
    good = sealer.seal(inside, 0)
    head, onion = inside[:24], inside[24 : 24 + task.onion_length(0)]
    most, symbol = task.most_messages, b"\1"
    wrong, bad, long = Reason.CANNOT_BE_OPENED, Reason.MALFORMED, Reason.TOO_LARGE
    flips = {"the-sealing-key": 0, "the-top-bit-of-the-sealing-key": 31, "the-text": 40, "the-tag": len(good) - 1}
    cases: dict[str, tuple[bytes, Reason]] = {
        "sealed-for-another-task": (sealer.seal(inside, 0, task_id=other.id), wrong),
        "sealed-for-the-place-of-the-second-shuffler": (sealer.seal(inside, 0, place=1), wrong),
        "sealed-to-the-second-shuffler": (sealer.seal(inside, 1, place=0), wrong),
        "sealed-to-the-analyzer": (sealer.seal(inside, 2, place=0), wrong),
        "sealed-to-a-key-of-nobody": (sealer.seal(inside, 0, pair=key("nobody", 0)), wrong),
        "not-sealed-at-all": (inside, wrong),
        "empty": (b"", wrong),
        "only-a-sealing-key": (good[:32], wrong),
        "truncated-by-one-byte": (good[:-1], wrong),
        "prolonged-by-one-byte": (good + b"\0", long),
        "a-sealing-key-of-zeros": (bytes(32) + good[32:], wrong),
        "longer-than-any-report": (good + bytes(task.longest_report), long),
        "one-message-too-many": (sealer.seal(head + onion * (most + 1), 0), Reason.TOO_MANY_MESSAGES),
        "one-message-too-few": (sealer.seal(inside[: -len(onion)], 0), bad),
        "only-the-messages-that-count": (sealer.seal(sealer.inside([1, 2]), 0), bad),
        "one-message": (sealer.seal(head + onion, 0), bad),
        "nothing-inside": (sealer.seal(b"", 0), bad),
        "half-a-head": (sealer.seal(head[:16], 0), bad),
        "no-messages": (sealer.seal(head, 0), bad),
        "half-an-onion-at-the-end": (sealer.seal(inside[:-1], 0), bad),
        "onions-that-are-one-byte-longer": (sealer.seal(inside + b"\0", 0), long),
        "onions-of-a-task-with-one-shuffler": (sealer.seal(head + sealer.seal(symbol, 2) * most, 0), bad),
        "a-time-between-two-steps": (sealer.seal(sealer.inside(sealer.padded([1]), time=TIME + 1), 0), bad),
    } | {
        f"flipped-in-{where}": (good[:at] + bytes([good[at] ^ 0x80]) + good[at + 1 :], wrong)
        for where, at in flips.items()
    }
    for case, (sealed, reason) in cases.items():
        yield {"name": case, "task": name, "sealed": sealed.hex(), "reason": reason.value}
    yield from _corrupted_unpadded(Sealer("dummy-poisson", tasks["dummy-poisson"], "corrupted"))


def _corrupted_unpadded(sealer: Sealer) -> Iterator[dict[str, Any]]:
    """Yield the cases that depend on the length of a report, for a task without padding."""
    inside = sealer.inside([1, 2])
    good, onion = sealer.seal(inside, 0), inside[24 : 24 + sealer.task.onion_length(0)]
    many = inside[:24] + onion * (sealer.task.most_messages + 1)
    cases = {
        "prolonged-by-one-byte": (good + b"\0", Reason.CANNOT_BE_OPENED),
        "one-message-too-many": (sealer.seal(many, 0), Reason.TOO_MANY_MESSAGES),
        "one-message-and-one-byte-too-many": (sealer.seal(many + b"\0", 0), Reason.TOO_LARGE),
        "no-messages": (sealer.seal(inside[:24], 0), Reason.MALFORMED),
        "half-an-onion-at-the-end": (sealer.seal(inside[:-1], 0), Reason.MALFORMED),
        "onions-that-are-one-byte-longer": (sealer.seal(inside + b"\0", 0), Reason.MALFORMED),
    }
    for case, (sealed, reason) in cases.items():
        name = f"not-padded-{case}"
        yield {"name": name, "task": sealer.name, "sealed": sealed.hex(), "reason": reason.value}


def batches_vectors(tasks: dict[str, Task]) -> Iterator[dict[str, Any]]:
    """Yield batches as servers receive them, with the messages and the refused ciphertexts."""
    for name in ("sparse-one-shuffler", "sparse-three-shufflers", "dummy-poisson"):
        task = tasks[name]
        sealer = Sealer(name, task, "batch")
        last, nothing = len(task.shufflers), [task.nothing] * 2 if task.padded else []
        for position in range(1, last + 1):
            onions = [_from(sealer, symbol, position) for symbol in (1, 4, 0, 4, *nothing)]
            flipped = onions[1][:-1] + bytes([onions[1][-1] ^ 1])
            strange = [_from(sealer, task.symbols, position)] if position == last else []
            sent = [
                *onions,
                flipped,
                onions[2],
                sealer.seal(bytes(len(onions[0]) - 48), position, place=position + 1),
                *strange,
            ]
            head = BatchHead(task.id, sealer.report_id("batch")[:16], position, len(sent))
            refused = {Reason.REPEATED: 1, Reason.CANNOT_BE_OPENED: 2} | ({Reason.NOT_A_MESSAGE: 1} if strange else {})
            yield {
                "task": name,
                "position": position,
                "batch_id": head.batch_id.hex(),
                "number": head.number,
                "batch": (head.to_bytes() + b"".join(sent)).hex(),
                "messages_at_the_end": [0, 1, 4, 4],
                "nothing_at_the_end": len(nothing),
                "refused": {reason.value: number for reason, number in refused.items()},
            }


def _from(sealer: Sealer, symbol: int, position: int) -> bytes:
    """Return an onion as the server at a position receives it."""
    onion = symbol.to_bytes(sealer.task.symbol_bytes)
    for at in range(len(sealer.task.shufflers), position - 1, -1):
        onion = sealer.seal(onion, at)
    return onion

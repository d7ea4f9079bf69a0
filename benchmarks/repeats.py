"""Time, memory and disk to compare the messages of batches in files with all accepted ones, in one process.

The environment variable SEEN sets the number of accepted messages (SEEN=10000000). The ciphertexts are random bytes:
nothing is opened.
"""

import os
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.collected_files import measured, one_batch_task
from benchmarks.timing import table
from shuffledp.collect.batch_files.batches import remembered_as
from shuffledp.collect.batch_files.engine import InProcess
from shuffledp.collect.batch_files.formats import PartHead, find_batches, write_part
from shuffledp.collect.batch_files.seen import opened_seen
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.task import task_of
from shuffledp.progress import quiet

SEEN = int(os.environ.get("SEEN", "1000000"))
_BATCH = 100_000


def write_batches(folder, task, messages):
    """Write batches of random ciphertexts."""
    folder.mkdir()
    width = task.onion_length(1)
    for start in range(0, messages, _BATCH):
        name, number = os.urandom(16).hex(), min(_BATCH, messages - start)
        head = PartHead(task=task.name, batch=name, position=1, mixing="0" * 32)
        write_part(folder / f"{name}.parquet", head, [os.urandom(width * number)], width=width)


def comparing(folder, seen, content, private, remember):
    """Compare all batches of a folder with the memory, and add them to it; return the dropped and new messages."""
    task, key = task_of(content), KeyPair.from_private_bytes(private)
    engine = InProcess(processes=1, progress=quiet)
    with opened_seen(seen, task, key) as memory:
        batches = find_batches([folder], task, position=1).batches
        compared = engine.compare(batches, memory, task.onion_length(1))
        if remember:
            new = remembered_as(compared, {one.batch.batch_id for one in compared}, memory)
            memory.remember(os.urandom(16).hex(), new, partial(engine.write_fingerprints, new))
    engine.close()
    return sum(sum(one.refused.values()) for one in compared), sum(one.number for one in compared)


def rows():
    with tempfile.TemporaryDirectory() as name:
        folder, keys = Path(name), [KeyPair.generate(), KeyPair.generate()]
        task = one_batch_task(10_000, keys)
        seen = folder / "key.seen"
        more = (task.canonical, keys[1].private_bytes)
        write_batches(folder / "many", task, SEEN)
        write_batches(folder / "one", task, _BATCH)
        for what, given, remember in (
            ("accept all, memory empty", "many", True),
            ("compare one batch", "one", False),
            ("compare all again", "many", False),
        ):
            before = _bytes(seen)
            seconds, peak, (dropped, number) = measured(comparing, folder / given, seen, *more, remember)
            assert (dropped, number) == (0, _BATCH if given == "one" else SEEN)
            size = (_bytes(seen) - before) / SEEN
            yield what, f"{number:,}", f"{seconds:.1f}", f"{seconds / number * 1e6:.1f}", f"{peak:.0f}", f"{size:.1f}"


def _bytes(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main():
    table(
        f"Repeats in files: batches of {_BATCH:,} messages, {SEEN:,} accepted, in one process",
        ["step", "messages", "s", "us/message", "peak MB", "disk bytes/accepted"],
        rows(),
    )

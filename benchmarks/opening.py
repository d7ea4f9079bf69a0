"""Messages that the analyzer opens per second, against bare HPKE opens on the same cores; and its memory."""

import os
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing import forkserver, get_context
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from benchmarks.timing import table
from shuffledp.collect.analyzer.worker import BatchCounter
from shuffledp.collect.crypto.batch import first_copies, spooled
from shuffledp.collect.crypto.keys import KeyPair, info, public_key, seal
from shuffledp.collect.task import AnswerRange, Place
from shuffledp.collect.task.new_task import new_task

MESSAGES = 60_000
ROUNDS = 5
FEW, PAIRS = 4_000, 40
CORES = os.cpu_count() or 1
_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)


def task_and_key():
    shuffler, analyzer = KeyPair.generate(), KeyPair.generate()
    opens = datetime.now(UTC)
    task = new_task(
        question="Which of a hundred?",
        answers=AnswerRange(0, 98),
        users=10_000,
        epsilon=1.0,
        delta=1e-6,
        shufflers=[Place("http://127.0.0.1:9", shuffler.public)],
        analyzer=Place("http://127.0.0.1:10", analyzer.public),
        opens=opens,
        closes=opens + timedelta(days=1),
        protocol="hist",
    )
    return task, analyzer


def sealed(task_id, public, symbols):
    """Return the concatenated onions of these messages."""
    key, context = public_key(public), info(task_id, 1)
    return b"".join(seal(bytes([symbol]), key, context) for symbol in symbols)


def bare(private, context, length, content):
    """Open messages with bare HPKE; return elapsed and processor seconds."""
    key = X25519PrivateKey.from_private_bytes(private)
    onions = [content[at : at + length] for at in range(0, len(content), length)]
    decrypt = _SUITE.decrypt
    start, used = time.perf_counter(), time.process_time()
    for onion in onions:
        decrypt(onion, key, context)
    return time.perf_counter() - start, time.process_time() - used


def used_by_all():
    """Return the processor seconds of this process and of its worker processes that have ended.

    The fork server is the parent of the workers and must reap them first.
    """
    time.sleep(0.3)
    own, parent = os.times(), forkserver._forkserver._forkserver_pid
    ended = 0.0
    if parent is not None:
        fields = Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()
        ended = sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")
    return own.user + own.system + ended


def rows():
    task, key = task_and_key()
    with ProcessPoolExecutor(CORES, mp_context=get_context("forkserver")) as pool:
        symbols = np.random.default_rng(0).integers(0, 100, MESSAGES).tolist()
        parts = [symbols[at : at + 2000] for at in range(0, MESSAGES, 2000)]
        content = b"".join(pool.map(partial(sealed, task.id, key.public_bytes), parts))
    length = task.onion_length(1)
    for processes in sorted({1, CORES}):
        cut = len(content) // length // processes * length
        pieces = [content[at : at + cut] for at in range(0, cut * processes, cut)]
        opening = partial(bare, key.private_bytes, info(task.id, 1), length)
        counting = BatchCounter(task, key, processes=processes)
        ours, theirs = [], []
        with ProcessPoolExecutor(processes, mp_context=get_context("forkserver")) as pool:
            for _ in range(ROUNDS):  # in turn, so that other load slows both equally
                each = list(pool.map(opening, pieces))
                theirs.append((max(seconds for seconds, _ in each), sum(used for _, used in each)))
                used, start = used_by_all(), time.perf_counter()
                counted = counting.count([content])
                seconds = time.perf_counter() - start
                ours.append((seconds, used_by_all() - used))
                assert counted.tally.messages == MESSAGES
                assert not counted.refused
        (wall, used), (bare_wall, bare_used) = (np.min(times, axis=0) for times in (ours, theirs))
        yield (
            processes,
            f"{MESSAGES:,}",
            f"{MESSAGES / bare_wall:,.0f}",
            f"{MESSAGES / wall:,.0f}",
            f"{bare_wall / wall:.2f}",
            f"{bare_used / used:.2f}",
        )


def pair_rows():
    """Compare many short alternating runs in this process, so that other load slows both equally."""
    task, key = task_and_key()
    content = sealed(task.id, key.public_bytes, np.random.default_rng(0).integers(0, 100, FEW).tolist())
    counting, ours, theirs = BatchCounter(task, key, processes=1), [], []
    for _ in range(PAIRS):
        theirs.append(bare(key.private_bytes, info(task.id, 1), task.onion_length(1), content)[1])
        start = time.process_time()
        counting.count([content])
        ours.append(time.process_time() - start)
    for name, of in (("least", np.min), ("median", np.median)):
        bare_used, used = of(theirs) / FEW * 1e6, of(ours) / FEW * 1e6
        yield name, f"{PAIRS} runs of {FEW:,}", f"{bare_used:.1f}", f"{used:.1f}", f"{bare_used / used:.2f}"


class Peak:
    """The peak anonymous memory of this process; `grown` is its growth in MB."""

    def __enter__(self):
        self._start = self.largest = self._now()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    @property
    def grown(self):
        return (self.largest - self._start) / 1024

    def _watch(self):
        while not self._over.wait(0.005):
            self.largest = max(self.largest, self._now())

    @staticmethod
    def _now():
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def memory_rows():
    """Measure with random bytes, which take the memory of real onions and no time to seal."""
    length = task_and_key()[0].onion_length(1)
    for number in (10**5, 10**6, 10**7):
        blocks = (os.urandom(length * 10_000) for _ in range(number // 10_000))
        with tempfile.TemporaryFile() as file, Peak() as peak:
            kept = first_copies(spooled(file, blocks, length))
            assert kept.size == number
        yield (
            f"{number:,}",
            f"{number * length / 2**20:,.0f}",
            f"{peak.grown:,.0f}",
            f"{peak.grown * 2**20 / number:.0f}",
        )


def main():
    table(
        "The analyzer: messages opened per second, from the bytes of a batch to its tally",
        ["processes", "messages", "bare HPKE opens / s", "analyzer / s", "ratio", "ratio by processor time"],
        rows(),
    )
    table(
        "The analyzer in one process: processor microseconds per message, alternating with bare HPKE opens",
        ["", "messages", "bare HPKE open", "analyzer", "ratio"],
        pair_rows(),
    )
    table(
        "The analyzer: memory before messages are opened, and the size of the spooled batch",
        ["messages", "file, MB", "memory, MB", "bytes per message"],
        memory_rows(),
    )

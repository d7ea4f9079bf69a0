"""Time and memory of a collection over files on one machine, from sealed reports to a release.

The environment variable SIZES sets the numbers of reports (SIZES=10000,100000). Sealing 10^6 reports takes minutes.
"""

import multiprocessing
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet

from benchmarks.timing import table
from shuffledp.collect.batch_files import count_files, mix_files, write_reports
from shuffledp.collect.client.making import messages_of
from shuffledp.collect.crypto.keys import KeyPair, info, unseal
from shuffledp.collect.task import AnswerList, Place, task_of
from shuffledp.collect.task.new_task import new_task
from shuffledp.collect.task.report import seal_report

SIZES = [int(size) for size in os.environ.get("SIZES", "10000,100000").split(",")]
PROCESSES = os.cpu_count() or 1
_AT_ONCE = 2_000


def sealed(content, people):
    """Return sealed reports of `people` people with the current time."""
    task, now = task_of(content), int(time.time())
    return [
        seal_report(
            task,
            messages_of(task, f"answer {person % 100}"),
            report_id=os.urandom(16),
            time=now - now % task.time_precision,
        )
        for person in range(people)
    ]


def sealed_in_parallel(task, people):
    """Yield all reports while a process pool seals them."""
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("forkserver")) as pool:
        sizes = [min(_AT_ONCE, people - start) for start in range(0, people, _AT_ONCE)]
        for reports in pool.map(sealed, [task.canonical] * len(sizes), sizes):
            yield from reports


def one_batch_task(people, keys):
    """Return a task with one batch of all people and a hundred answers."""
    places = [Place(f"https://{at}.example.org", key.public) for at, key in enumerate(keys)]
    return new_task(
        question="Which one?",
        answers=AnswerList([f"answer {number}" for number in range(100)]),
        users=people,
        epsilon=1.0,
        delta=1e-6,
        shufflers=places[:-1],
        analyzer=places[-1],
        opens=datetime.now(UTC) - timedelta(hours=2),
        closes=datetime.now(UTC) + timedelta(days=7),
    )


def measured(step, *arguments):
    """Run a step in a new process; return its seconds, the peak MB of its process tree, and its result."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=_measure, args=(answer, step, arguments))
    process.start()
    peak = 0.0
    while answer.empty() and process.is_alive():
        peak = max(peak, _megabytes(process.pid))
        time.sleep(0.1)
    seconds, result = answer.get(timeout=10)
    process.join()
    return seconds, peak, result


def _measure(answer, step, arguments):
    start = time.perf_counter()
    result = step(*arguments)
    answer.put((time.perf_counter() - start, result))


def _megabytes(process):
    """Return the anonymous memory of a process and its descendants; the system can reclaim file pages."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
        below = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:  # the process has ended
        return 0.0
    held = [int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon")]
    return sum(held) / 1024 + sum(map(_megabytes, below))


def mixing(folder, content, private):
    key = KeyPair.from_private_bytes(private)
    done = mix_files(
        [folder / "r.parquet"], task=task_of(content), key=key, seen=folder / "shuffler.seen", out=folder / "b"
    )
    return sum(batch.number for batch in done.batches)


def counting(folder, content, private):
    key = KeyPair.from_private_bytes(private)
    found = count_files([folder / "b"], task=task_of(content), key=key, seen=folder / "analyzer.seen")
    return found.release.messages


def bare(texts, key, context):
    """Return the ciphertexts that HPKE alone opens per second on all cores; each process opens all of them."""
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("forkserver")) as pool:
        work = [[texts, key.private_bytes, context]] * PROCESSES
        list(pool.map(_open_all, work))  # warm-up: starts the processes
        start = time.perf_counter()
        list(pool.map(_open_all, work))
        return PROCESSES * len(texts) / (time.perf_counter() - start)


def _open_all(work):
    texts, private, context = work
    key = KeyPair.from_private_bytes(private).private
    assert all(unseal(text, key, context) is not None for text in texts)


def first(path, column):
    """Return the first values of a column."""
    return pyarrow.parquet.ParquetFile(path).read_row_group(0).column(column).to_pylist()[:_AT_ONCE]


def rows():
    for people in SIZES:
        with tempfile.TemporaryDirectory() as name:
            folder, keys = Path(name), [KeyPair.generate(), KeyPair.generate()]
            task = one_batch_task(people, keys)
            start = time.perf_counter()
            write_reports(folder / "r.parquet", sealed_in_parallel(task, people))
            sealing = time.perf_counter() - start
            size = (folder / "r.parquet").stat().st_size / 2**20
            reports_bare = bare(first(folder / "r.parquet", "report"), keys[0], info(task.id, 0))
            mix_seconds, mix_peak, messages = measured(mixing, folder, task.canonical, keys[0].private_bytes)
            (batch,) = (folder / "b").glob("?" * 32 + ".parquet")
            messages_bare = bare(first(batch, "onion"), keys[1], info(task.id, 1))
            count_seconds, count_peak, opened = measured(counting, folder, task.canonical, keys[1].private_bytes)
            assert messages == opened
            yield (
                f"{people:,}",
                f"{messages:,}",
                f"{size:.0f}",
                f"{sealing:.0f}",
                f"{mix_seconds:.1f}",
                f"{people / mix_seconds:,.0f}",
                f"{people / mix_seconds / reports_bare:.2f}",
                f"{mix_peak:.0f}",
                f"{count_seconds:.1f}",
                f"{messages / count_seconds:,.0f}",
                f"{messages / count_seconds / messages_bare:.2f}",
                f"{count_peak:.0f}",
            )


def main():
    table(
        f"Collections over files: one batch from sealed reports to a release, in {PROCESSES} processes",
        ["reports", "messages", "file, MB", "sealing, s", "mix, s", "reports/s", "of bare HPKE", "peak MB",
         "count, s", "messages/s", "of bare HPKE", "peak MB"],
        rows(),
    )  # fmt: skip

"""Client cost of a collection: one report for n = 10^6, against bare HPKE seals of the same messages."""

import secrets
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from benchmarks.timing import best_of, table
from shuffledp.collect import AnswerRange, Client, KeyPair, Place, new_task
from shuffledp.collect.client.making import new_report

USERS = 10**6
ANSWERS = {"100": 100, "10^4": 10**4, "10^6": 10**6}
ROUNDS = 8
_SECONDS = 0.4
"""Approximate processor time of a round."""


def task(answers, *, shufflers=1, delta=1e-6, users=USERS, protocol=None):
    """Return a task with a number of listed answers, or with answers of another kind."""
    places = [Place(f"http://127.0.0.1:{9 + at}", KeyPair.generate().public) for at in range(shufflers + 1)]
    return new_task(
        question="Which?",
        answers=AnswerRange(0, answers) if isinstance(answers, int) else answers,
        users=users,
        epsilon=1,
        delta=delta,
        protocol=protocol,
        shufflers=places[:-1],
        analyzer=places[-1],
        opens=datetime(2020, 1, 1, tzinfo=UTC),
        closes=datetime(2100, 1, 1, tzinfo=UTC),
    )


def bare(number, reports, width, layers, length):
    """Seal `number` messages in `layers` layers each, and `reports` reports of `length` bytes."""
    suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
    key, info = X25519PrivateKey.generate().public_key(), secrets.token_bytes(55)
    for _ in range(number):
        onion = bytes(width)
        for _ in range(layers):
            onion = suite.encrypt(onion, key, info)
    for _ in range(reports):
        suite.encrypt(bytes(length), key, info)


def seconds(work):
    """Return the processor time of `work`, which other load on the machine hardly affects, and its result."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def costs(asked):
    """Alternate reports and bare seals, so that other load slows both equally."""
    once, _ = seconds(lambda: [new_report(asked, 7) for _ in range(5)])
    reports = max(5, int(_SECONDS * 5 / once))
    ours, theirs, messages, size = [], [], 0, 0
    for _ in range(ROUNDS):
        spent, made = seconds(lambda: [new_report(asked, 7) for _ in range(reports)])
        number = sum((len(report) - 72) // asked.onion_length(0) for report in made)
        length = sum(map(len, made)) // reports
        bare_spent, _ = seconds(
            lambda n=number, k=length: bare(n, reports, asked.symbol_bytes, len(asked.shufflers), k - 48)
        )
        ours.append(spent / reports)
        theirs.append(bare_spent / reports)
        messages, size = messages + number, size + length
    return messages / reports / ROUNDS, size / ROUNDS, min(ours), min(theirs)


def report_rows():
    for name, answers in ANSWERS.items():
        for shufflers in (1, 2):
            asked = task(answers, shufflers=shufflers)
            messages, size, ours, theirs = costs(asked)
            yield (
                name,
                shufflers,
                asked.protocol_used.name,
                f"{messages:.1f}",
                f"{size:,.0f}",
                f"{asked.longest_report:,}",
                f"{1e3 * ours:.2f}",
                f"{1e3 * theirs:.2f}",
                f"{ours / theirs:.2f}",
            )


_DELTAS = (1e-6 * (1 - k / 10_000) for k in count(1))
"""A new delta for each task, so that no cached result is used."""

_CHECK = """
import sys, time
from shuffledp.collect.client.client import checked
from shuffledp.collect.task import read_task
times = []
for path in sys.argv[1:]:
    started = time.process_time()
    checked(read_task(path))
    times.append(time.process_time() - started)
print(min(times[1:]))
"""
"""Runs in a new process, without cached results; the first task also loads the libraries and is not timed."""


def first_check(answers, **how):
    """Return the seconds to read a task and verify its guarantee for the first time."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{at}.json") for at in range(5)]
        for path in paths:
            path.write_text(task(answers, delta=next(_DELTAS), **how).to_json())
        found = subprocess.run([sys.executable, "-c", _CHECK, *paths], capture_output=True, text=True, check=True)
    return float(found.stdout)


def task_rows():
    for name, answers in ANSWERS.items():
        asked, number = task(answers), count()
        with tempfile.TemporaryDirectory() as folder:

            def journaled(asked=asked, folder=folder, number=number):
                Client(asked, journal=f"{folder}/{next(number)}").report(7)

            times = [
                min(seconds(lambda a=answers: task(a, delta=next(_DELTAS)))[0] for _ in range(3)),
                first_check(answers),
                best_of(lambda a=asked: Client(a), rounds=20),
                best_of(journaled, rounds=20),
            ]
        yield name, f"{len(asked.canonical):,}", *(f"{1e3 * spent:.2f}" for spent in times)


def main():
    table(
        f"A person's report, n = {USERS:,}, epsilon 1, delta 1e-6: milliseconds of one core",
        ["d", "shufflers", "protocol", "messages", "bytes", "most bytes", "ms", "bare HPKE, ms", "ratio"],
        report_rows(),
    )
    table(
        "Tasks and journals: milliseconds",
        ["d", "bytes of the task", "new task", "Client: read the task and verify its guarantee",
         "Client, guarantee cached", "the same plus a report in a new journal (waits for the disk)"],
        task_rows(),
    )  # fmt: skip

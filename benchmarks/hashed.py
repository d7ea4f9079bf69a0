"""Protocols for many possible answers: length of a report, error, and time and memory of clients and of the analyzer.

All figures of a table come from one run. Reports are sealed for one shuffler, with padding where a task needs it.
"""

import math
import secrets
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import msgspec
import numpy as np
from scipy.stats import norm

from benchmarks.client import seconds, task
from benchmarks.javascript import in_node
from benchmarks.opening import Peak
from benchmarks.timing import table
from shuffledp.collect.client.making import new_report
from shuffledp.collect.crypto.keys import KeyPair, info, public_key, seal, unseal
from shuffledp.collect.task.guarantee import Named, is_padded, write_parameters
from shuffledp.collect.task.task import REPORT_HEAD_BYTES, SEALING_BYTES
from shuffledp.errors import ParameterError
from shuffledp.protocols.catalogue import named
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.protocols.shuffled_histogram import most_messages
from shuffledp.protocols.target import Target

USERS = ANSWERS = 10**6
GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}
DUMMIES = (1, 2, 4, 9)
USUAL = "hashed, c = 4"
OTHERS = ("dummy-poisson", "private-coin", "sparse")
BETA = 0.05
SIZES = ((10**5, 10**6), (10**6, 10**4), (10**6, 10**5), (10**6, 10**6), (10**6, 10**8), (10**7, 10**6))
"""Numbers of people and of possible answers."""

DECODED = ((10**5, 10**6), (10**6, 10**5), (10**6, 10**6), (10**6, 10**7), (10**7, 10**6))

_AT_ONCE = 2 * 10**7
"""Messages that are made and counted together."""

_SECONDS = 1.5
"""Approximate processor time of measuring a client."""


class Size(NamedTuple):
    """A protocol, and the messages and bytes of a sealed report."""

    name: str
    protocol: HistogramProtocol
    messages: float
    bytes: float


def sizes(users, answers, *, dummies=DUMMIES):
    """Yield the protocols that are possible for these numbers."""
    target = Target(users=users, bins=answers, **GUARANTEE, padding_bins=0)
    for number in dummies:
        yield sized(f"hashed, c = {number:g}", HashedHistogram.for_target(target, dummies=number), padded=False)
    for name in OTHERS:
        try:
            protocol = named(name).make(target)
        except ParameterError:
            continue
        yield sized(name, protocol, padded=protocol.numbered_messages and is_padded(name))


def sized(name, protocol, *, padded):
    """Return the size of a report, as `Task.report_length` computes it for the protocols of a task."""
    messages = protocol.messages_per_user.expected
    if padded:
        messages = most_messages(protocol, delta=GUARANTEE["delta"])
    return Size(name, protocol, messages, report_length(messages, width(protocol, padded=padded)))


def width(protocol, *, padded):
    """Return the bytes of a message."""
    if protocol.numbered_messages:
        return max(1, ((protocol.alphabet + padded - 1).bit_length() + 7) // 8)
    return math.ceil(protocol.bits_per_message / 8)


def report_length(messages, each):
    """Return the bytes of a report for one shuffler."""
    return SEALING_BYTES + REPORT_HEAD_BYTES + messages * (each + SEALING_BYTES)


def task_of(size, users, answers):
    """Return a task with this protocol; None if a task cannot have it."""
    name = size.name.partition(",")[0]
    if not size.protocol.numbered_messages:
        return None
    asked = task(answers - 2, users=users, protocol=name)  # beside (other) and (none)
    return msgspec.structs.replace(
        asked,
        protocol_used=Named(name, write_parameters(name, size.protocol)),
        most_messages=most_messages(size.protocol, delta=GUARANTEE["delta"]),
    )


def client_milliseconds(size, asked):
    """Return the processor time of one report: sampling the messages and sealing them."""
    make = (lambda: new_report(asked, 7)) if asked is not None else unnamed_report(size.protocol)
    once, _ = seconds(lambda: [make() for _ in range(3)])
    reports = max(3, int(_SECONDS * 3 / once))
    return 1e3 * seconds(lambda: [make() for _ in range(reports)])[0] / reports


def unnamed_report(protocol):
    """Return a function that makes a report of a protocol that a task cannot name."""
    key, context, each = public_key(KeyPair.generate().public_bytes), info(bytes(32), 1), width(protocol, padded=False)

    def make():
        onions = (seal(bytes(message.tobytes()[:each]), key, context) for message in protocol.randomize(7))
        return seal(secrets.token_bytes(REPORT_HEAD_BYTES) + b"".join(onions), key, context)

    return make


def node_milliseconds(tasks):
    """Return the times of the JavaScript client for the tasks that exist."""
    known = [asked for asked in tasks if asked is not None]
    found = iter(in_node(known))
    return [next(found)["report"] if asked is not None else None for asked in tasks]


class Decoding(NamedTuple):
    """Processor time and memory of an estimate from messages that are open."""

    seconds: float
    megabytes: float
    messages: int


def decode(protocol, users):
    """Make the messages of all people in parts, count them and estimate; only counting and estimating are measured."""
    rng = np.random.default_rng(0)
    parts = max(1, round(protocol.messages_per_user.expected * users / _AT_ONCE))
    tally, spent, grown, number = None, 0.0, 0.0, 0
    for _ in range(parts):
        messages = protocol.randomize(rng.integers(0, protocol.bins, users // parts), rng=rng)
        number += len(messages)
        with Peak() as peak:
            started = time.process_time()
            counted = protocol.tally(messages)
            tally = counted if tally is None else tally + counted
            spent += time.process_time() - started
        grown = max(grown, peak.grown)
    with Peak() as peak:
        started = time.process_time()
        protocol.estimate(tally, beta=BETA, reports=users // parts * parts)
        spent += time.process_time() - started
    held = (tally.symbols.nbytes + tally.counts.nbytes) / 2**20
    return Decoding(spent, max(grown, held + peak.grown), number)


def decoded(protocol, users):
    """Decode in a new process, so that memory of earlier work does not count."""
    with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool:
        return pool.submit(decode, protocol, users).result()


def opening_seconds(rounds=2000):
    """Return the processor time to open one message."""
    key, context = KeyPair.generate(), info(bytes(32), 1)
    onions = [seal(bytes(8), public_key(key.public_bytes), context) for _ in range(rounds)]
    return seconds(lambda: [unseal(onion, key.private, context) for onion in onions])[0] / rounds


def size_rows(users=USERS, answers=ANSWERS, *, dummies=DUMMIES):
    """Yield the figures that need no messages; ratios are to the usual number of dummies."""
    found = list(sizes(users, answers, dummies=dummies))
    usual = next(size for size in found if size.name == USUAL)
    for size in found:
        expected, error = size.protocol.messages_per_user.expected, size.protocol.error(BETA).simultaneous
        yield (
            size.name,
            f"{expected:.1f}",
            f"{size.messages:,.1f}" if size.messages != expected else "",
            f"{width(size.protocol, padded=size.messages != expected)}",
            f"{size.bytes:,.0f}",
            f"{size.bytes / usual.bytes:.2f}",
            f"{error:.1f}",
            f"{error / usual.protocol.error(BETA).simultaneous:.2f}",
        )


def cost_rows(users=USERS, answers=ANSWERS, *, dummies=DUMMIES):
    """Yield times and memory of the same protocols."""
    found, opening = list(sizes(users, answers, dummies=dummies)), opening_seconds()
    tasks = [task_of(size, users, answers) for size in found]
    for size, asked, node in zip(found, tasks, node_milliseconds(tasks), strict=True):
        cost = decoded(size.protocol, users)
        yield (
            size.name,
            f"{client_milliseconds(size, asked):.2f}",
            f"{node:.2f}" if node is not None else "",
            f"{size.messages * users * opening / 3600:.2f}",
            f"{cost.seconds:.2f}",
            f"{cost.megabytes:,.0f}",
            f"{cost.messages / cost.seconds / 1e6:.1f}",
        )


def decoding_rows(at=DECODED):
    """Yield the cost of decoding hashed messages for other numbers of people and answers."""
    for users, answers in at:
        (size,) = (size for size in sizes(users, answers, dummies=(4,)) if size.name == USUAL)
        cost = decoded(size.protocol, users)
        figures = (f"{users:,}", f"{answers:,}", f"{size.protocol.family.modulus:,}", f"{cost.messages:,}")
        yield *figures, f"{cost.seconds:.1f}", f"{cost.megabytes:,.0f}"


def growth_rows(at=SIZES):
    """Yield bytes and error of each protocol for other numbers of people and answers."""
    for users, answers in at:
        found = {size.name: size for size in sizes(users, answers, dummies=(4,))}
        cells = []
        for name in (USUAL, *OTHERS):
            size = found.get(name)
            error = None if size is None else size.protocol.error(BETA).simultaneous
            cells.append("-" if error is None else f"{size.bytes:,.0f}, {error:.0f}")
        yield f"{users:,}", f"{answers:,}", *cells


def dummies_rows(users=USERS, answers=ANSWERS):
    """Yield the standard deviation and the exact largest error, beside the normal approximation."""
    for size in sizes(users, answers):
        if isinstance(size.protocol, HashedHistogram):
            number = int(size.name.rpartition(" ")[2])
            error = size.protocol.error(BETA).simultaneous
            spread = math.sqrt(size.protocol.estimator.variance())
            normal = spread * float(norm.isf(BETA / (2 * answers)))
            figures = (f"{figure:.1f}" for figure in (error, normal))
            yield number, f"{size.messages:.2f}", f"{spread:.2f}", *figures, f"{error / normal - 1:+.0%}"


def main():
    title = f"n = {USERS:,}, epsilon 1, delta 1e-6"
    table(
        f"Reports of {title}, d = {ANSWERS:,}: sealed for one shuffler",
        ["protocol", "messages", "padded", "bytes of a message", "bytes of a report", "ratio", "largest error, 95%",
         "ratio"],
        size_rows(),
    )  # fmt: skip
    table(
        f"Costs of {title}, d = {ANSWERS:,}",
        ["protocol", "report in Python, ms", "in Node, ms", "opening, core hours", "decoding, core s", "memory, MB",
         "million messages/s"],
        cost_rows(),
    )  # fmt: skip
    table(
        f"Decoding of {USUAL}, epsilon 1, delta 1e-6",
        ["n", "d", "buckets", "messages", "core s", "memory, MB"],
        decoding_rows(),
    )
    table(
        "Bytes of a report, and largest error at 95%, epsilon 1, delta 1e-6",
        ["n", "d", USUAL, *OTHERS],
        growth_rows(),
    )
    table(
        f"Dummies of hashed, {title}, d = {ANSWERS:,}",
        ["c", "messages", "standard deviation", "largest error, 95%", "normal approximation", "difference"],
        dummies_rows(),
    )

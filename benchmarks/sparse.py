"""Client cost of SparseHistogram against the paper's Histogram."""

import math
from itertools import count

import numpy as np

from benchmarks.timing import best_of, table
from shuffledp import Histogram, SparseHistogram

USERS = 10**6


def client_rows():
    for bins in (10**3, 10**5, 10**6):
        sparse = SparseHistogram.calibrate(users=USERS, bins=bins, epsilon=1, delta=1e-6)
        people = 10**6 if bins < 10**6 else 10**5
        values = np.random.default_rng(0).integers(0, bins, people)
        messages = sparse.randomize(values)
        seconds = best_of(lambda p=sparse, v=values: p.randomize(v), rounds=3)
        tally_seconds = best_of(lambda p=sparse, m=messages: p.tally(m), rounds=3)
        paper = Histogram.calibrate(users=USERS, bins=bins, epsilon=1, delta=1e-6)
        few = values[: max(1, 2 * 10**7 // bins)]
        paper_seconds = best_of(lambda p=paper, v=few: p.randomize(v), rounds=3)
        rate, paper_rate = people / seconds, few.size / paper_seconds
        size = sparse.messages_per_user.expected * sparse.bits_per_message / 8
        paper_size = paper.messages_per_user.expected * paper.bits_per_message / 8
        speeds = (messages.size / seconds / 1e6, messages.size / tally_seconds / 1e6)
        yield (
            f"{bins:,}",
            f"{messages.size / people:.1f}",
            f"{size:.0f}",
            f"{rate:,.0f}",
            *(f"{speed:.0f}" for speed in speeds),
            f"{paper_size:,.0f}",
            f"{paper_rate:,.0f}",
            f"{rate / paper_rate:,.0f}",
        )


def calibration_rows():
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        times = []
        default = SparseHistogram.calibrate(users=USERS, bins=10**5, epsilon=epsilon, delta=1e-6)
        budget = 1.15 * default.messages_per_user.expected
        target = 1.02 * default.error(0.05).simultaneous
        for wish in ({}, {"messages": math.inf}, {"messages": budget}, {"error": target}):
            times.append(_milliseconds(epsilon, wish))
        cached = default.privacy
        cached.delta(epsilon)
        times.append(f"{1e3 * best_of(lambda c=cached, e=epsilon: c.delta(e)):.2f}")
        yield f"{epsilon:g}", *times


# a new delta for each calibration, so that no cached result is used
_DELTAS = (1e-6 * (1 - k / 10_000) for k in count(1))


def _milliseconds(epsilon, wish):
    def once():
        SparseHistogram.calibrate(users=USERS, bins=10**5, epsilon=epsilon, delta=next(_DELTAS), **wish)

    return f"{1e3 * best_of(once, rounds=3):.0f}"


def main():
    table(
        "SparseHistogram, client side: n = 10^6, epsilon 1, delta 1e-6, one core",
        ["d", "messages per person", "bytes", "people/s", "million messages/s", "tally, million/s",
         "Histogram: bytes", "Histogram: people/s", "times faster"],
        client_rows(),
    )  # fmt: skip
    table(
        "Calibration of SparseHistogram, milliseconds",
        ["epsilon", "default", "best error", "message budget", "error target", "curve again"],
        calibration_rows(),
    )

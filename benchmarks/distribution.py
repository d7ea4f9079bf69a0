"""Time to sample a tally from its exact distribution and estimate from it: n = 10^6, without messages."""

import math

import numpy as np

from benchmarks.timing import best_of, table
from shuffledp import Histogram, Tally

USERS = 10**6


def rows():
    rng = np.random.default_rng(0)
    sparse = Tally.of(rng.zipf(1.3, USERS) % 10**4)
    for name, bins in (("10^3", 10**3), ("10^6", 10**6), ("2^64", 2**64), ("2 * 1000!", 2 * math.factorial(1000))):
        protocol = Histogram.calibrate(users=USERS, bins=bins, epsilon=1, delta=1e-6)
        if bins <= 10**6:
            dense = np.bincount(rng.integers(0, bins, USERS), minlength=bins)
            yield name, "every bin sampled", f"{bins:,}", _milliseconds(protocol, dense)
        if bins > 10**4:
            yield name, "occupied bins sampled", f"{len(sparse):,}", _milliseconds(protocol, sparse)


def _milliseconds(protocol, counts):
    return f"{1e3 * best_of(lambda: protocol.estimate(protocol.sample_tally(counts))):.1f}"


def main():
    table("sample_tally + estimate, n = 10^6, milliseconds", ["d", "what", "bins sampled", "ms"], rows())

"""Protocols without false positives for epsilon 1, delta 1e-6, and one with them."""

from shuffledp import DummyHistogram, Histogram, SparseHistogram
from shuffledp.protocols.central import StabilityHistogram

BINS = 10**9

GUARANTEE = {"epsilon": 1, "delta": 1e-6}

FINDERS = {
    "paper": lambda users: Histogram.published(users=users, bins=BINS, epsilon=1, delta=1e-6),
    "exact": lambda users: Histogram.calibrate(users=users, bins=BINS, **GUARANTEE),
    "sparse": lambda users: SparseHistogram.calibrate(users=users, bins=BINS, **GUARANTEE),
    "central": lambda users: StabilityHistogram.calibrate(users=users, bins=BINS, **GUARANTEE),
}

WITH_FALSE_POSITIVES = DummyHistogram.calibrate(users=500, bins=12, **GUARANTEE)


def report_chance(protocol, count, *, at_least=0.0):
    """Return the probability that a bin of `count` people is reported with an estimate of `at_least`."""
    return protocol.estimator.report_chance(count, at_least=at_least)

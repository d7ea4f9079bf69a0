"""Releases that pages have been wrong about: few values and many, heavy tails, long labels, other scripts, noise."""

from dataclasses import replace

import numpy as np

from shuffledp import Domain, Edges, SparseHistogram, private_histogram

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}


def _huge():
    """Hundreds of millions of people, drawn from the law: nobody has to make that many rows."""
    protocol = SparseHistogram.calibrate(users=3 * 10**8, bins=2**64, **GUARANTEE)
    counts = {"one": 10**8, "two": 10**8, "three": 99_990_000, "four": 10_000}
    estimate = protocol.estimate(protocol.sample_tally(counts), domain=Domain.implicit(2**64))
    return replace(private_histogram(["a"] * 1000, **GUARANTEE), estimate=estimate, protocol=protocol)


def _heavy():
    counts = np.maximum(10**6 / np.arange(1, 1001) ** 1.3, 300).astype(np.int64)
    return private_histogram(np.repeat(np.arange(1000), counts), **GUARANTEE, protocol="hist")


def _pairs():
    """More columns than a telephone is wide, long names of rows, and pairs that are not shown."""
    domain = Domain.product([Domain.of(["a", "long " * 9, None]), Edges("0:100:10").domain])
    counts = np.outer([3000, 1000, 10], np.arange(12)).ravel()
    protocol = SparseHistogram.calibrate(users=int(counts.sum()), bins=domain.size, **GUARANTEE)
    estimate = protocol.estimate(protocol.sample_tally(counts), domain=domain)
    return replace(private_histogram(["a"] * 1000, **GUARANTEE), estimate=estimate, protocol=protocol)


CASES = {
    "one value": lambda: private_histogram(["a"] * 1000, **GUARANTEE),
    "two values": lambda: private_histogram(["a"] * 1000 + ["b"] * 300, **GUARANTEE, evaluate=True),
    "no value": lambda: private_histogram(["a"] * 30, **GUARANTEE),
    "heavy": _heavy,
    "long labels": lambda: private_histogram(
        ["Donaudampfschifffahrtsgesellschaft" * 5] * 900 + ["many words " * 20] * 800 + ["https://a.b/c?d" * 9] * 700,
        **GUARANTEE,
    ),
    "other scripts": lambda: private_histogram(
        ["שלום"] * 900
        + ["مرحبا"] * 800
        + ["👩‍👩‍👧‍👦"] * 700
        + ["日本語"] * 600
        + ["<b>\u202ex"] * 500
        + [""] * 400
        + [None] * 300,
        **GUARANTEE,
    ),
    "huge counts": _huge,
    "pairs": _pairs,
    "unbiased": lambda: private_histogram(
        ["a"] * 1000 + ["b"] * 3,
        **GUARANTEE,
        domain=[f"v{at}" for at in range(28)] + ["a", "b"],
        estimator="unbiased",
        drop_missing=True,
    ),
}
"""How to make each, by name."""

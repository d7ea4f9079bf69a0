"""Releases with which pages had faults: few and many values, heavy tails, long labels, other scripts, noise."""

from dataclasses import replace
from datetime import datetime
from functools import cache, partial

import numpy as np

from shuffledp import Domain, Edges, Ranges, SparseHistogram, private_histogram
from shuffledp.protocols.target import Target

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}


def _huge():
    """Hundreds of millions of people, sampled from the distribution without rows."""
    protocol = SparseHistogram.calibrate(users=3 * 10**8, bins=2**64, **GUARANTEE)
    counts = {"one": 10**8, "two": 10**8, "three": 99_990_000, "four": 10_000}
    estimate = protocol.estimate(protocol.sample_tally(counts), domain=Domain.implicit(2**64))
    return replace(private_histogram(["a"] * 1000, **GUARANTEE), estimate=estimate, protocol=protocol)


def _heavy():
    counts = np.maximum(10**6 / np.arange(1, 1001) ** 1.3, 300).astype(np.int64)
    return private_histogram(np.repeat([f"v{at}" for at in range(1000)], counts), **GUARANTEE, protocol="hist")


def _pairs():
    """More columns than fit a phone, long names of rows, and pairs that are not shown."""
    domain = Domain.product([Domain.of(["a", "long " * 9, None]), Edges("0:100:10").domain])
    counts = np.outer([3000, 1000, 10], np.arange(12)).ravel()
    protocol = SparseHistogram.calibrate(users=int(counts.sum()), bins=domain.size, **GUARANTEE)
    estimate = protocol.estimate(protocol.sample_tally(counts), domain=domain)
    return replace(private_histogram(["a"] * 1000, **GUARANTEE), estimate=estimate, protocol=protocol)


def _in_order(counts, *, edges=None, labels=None, asked=None, epsilon=1.0, dummies="binomial"):
    """Ordered values; everything else is from the release of another column."""
    target = Target(users=int(counts.sum()), bins=counts.size, epsilon=epsilon, delta=1e-6)
    protocol = Ranges.for_target(target, dummies=dummies)
    domain = None if labels is None else Domain.of(labels)
    tally = protocol.sample_tally(counts, rng=np.random.default_rng(0))
    estimate = protocol.estimate(tally, domain=domain, edges=edges)
    if asked:
        estimate = replace(estimate, shares=asked["quantiles"])
    estimate = replace(estimate, about=partial(estimate.about, drawn=True))
    release = private_histogram(["a"] * 1000, **GUARANTEE)
    return replace(
        release, estimate=estimate, protocol=protocol, title="Ranges (ours)", column="age", asked=asked or release.asked
    )


def _ages():
    places = np.clip(np.random.default_rng(1).normal(42, 20, 20_000), 0, 119).astype(np.int64)
    return _in_order(np.bincount(places + 1, minlength=121), edges=list(range(120)))


def _months():
    edges = [datetime(2026, month, 1) for month in range(1, 13)]
    return _in_order(np.array([100, *range(500, 1600, 100), 50]), edges=edges, asked={"quantiles": [0.5, 0.99]})


def _few():
    """Forty people of a collection, so few that the median may be anything."""
    counts = np.array([2, 8, 10, 9, 6, 5, 0])
    return _in_order(counts, edges=list(range(0, 12, 2)), epsilon=0.3, dummies="poisson")


CASES = {
    "one value": lambda: private_histogram(["a"] * 1000, **GUARANTEE),
    "two values": lambda: private_histogram(["a"] * 1000 + ["b"] * 300, **GUARANTEE, evaluate=True),
    "no value": lambda: private_histogram(map(str, range(3000)), **GUARANTEE),  # one person each: far too few
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
    "numbers": lambda: private_histogram(  # as text, like a column of a CSV file, with a gap
        np.repeat([str(at) for at in range(20, 95) if at != 60], 300), **GUARANTEE
    ),
    "few people": _few,
    "ages": _ages,
    "months": _months,
    "ordered labels": lambda: _in_order(
        np.array([400, 3000, 900, 100, 20]), labels=["never", "seldom", "sometimes, at least once", "often", "always"]
    ),
    "one ordered label": lambda: _in_order(np.array([4000]), labels=["always"]),
}
CASES = {name: cache(make) for name, make in CASES.items()}
"""How to make each, by name; once, since nobody changes a release."""


HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</style></svg></table><svg onload=alert(1)>",
    "&lt;b&gt; &amp;",
    "\u202eright to left\u202c שלום עולם",
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "x" * 8000,
    "word " * 1600,
    "Z" + "\u0301\u0302\u0303\u0304" * 30 + "algo",
    "日本語のとても長いラベル" * 20,
)
"""Labels that would run as a program, break the page, leave their line or cover others."""


@cache
def hostile():
    """A release with all hostile labels, in a column with a hostile name."""
    data = [label for at, label in enumerate(HOSTILE) for _ in range(3000 - 200 * at)]
    column = f"{HOSTILE[1]} {HOSTILE[8]}"
    return private_histogram({column: data}, column=column, **GUARANTEE)

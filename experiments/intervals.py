"""The table of docs/proofs/intervals.md: simultaneous coverage and width of intervals.

The same data is released many times, and each release is estimated at three failure probabilities beta. For any data,
coverage must be at least 1 - beta, and should not be much larger.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.documents import ROOT, rewrite
from shuffledp.histogram.tally import Tally
from shuffledp.protocols import CATALOGUE, HistogramProtocol, Target
from shuffledp.surnames import surnames

PATH = ROOT / "docs" / "proofs" / "intervals.md"
PEOPLE = 1_000_000
BINS = 2**64
PROTOCOLS = ("hist", "sparse", "stability")
BETAS = (0.05, 0.5, 0.9)
TRIALS = 500
_SEED = 12

HEAD = """| data | protocol | 1 - beta | before: held, width, hidden | after: held, width, hidden |
|---|---|---|---|---|
"""


def main(
    path: Path = PATH, *, people: int = PEOPLE, trials: int = TRIALS, protocols: Sequence[str] = PROTOCOLS
) -> None:
    """Measure coverage and write the table into the page."""
    rows = [
        row
        for name in protocols
        for protocol in [CATALOGUE[name].make(Target(users=people, bins=BINS, epsilon=1.0, delta=1e-6))]
        for data, counts in datasets(people, hidden=protocol.error(BETAS[0]).hidden)
        for row in measured(f"{data} | `{name}`", protocol, counts, trials)
    ]
    rewrite(path, "coverage", HEAD + "\n".join(rows))
    print(f"wrote {path}", file=sys.stderr)


def datasets(people: int, *, hidden: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield surnames, Zipf counts, and equal counts just above the detection limit."""
    drawn = np.random.default_rng(_SEED).multinomial(people, surnames()[1])
    yield "surnames", drawn[drawn > 0]
    weights = 1 / np.arange(1, people) ** 1.1
    zipf = np.floor(people * weights / weights.sum()).astype(np.int64)
    yield "Zipf", np.append(zipf[zipf > 0], people - zipf.sum())
    yield "on the edge", np.full(people // (hidden + 1), hidden + 1)


def measured(name: str, protocol: HistogramProtocol, counts: NDArray[np.int64], trials: int) -> Iterator[str]:
    """Yield a row for each beta: the bounds known before the release, and the intervals of the release."""
    rng, truth = np.random.default_rng(_SEED), Tally(np.arange(counts.size), counts)
    results = np.zeros((len(BETAS), 4))
    for _ in range(trials):
        tally = protocol.sample_tally(truth, rng=rng, part=True)
        for at, beta in enumerate(BETAS):
            estimate, bound = protocol.estimate(tally, beta=beta), protocol.error(beta)
            true, read = counts[estimate.symbols], estimate.simultaneous
            largest_hidden = np.delete(counts, estimate.symbols).max(initial=0)
            before = (np.abs(estimate.counts - true) <= bound.shown).all() and largest_hidden <= bound.hidden
            after = ((read.low <= true) & (true <= read.high)).all() and largest_hidden <= read.unreported_high
            results[at] += before, after, (read.high - read.low).mean(), read.unreported_high
    for beta, (before, after, width, hidden) in zip(BETAS, results / trials, strict=True):
        bound = protocol.error(beta)
        yield (
            f"| {name} | {1 - beta:.2f} | {before:.3f}, {2 * bound.shown:.0f}, {bound.hidden} "
            f"| {after:.3f}, {width:.0f}, {hidden:.0f} |"
        )


if __name__ == "__main__":
    main()

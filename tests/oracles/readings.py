"""Labels of data in memory, with their types and without noise."""

from collections import Counter
from types import SimpleNamespace

import numpy as np

from shuffledp.data.labels import Kind
from shuffledp.data.people import People
from shuffledp.data.source import Source
from shuffledp.data.tables import read_memory

NO_NOISE = SimpleNamespace(
    samples_exactly=True,
    users=1,
    sample_tally=lambda tally, **options: tally,
    estimator=SimpleNamespace(statistic=lambda tally: tally),
)
"""A protocol that publishes the truth."""


def spelled(label):
    """Return a label with its type: 1, 1.0, True and "1" are four labels."""
    return type(label).__name__, repr(label)


def published(data, *, column=None, **options):
    """Return the number of people per label of a release without noise."""
    with People(Source.of(data, column=column, **options)) as people:
        number = people.number(count=True)
        tally = people.draw(NO_NOISE)
        if people.listed:
            labels, counts = people.domain.decode(np.arange(people.domain.size)), tally
        else:
            labels, counts = tally.symbols, tally.counts
    found = Counter()
    for label, count in zip(labels.tolist(), counts.tolist(), strict=True):
        assert spelled(label) not in found, "two bins have one label"
        found[spelled(label)] = count
    assert found.total() == number
    return found


def read(data, *, column=None):
    """Return the same without an engine, which is fast enough for many examples."""
    memory = read_memory(data, column=column)
    scanned = memory.scan()
    whole = scanned.read_all() if hasattr(scanned, "read_all") else scanned
    entries = whole.column(memory.fields[0]).combine_chunks()
    return Counter(map(spelled, (memory.kinds[0] or Kind(entries.type)).labels(entries)))


def others_stay(first, second):
    """Return whether two counts have the same number of people and differ in the label of at most one."""
    return first.total() == second.total() and (first - second).total() <= 1

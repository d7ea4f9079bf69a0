"""How data in memory is read: everyone's label, distinguished by its spelling, without any noise."""

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
"""What a release asks of a protocol, of one that publishes the truth."""


def spelled(label):
    """A label with its type, since 1, 1.0, True and "1" are four spellings."""
    return type(label).__name__, repr(label)


def published(data, *, column=None, **options):
    """How many people each published label has, on the whole path of a release."""
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
    """The same without an engine, which only counts equal entries: cheap enough for many examples."""
    memory = read_memory(data, column=column)
    scanned = memory.scan()
    whole = scanned.read_all() if hasattr(scanned, "read_all") else scanned
    entries = whole.column(memory.fields[0]).combine_chunks()
    return Counter(map(spelled, (memory.kinds[0] or Kind(entries.type)).labels(entries)))


def others_stay(first, second):
    """Whether two readings have as many people and differ in the label of at most one of them."""
    return first.total() == second.total() and (first - second).total() <= 1

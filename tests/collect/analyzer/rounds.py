"""A store with the rounds of a series, whose tallies are sampled from their exact distribution."""

import numpy as np

from shuffledp.collect.analyzer.releases import Releasing
from shuffledp.collect.store import open_tally_store
from shuffledp.collect.store.tallies import to_bytes

COUNTS = {1: (120, 60, 20, 0, 0), 2: (120, 60, 20, 0, 0), 4: (20, 160, 20, 0, 0)}
"""True counts of three of four rounds, of 200 people each: three themes, other answers, and none."""


def add_batch(store, task, counts, *, number=1, seed=1, release=True):
    """Keep the tally of a batch with these true counts, and release it."""
    store.prepare(task)
    tally = task.protocol.sample_tally(np.array(counts), rng=np.random.default_rng(seed))
    store.keep_tally(task.id, bytes([number]) * 16 + task.id[:16], to_bytes(tally), task.users, {})
    if release:
        Releasing(task, store).release()


def store_with_rounds(path, series, counts=COUNTS):
    """A store in which these rounds are released."""
    store = open_tally_store(path / "analyzer.db")
    for number, each in counts.items():
        add_batch(store, series.task(number), each, seed=number)
    return store

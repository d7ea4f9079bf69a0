"""Batches of a small task as the last shuffler forwards them, and a source that serves them."""

from contextlib import contextmanager
from functools import cache

import numpy as np

from shuffledp.collect.client.making import messages_of
from shuffledp.collect.crypto.keys import info, public_key, seal
from shuffledp.collect.reaching import UpstreamError
from shuffledp.collect.store import ReadyBatch
from tests.collect.tasks import small_task

ANSWERS = ("dark", "light", "system", "other", None)


@cache
def tiny_task(**more):
    """A task whose batches have few messages, with a guarantee that would be too weak for people."""
    return small_task(users=20, answers=("yes",), protocol="hist", epsilon=4.0, delta=0.05, **more)


def sealed(kept, symbols, *, position=None, key=None):
    """Messages as the analyzer receives them, sealed for its place unless another is given."""
    task = kept.task
    position = len(task.shufflers) if position is None else position
    public = public_key((key or kept.keys[-1]).public_bytes)
    return [seal(int(each).to_bytes(task.symbol_bytes), public, info(task.id, position)) for each in symbols]


def answers_of(task, seed=None):
    """One answer per person of a batch, in random order."""
    rng = np.random.default_rng(seed)
    possible = [*task.answers.values, "something else", None]
    return [possible[at] for at in rng.integers(0, len(possible), task.users)]


def sent_by(task, answers, *, rng=None):
    """All messages that people with these answers send, including padding."""
    return [symbol for answer in answers for symbol in messages_of(task, answer, rng=rng)]


def symbols_of(task, answers, *, rng=None):
    """The messages without padding."""
    return [symbol for symbol in sent_by(task, answers, rng=rng) if symbol < task.alphabet]


_MADE = {}


def padded_batch_of(kept, seed=0):
    """All messages of a batch, including padding, and its onions in the same order; determined by the seed."""
    if (kept.task.id, seed) not in _MADE:
        symbols = sent_by(kept.task, answers_of(kept.task, seed), rng=np.random.default_rng(seed))
        _MADE[kept.task.id, seed] = symbols, sealed(kept, symbols)
    return _MADE[kept.task.id, seed]


def batch_of(kept, seed=0):
    """The messages of a batch without padding, and all of its onions; determined by the seed."""
    symbols, onions = padded_batch_of(kept, seed)
    return [symbol for symbol in symbols if symbol < kept.task.alphabet], onions


class Waiting:
    """A batch source in this process: batches by id, until they are acknowledged."""

    def __init__(self, **broken):
        self.batches, self.acknowledged, self.pulled, self.broken = {}, [], [], broken

    def ready(self, task):
        return [ReadyBatch(batch_id=each, number=0) for each in self.batches]

    @contextmanager
    def batch(self, task, batch_id, *, position):
        assert position == len(task.shufflers)
        self.pulled.append(batch_id)
        onions = self.batches[batch_id]
        if isinstance(onions, Exception):
            raise onions
        yield iter([b"".join(onions)])

    def acknowledge(self, task, batch_id):
        if "acknowledge" in self.broken:
            raise UpstreamError("gone", try_again=True)
        self.batches.pop(batch_id, None)
        self.acknowledged.append(batch_id)

    def close(self):
        pass

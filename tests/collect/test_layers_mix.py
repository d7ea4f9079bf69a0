"""Every layer of the chain mixes: output order is independent of input order.

The false failure rate of each test is at most 1e-6. Negative controls keep parts of the order.
"""

import threading
from contextlib import contextmanager

import numpy as np
import pytest

from shuffledp.collect.client.making import new_report
from shuffledp.collect.crypto import batch as mixing
from shuffledp.collect.shuffler.settings import Served
from shuffledp.collect.shuffler.worker import BatchMixer
from shuffledp.collect.store import ReadyBatch, open_report_store
from shuffledp.collect.task.report import open_report
from tests.collect.chain import pulled, ready, shufflers
from tests.collect.order import order_p_value, places_of
from tests.collect.tasks import small_task

RATE = 1e-6


class Given:
    """A batch source with exactly one batch."""

    def __init__(self, batch_id, onions, number):
        self._batch, self._onions, self.acknowledged = ReadyBatch(batch_id=batch_id, number=number), onions, False

    def ready(self, task):
        return [] if self.acknowledged else [self._batch]

    @contextmanager
    def batch(self, task, batch_id, *, position):
        yield iter([self._onions])

    def acknowledge(self, task, batch_id):
        self.acknowledged = True


def through_the_first(kept, folder):
    """Onions in the order of reports, and in the order of the first shuffler's batch."""
    with shufflers(kept, folder, only_first=True) as (client,):
        sent = b""
        for _ in range(kept.task.users):
            report = new_report(kept.task, "dark")
            sent += open_report(kept.task, report, kept.keys[0]).onions
            assert client.post(f"/v1/tasks/{kept.task.name}/reports", content=report).status_code == 201
        (batch,) = ready(client, kept.task)
        return sent, pulled(client, kept.task, batch)


def through_the_second(kept, folder, onions):
    """The contents of the onions in order, and in the order of the second shuffler's batch."""
    task, number = kept.task, len(onions) // kept.task.onion_length(1)
    inside, refused = kept.layer(1).open_block(onions)
    assert refused == 0
    with open_report_store(folder / "second.db") as store:
        store.prepare(task)
        upstream = Given(bytes(16), onions, number)
        relay = BatchMixer(
            Served(task=task, position=1, key=kept.keys[1], upstream=upstream), upstream, store, processes=1
        )
        assert relay.step(threading.Event())
        return inside, b"".join(store.mixed(bytes(16)))


def p_values(kept, folder):
    sent, first = through_the_first(kept, folder)
    inside, second = through_the_second(kept, folder, first)
    return (
        order_p_value(places_of(sent, first, kept.task.onion_length(1))),
        order_p_value(places_of(inside, second, kept.task.onion_length(2))),
    )


@pytest.fixture(scope="module")
def kept():
    """A task with five messages per person, so that reports that stay together are detected."""
    return small_task(users=40, shufflers=2, epsilon=8.0, delta=1e-2, protocol="hist")


@pytest.mark.slow
def test_both_layers_mix(kept, tmp_path):
    assert min(p_values(kept, tmp_path)) > RATE


@pytest.mark.slow
@pytest.mark.parametrize(
    "kept_order",
    [lambda kept, **_: kept, lambda kept, **_: np.concatenate([np.sort(part) for part in np.array_split(kept, 10)])],
    ids=["order", "in parts"],
)
def test_a_layer_that_keeps_the_order_is_detected(kept, tmp_path, monkeypatch, kept_order):
    """Reports are read in random order, so the test detects messages of one person that stay together."""
    monkeypatch.setattr(mixing, "shuffle", kept_order)
    assert max(p_values(kept, tmp_path)) < RATE

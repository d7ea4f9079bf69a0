"""A collection whose servers are killed at random moments while people report over a bad network."""

import random
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial, reduce
from operator import add

import numpy as np

from tests.collect.chaos import People, Proxy, free_port, wait_until
from tests.collect.servers import Collection, counts_of

USERS = 25
_LONGEST_PAUSE, _PACE = 0.4, 0.3
"""Longest time between kills, and average time between reports of a sender: reports arrive all the time."""


@dataclass(frozen=True, kw_only=True)
class Survived:
    """Kills by server, connections by outcome, and responses by status (None: incomplete)."""

    kills: dict[str, int]
    connections: Counter[str]
    answers: Counter[int | None]
    acknowledged: int
    acknowledged_meanwhile: int
    messages: int
    batches: int


def reports_of(collection, people, rng):
    """Reports by their bytes, each with its messages."""
    return dict(collection.report(rng.choice(["dark", "light", "system", "zebra", None])) for _ in range(people))


def assert_exact(collection, reports):
    """Check that the analyzer's counts equal the messages sent and that batches are complete.

    Return the number of messages.
    """
    batches = len(reports) // collection.task.users
    wait_until(lambda: len(collection.tallies()) == batches, seconds=120, what="all batches to be counted")
    messages = np.array([message for made in reports.values() for message in made])
    tallies = collection.tallies()
    total = reduce(add, tallies)
    assert counts_of(collection.task, total) == counts_of(collection.task, collection.task.protocol.tally(messages))
    assert sum(tally.messages for tally in tallies) == messages.size
    return messages.size


def after_kills(folder, *, kills, batches, shufflers, **task):
    """Kill this number of servers, restart each at once, wait for all reports, and compare all messages."""
    rng, seed = random.Random(), random.randrange(10**6)
    port = free_port()
    with Proxy(port, seed=seed) as proxy:
        collection = Collection(
            folder, reached={0: proxy.port}, shufflers=shufflers, users=USERS, epsilon=8.0, delta=1e-2, **task
        )
        collection.servers[0] = collection.server(0, port=port)
        reports = reports_of(collection, USERS * batches, rng)
        with collection, People(proxy.port, collection.task.name, reports, seed=seed, pause=_PACE) as people:
            for kill in range(kills):
                if kill % 4 == 0:  # reports keep arriving, however slow the machine
                    before = len(people.acknowledged)
                    wait_until(partial(people.went_on, before), seconds=60, what="a report to be taken")
                time.sleep(rng.random() * _LONGEST_PAUSE)
                server = rng.choice(collection.servers)
                server.kill()
                server.start()
            meanwhile = len(people.acknowledged)
            wait_until(lambda: people.done, seconds=180, what="everybody to be acknowledged")
            assert people.acknowledged == set(reports)
            messages = assert_exact(collection, reports)
    return Survived(
        kills={server.name: server.kills for server in collection.servers},
        connections=proxy.events,
        answers=people.statuses,
        acknowledged=len(reports),
        acknowledged_meanwhile=meanwhile,
        messages=int(messages),
        batches=batches,
    )

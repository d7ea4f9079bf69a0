"""One batch of numbers, and one of choices, by clients in Python and in Node: every message arrives exactly once."""

import math
from collections import Counter

import httpx
import pytest

from shuffledp.collect import Client
from shuffledp.collect.client import making
from tests.clients.scripts import in_node
from tests.clients.test_mixed_crowd import MODULE
from tests.collect.chaos import wait_until
from tests.collect.servers import Collection, counts_of

USERS, IN_NODE = 16, 9
KINDS = {
    "numbers": ({"protocol": "ranges", "edges": "0:8:1"}, ["3", 3.5, " 7.25 ", "-1", "1e3", "three", None, "", 8]),
    "choices": (
        {"protocol": "hist", "answers": ("a", "b", "c", "d"), "most": 2},
        [["a"], ["b", "d"], "c", [], None, ["x", "a"], ["d", "c", "b", "a"], ["a", "a"]],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_python_and_node_fill_one_batch(kind, tmp_path, monkeypatch):
    asked, some = KINDS[kind]
    answers = [some[at % len(some)] for at in range(USERS)]
    with Collection(tmp_path, users=USERS, shufflers=1, epsilon=6.0, delta=1e-2, **asked) as collection:
        task, text = collection.task, collection.task.canonical.decode()
        journals = [{"folder": str(tmp_path / f"node-{at}")} for at in range(IN_NODE)]
        recorded = in_node(MODULE, "crowd", text, journals, answers[:IN_NODE], {"pin": task.name})
        sample = making.messages_of
        monkeypatch.setattr(making, "messages_of", lambda *given: recorded.append(sample(*given)) or recorded[-1])
        for at, answer in enumerate(answers[IN_NODE:]):
            assert Client(task, journal=tmp_path / f"python-{at}").send(answer).state == "sent"
        assert len(recorded) == USERS
        releases = f"{task.analyzer.address}/v1/tasks/{task.name}/releases/latest"
        wait_until(lambda: httpx.get(releases).status_code == 200, what="the release")
        release = httpx.get(releases).json()
    messages = Counter(message for report in recorded for message in report if message < task.alphabet)
    (tally,) = collection.tallies()
    assert counts_of(task, tally) == [messages[value] for value in range(task.alphabet)]
    assert math.isclose(release["guarantee"]["epsilon"], 6.0)

"""One batch with clients in Python, in Node and in a real Chromium: every message arrives exactly once.

The messages that clients recorded before sealing are compared with the tally of the analyzer after two shufflers. The
page and the shuffler have different origins.
"""

from collections import Counter

import httpx
import pytest

from shuffledp.collect import Client
from shuffledp.collect.client import making
from tests.clients.pages import browser_at_pages, in_page, new_page
from tests.clients.scripts import in_node
from tests.collect.chaos import wait_until
from tests.collect.servers import Collection, counts_of
from tests.collect.shuffler.running import NEXT_HOP

MODULE = "test/client_network.js"
USERS, IN_NODE, IN_BROWSER = 48, 24, 8
ANSWERS = ["dark", "dark", "light", "system", "purple", None]


def answers(number):
    return [ANSWERS[at % len(ANSWERS)] for at in range(number)]


def by_python(collection, folder, number, monkeypatch):
    """Answer with the Python client."""
    recorded, draw = [], making.messages_of
    monkeypatch.setattr(making, "messages_of", lambda *given: recorded.append(draw(*given)) or recorded[-1])
    for at, answer in enumerate(answers(number)):
        assert Client(collection.task, journal=folder / str(at)).send(answer).state == "sent"
    return recorded


def may_read(page, shuffler, task):
    """Return what a page of another origin can read from a shuffler."""
    at = f"{shuffler}/v1/tasks/{task.name}"
    asked = {"": {}, "/status": {}, "/reports": {"method": "POST", "body": "no report"}, "/batches": {}}
    found = {path: in_page(page, MODULE, "readable", at + path, how) for path, how in asked.items()}
    with_token = in_page(page, MODULE, "readable", f"{at}/batches", {"headers": NEXT_HOP})
    elsewhere = [in_page(page, MODULE, "readable", shuffler + path) for path in ("/health", "/metrics")]
    return found, [found.pop("/batches"), with_token, *elsewhere]


@pytest.mark.slow
def test_python_node_and_browsers_fill_one_batch(tmp_path, monkeypatch):
    crowd = {"users": USERS, "shufflers": 2, "protocol": "hist", "epsilon": 4.0, "delta": 1e-3}
    with Collection(tmp_path, **crowd) as collection, browser_at_pages() as (browser, address):
        task, text = collection.task, collection.task.canonical.decode()
        page = new_page(browser, address)
        found, not_for_pages = may_read(page, task.shufflers[0].address, task)
        assert {path: each["status"] for path, each in found.items()} == {"": 200, "/status": 200, "/reports": 400}
        assert '"reason": "cannot-be-opened"' in found["/reports"]["text"]
        assert not_for_pages == [{"error": "TypeError"}] * 4

        journals = [{"folder": str(tmp_path / f"node-{at}")} for at in range(IN_NODE)]
        recorded = in_node(MODULE, "crowd", text, journals, answers(IN_NODE), {"pin": task.name})
        databases = [{"database": f"person {at}"} for at in range(IN_BROWSER)]
        recorded += in_page(page, MODULE, "crowd", text, databases, answers(IN_BROWSER), {"pin": task.name})
        recorded += by_python(collection, tmp_path / "python", USERS - len(recorded), monkeypatch)
        assert len(recorded) == USERS

        releases = f"{task.analyzer.address}/v1/tasks/{task.name}/releases/latest"
        wait_until(lambda: httpx.get(releases).status_code == 200, what="the release")
        release = httpx.get(releases).json()
    messages = Counter(message for report in recorded for message in report if message < task.alphabet)
    (tally,) = collection.tallies()
    assert counts_of(task, tally) == [messages[value] for value in range(task.alphabet)]
    assert release["guarantee"]["epsilon"] == 4.0

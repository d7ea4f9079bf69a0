"""An analyzer with its console in process, with sampled releases and fake shufflers."""

import json
from contextlib import asynccontextmanager

import anyio
import httpx
import msgspec
import numpy as np
from tests.collect.analyzer.batches import Waiting
from tests.collect.in_process import client_in_process
from tests.collect.tasks import Kept, small_task

from shuffledp.collect.analyzer.app import make_app
from shuffledp.collect.analyzer.releases import Releasing
from shuffledp.collect.analyzer.settings import Served, Settings
from shuffledp.collect.server.auth import Accepted, hash_of, new_token
from shuffledp.collect.store import open_tally_store
from shuffledp.collect.store.tallies import to_bytes
from shuffledp.collect.web import console as routes

TOKEN = new_token()
SIX = ("dark", "light", "system", "high contrast", "solarized", "sepia")
HOST = "http://test"
OWN_LOOK = 2
"""Requests of the analyzer itself, once a minute: the status and the health of the first shuffler."""
BROWSER = {"accept": "text/html,application/xhtml+xml"}
FROM_HERE = {**BROWSER, "origin": HOST, "content-type": "application/x-www-form-urlencoded"}


def asked_task(*, question="Which theme do you use?", **changes):
    """A task of six answers; the tallies of its batches are sampled."""
    kept = small_task(**({"users": 2000, "answers": SIX} | changes))
    return Kept(msgspec.structs.replace(kept.task, question=question), kept.keys)


def batch_id(task, number):
    return task.id[:15] + bytes([number])


def keep_batch(store, task, number, *, refused=None, problem=None):
    """Store a tally sampled from its distribution."""
    rng = np.random.default_rng(number)
    shares = 1 / np.arange(1.0, task.protocol.bins + 1)
    truth = rng.multinomial(task.users, shares / shares.sum())
    tally = b"" if problem else to_bytes(task.protocol.sample_tally(truth, rng=rng))
    store.keep_tally(task.id, batch_id(task, number), tally, task.users, refused or {}, problem)


def release(store, task, *numbers, ledger=None, joined=False):
    """Store and release batches with these numbers."""
    store.prepare(task)
    for number in numbers:
        keep_batch(store, task, number)
        assert Releasing(task, store, ledger=ledger, joined=joined).release() == 1


def bare(status, **headers):
    """A response without content."""
    return httpx.Response(status, headers=headers, stream=httpx.ByteStream(b""))


class Shufflers:
    """Fake shufflers with a status for each position; an exception is raised instead."""

    def __init__(self, task):
        self.task, self.asked = task, []
        self.replies = {at: self.status(at) for at in range(len(task.shufflers))}

    def status(self, position=0, **changes):
        usual = {
            "task": self.task.name,
            "position": position,
            "users": self.task.users,
            "waiting": 1234,
            "batches": 1,
            "batches_acknowledged": 1,
            "short_by": None,
            "refused": {"malformed": 3, "closed": 7},
            "problems": [],
        }
        return usual | changes

    def answer(self, request):
        self.asked.append(str(request.url))
        at = next(at for at, each in enumerate(self.task.shufflers) if str(request.url).startswith(each.address + "/"))
        reply = self.replies[at]
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, httpx.Response):
            return reply
        if request.url.path == "/health":
            reply = {"state": "ok"}
        content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        return httpx.Response(200, stream=httpx.ByteStream(content))

    def client(self):
        return httpx.Client(transport=httpx.MockTransport(self.answer), timeout=2.0)


def settings_for(path, kept, **changes):
    """Settings of an analyzer of one task with an operator; its store is in a folder."""
    served = Served(task=kept.task, key=kept.keys[-1], upstream=Waiting())
    usual = {
        "served": [served],
        "store": open_tally_store(path / "analyzer.db"),
        "every": 0.05,
        "processes": 1,
        "owns_store": True,
        "operators": Accepted((hash_of(TOKEN),)),
        "pause_after_wrong": 0.0,
    }
    return Settings(**(usual | changes))


class Person:
    """A visitor with a browser."""

    def __init__(self, client, task, door=None):
        self.client, self.task, self.door = client, task, door

    async def get(self, path, **headers):
        return await self.client.get(path, headers=BROWSER | headers)

    async def sign_in(self, token=TOKEN, then="", **headers):
        sent = httpx.QueryParams({"token": token, "then": then})
        return await self.client.post("/operator/login", content=str(sent), headers=FROM_HERE | headers)

    async def signed_in(self, path=None):
        """Sign in; return the operator's page of the task once its shufflers have answered."""
        assert (await self.sign_in()).status_code == 303
        return await self.get(path or f"/operator/tasks/{self.task.name}")

    async def until(self, path, words):
        """Poll a page until it contains a text."""
        for _ in range(400):
            found = await self.get(path)
            if words in found.text:
                return found
            await anyio.sleep(0.02)
        raise AssertionError(f"it never says {words!r}")


@asynccontextmanager
async def running(settings):
    """A visitor with a browser while the analyzer runs."""
    app = make_app(settings)
    (sign_in,) = (route.endpoint for route in app.routes if route.path == "/operator/login")
    async with client_in_process(app) as client:
        yield Person(client, next(iter(settings.tasks), None), door=sign_in.__self__)


def visit(monkeypatch, settings, test, shufflers=None):
    """Run a test with a visitor and an analyzer with fake shufflers."""
    shufflers = shufflers or Shufflers(next(iter(settings.tasks)))
    monkeypatch.setattr(routes, "new_client", shufflers.client)

    async def whole():
        async with running(settings) as person:
            await test(person)

    anyio.run(whole)
    return shufflers

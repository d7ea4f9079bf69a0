"""An analyzer in process, with a client that talks to it."""

from contextlib import asynccontextmanager

import anyio

from shuffledp.collect.analyzer.app import make_app
from shuffledp.collect.analyzer.settings import Served, Settings
from shuffledp.collect.store import open_tally_store
from tests.collect.analyzer.batches import Waiting
from tests.collect.in_process import client_in_process


def settings_for(path, kept, upstream=None, **changes):
    """Settings of an analyzer of one task, with its store in a folder; it polls continuously."""
    served = Served(task=kept.task, key=kept.keys[-1], upstream=upstream or Waiting())
    defaults = {"store": open_tally_store(path / "analyzer.db"), "every": 0.01, "processes": 1, "owns_store": True}
    return Settings(served=[served], **(defaults | changes))


@asynccontextmanager
async def running(settings):
    """A client of the analyzer, from its start to its end."""
    async with client_in_process(make_app(settings)) as client:
        yield Asked(client, settings.served[0].task)


class Asked:
    """The addresses of one task."""

    def __init__(self, client, task):
        self.client, self.at = client, f"/v1/tasks/{task.name}"

    async def get(self, what=""):
        return await self.client.get(f"{self.at}{what}")

    async def status(self):
        return (await self.get("/status")).json()

    async def until(self, holds):
        """Poll until the status meets a condition."""
        for _ in range(1000):
            status = await self.status()
            if holds(status):
                return status
            await anyio.sleep(0.01)
        raise AssertionError(f"it stays at {status}")

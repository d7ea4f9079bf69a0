"""A shuffler in process, with a client that talks to it."""

import secrets

import anyio

from shuffledp.collect.server.auth import Accepted, hash_of, new_token
from shuffledp.collect.shuffler.app import make_app
from shuffledp.collect.shuffler.settings import Served, Settings
from shuffledp.collect.store import open_report_store
from shuffledp.collect.task.report import seal_report
from tests.collect.in_process import client_in_process
from tests.collect.tasks import small_task

NOW = 1_800_000_000
"""Within the time of the small task."""

TOKEN = new_token()
NEXT_HOP = {"authorization": f"Bearer {TOKEN}"}


def sealed(task, symbols=(0,), *, report_id=None, time=None):
    """A report of a person."""
    time = NOW if time is None else time
    report_id = secrets.token_bytes(16) if report_id is None else report_id
    return seal_report(task, symbols, report_id=report_id, time=time - time % task.time_precision)


def settings_for(path, kept=None, *, position=0, store=None, **changes):
    """Settings of a shuffler of the small task, with its store in a folder; it polls continuously."""
    kept = kept or small_task(users=5, epsilon=8.0, delta=1e-2)
    store = store or open_report_store(path / f"shuffler-{position}.db")
    served = Served(
        task=kept.task,
        position=position,
        key=kept.keys[position],
        **{name: changes.pop(name) for name in ("admission", "upstream") if name in changes},
    )
    defaults = {"next_servers": Accepted((hash_of(TOKEN),)), "every": 0.01, "clock": lambda: NOW, "processes": 1}
    return Settings(served=[served], store=store, **(defaults | changes))


def running(settings):
    """A client of the shuffler, from its start to its end."""
    return client_in_process(make_app(settings))


class Asked:
    """The addresses of one task."""

    def __init__(self, client, task):
        self.client, self.at = client, f"/v1/tasks/{task.name}"

    async def report(self, body, **headers):
        return await self.client.post(f"{self.at}/reports", content=body, headers=headers)

    async def status(self):
        return (await self.client.get(f"{self.at}/status")).json()

    async def batches(self, number=1):
        """Wait for this number of ready batches."""
        for _ in range(500):
            listed = (await self.client.get(f"{self.at}/batches", headers=NEXT_HOP)).json()["batches"]
            if len(listed) >= number:
                return listed
            await anyio.sleep(0.01)
        raise AssertionError(f"there are only {len(listed)} batches")

    async def pulled(self, batch, headers=NEXT_HOP):
        return await self.client.get(f"{self.at}/batches/{batch['id']}", headers=headers)

    async def acknowledge(self, batch, headers=NEXT_HOP):
        return await self.client.delete(f"{self.at}/batches/{batch['id']}", headers=headers)

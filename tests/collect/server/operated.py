"""Shufflers and analyzers in this process whose operators add, close and remove tasks."""

import gc
from contextlib import asynccontextmanager
from functools import partial

import anyio

from shuffledp.collect.analyzer.app import make_app as analyzer_app
from shuffledp.collect.analyzer.settings import Settings as AnalyzerSettings
from shuffledp.collect.analyzer.settings import TaskOptions as AnalyzerOptions
from shuffledp.collect.crypto.keys import KeyPair, write_key, write_secret
from shuffledp.collect.server.auth import Accepted, hash_of, new_token
from shuffledp.collect.shuffler.app import make_app as shuffler_app
from shuffledp.collect.shuffler.settings import Settings, TaskOptions
from shuffledp.collect.store import open_report_store, open_tally_store
from shuffledp.ledger import Ledger
from tests.collect.in_process import client_in_process
from tests.collect.shuffler.running import NEXT_HOP, NOW, TOKEN, sealed
from tests.collect.tasks import small_task

USERS = 5
OPERATOR = new_token()
HEADERS = {"authorization": f"Bearer {OPERATOR}"}
TASKS = "/v1/admin/tasks"
SMALL = {"users": USERS, "epsilon": 8.0, "delta": 1e-2}
KEPT = small_task(**SMALL)
OTHER = small_task(**SMALL, answers=("yes", "no"))
CHAIN = small_task(**SMALL, shufflers=2)


def keys_of(folder, *kept, position=0):
    """A folder with the keys of a server."""
    folder.mkdir(exist_ok=True)
    for one in kept:
        if not (path := folder / f"{one.keys[position].public[:8]}.key").exists():
            write_key(one.keys[position], path)
    return folder


def shuffler(folder, *kept, position=0, store=None, **options):
    """A shuffler without tasks that has the keys of some."""
    folder.mkdir(exist_ok=True)
    changes = {
        name: options.pop(name) for name in ("served", "clock", "page", "series", "background") if name in options
    }
    return Settings(
        **{"served": [], "clock": lambda: NOW, **changes},
        store=store or open_report_store(folder / "reports.db"),
        next_servers=Accepted((hash_of(TOKEN),)),
        every=0.01,
        processes=1,
        owns_store=store is None,
        operators=Accepted((hash_of(OPERATOR),)),
        pause_after_wrong=0.0,
        options=TaskOptions(
            key=[keys_of(folder / "keys", *kept, position=position)], operators=Accepted((b"",)), **options
        ),
    )


def analyzer(folder, *kept, ledger=None, **options):
    """An analyzer without tasks that has the keys of some."""
    folder.mkdir(exist_ok=True)
    token = folder / "analyzer.token"
    if not token.exists():
        write_secret(token, TOKEN)
    return AnalyzerSettings(
        served=[],
        store=open_tally_store(folder / "tallies.db"),
        every=0.01,
        processes=1,
        owns_store=True,
        ledger=ledger,
        operators=Accepted((hash_of(OPERATOR),)),
        pause_after_wrong=0.0,
        options=AnalyzerOptions(
            key=[keys_of(folder / "keys", *kept, position=-1)],
            token=token,
            operators=Accepted((b"",)),
            **options,
        ),
    )


class Operated:
    """A server with its operator."""

    def __init__(self, client):
        self.client = client

    async def add(self, asked):
        content = asked if isinstance(asked, bytes) else asked.to_json().encode()
        return await self.client.post(TASKS, content=content, headers=HEADERS)

    async def close(self, name):
        return await self.client.post(f"{TASKS}/{name}/close", headers=HEADERS)

    async def remove(self, name, *, unchecked=False):
        return await self.client.delete(f"{TASKS}/{name}{'?unchecked=true' * unchecked}", headers=HEADERS)

    async def tokens(self, name, *hashes):
        return await self.client.post(f"{TASKS}/{name}/tokens", content="\n".join(hashes), headers=HEADERS)

    async def states(self):
        listed = (await self.client.get(TASKS, headers=HEADERS)).json()["tasks"]
        return {each["id"]: each["state"] for each in listed}

    async def report(self, task, **headers):
        return await self.client.post(f"/v1/tasks/{task.name}/reports", content=sealed(task), headers=headers)

    async def status(self, task):
        return (await self.client.get(f"/v1/tasks/{task.name}/status")).json()

    async def forward(self, task, batches):
        """Fetch and acknowledge this number of batches, as the next server does; return their numbers of messages."""
        at, numbers = f"/v1/tasks/{task.name}/batches", []
        for _ in range(1000):
            for each in (await self.client.get(at, headers=NEXT_HOP)).json()["batches"]:
                numbers.append(each["number"])
                assert (await self.client.delete(f"{at}/{each['id']}", headers=NEXT_HOP)).status_code == 204
            if len(numbers) >= batches:
                return numbers
            await anyio.sleep(0.01)
        raise AssertionError(f"there are only {len(numbers)} batches")


@asynccontextmanager
async def running(settings):
    app = (analyzer_app if isinstance(settings, AnalyzerSettings) else shuffler_app)(settings)
    async with client_in_process(app) as client:
        yield Operated(client)


def run(settings, test):
    async def whole():
        async with running(settings) as server:
            return await test(server)

    return anyio.run(whole)


async def until(holds):
    for _ in range(1000):
        if await holds():
            return
        await anyio.sleep(0.01)
    raise AssertionError("it never happens")


def folder_of(path, *kept, kind=shuffler):
    """A folder with the files of a server, from which every start reads its settings."""
    (path / "tasks").mkdir()
    for number, one in enumerate(kept):
        (path / "tasks" / f"{number}.json").write_text(one.task.to_json())
    keys, store = keys_of(path / "keys", *kept, position=0 if kind is shuffler else -1), str(path / "store.db")
    given = {"task": [path / "tasks"], "key": [keys], "store": store, "operator": [hash_of(OPERATOR).hex()]}
    if kind is shuffler:
        return partial(Settings.read, **given, next=[hash_of(TOKEN).hex()])
    Ledger.create(path / "budget.ledger", epsilon=40.0, delta=0.5, population="tests")
    token = write_secret(path / "analyzer.token", TOKEN)
    return partial(AnalyzerSettings.read, **given, ledger=path / "budget.ledger", token=token)


def private_keys(pair):
    """The number of private keys in memory that were read from a file of this pair."""
    gc.collect()
    read = [each for each in gc.get_objects() if isinstance(each, KeyPair) and each.file is not None]
    return sum(not each.destroyed for each in read if each.public == pair.public)

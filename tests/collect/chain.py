"""The shufflers of a task in threads of this process, with real applications and requests."""

from contextlib import ExitStack, contextmanager

import httpx

from shuffledp.collect.client.making import new_report
from shuffledp.collect.crypto.batch import HEAD_BYTES
from shuffledp.collect.server.auth import Accepted, hash_of, new_token
from shuffledp.collect.server.upstream import Upstream
from shuffledp.collect.shuffler.app import make_app
from shuffledp.collect.shuffler.settings import Served, Settings
from shuffledp.collect.store import open_report_store
from tests.collect.chaos import wait_until
from tests.collect.in_process import served

TOKEN = new_token()
NEXT_HOP = {"authorization": f"Bearer {TOKEN}"}


@contextmanager
def client_of(app):
    """A client of an application that runs in a thread."""
    with served(app) as address, httpx.Client(base_url=address, trust_env=False, timeout=30.0) as client:
        yield client


@contextmanager
def shufflers(kept, folder, *, only_first=False):
    """A client of each shuffler, in order; each pulls from the one before it."""
    with ExitStack() as stack:
        clients = []
        for position in range(1 if only_first else len(kept.task.shufflers)):
            upstream = Upstream(str(clients[-1].base_url), TOKEN, pause=0.01) if clients else None
            if upstream is not None:
                stack.callback(upstream.close)
            store = stack.enter_context(open_report_store(folder / f"shuffler-{position}.db"))
            settings = Settings(
                served=[Served(task=kept.task, position=position, key=kept.keys[position], upstream=upstream)],
                store=store,
                next_servers=Accepted((hash_of(TOKEN),)),
                every=0.01,
                processes=1,
            )
            clients.append(stack.enter_context(client_of(make_app(settings))))
        yield clients


def report_all(client, task, answers):
    """Send one report after another."""
    for answer in answers:
        taken = client.post(f"/v1/tasks/{task.name}/reports", content=new_report(task, answer))
        assert taken.status_code == 201


def ready(client, task, number=1):
    """Wait for this number of ready batches; return their ids."""
    at, found = f"/v1/tasks/{task.name}/batches", []

    def there():
        found[:] = [batch["id"] for batch in client.get(at, headers=NEXT_HOP).json()["batches"]]
        return len(found) >= number

    wait_until(there, what=f"{number} batches")
    return found


def pulled(client, task, batch):
    """Fetch the onions of a batch."""
    answer = client.get(f"/v1/tasks/{task.name}/batches/{batch}", headers=NEXT_HOP)
    assert answer.status_code == 200
    return answer.content[HEAD_BYTES:]

"""Situations of real servers in which an operator needs an alert, and the metrics that they have then."""

import asyncio
import contextlib
import http.client
import os
import re
import resource
import shutil
import subprocess
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

from shuffledp.collect.analyzer.app import make_app as analyzer_app
from shuffledp.collect.server.auth import hash_of, new_token
from shuffledp.collect.shuffler.app import make_app as shuffler_app
from shuffledp.ledger import Ledger
from tests.collect.analyzer import running as analyzer
from tests.collect.analyzer.batches import Waiting, batch_of, tiny_task
from tests.collect.chaos import wait_until
from tests.collect.in_process import client_in_process
from tests.collect.server import operated
from tests.collect.servers import Collection
from tests.collect.shuffler import running as shuffler
from tests.collect.store.failing import full_temporary_folder
from tests.collect.tasks import small_task
from tests.collect.test_replays import CHAIN, ToMixer, onions_of

USERS = 40
NOW = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
TIMES = {"opens": NOW - timedelta(days=5), "closes": NOW + timedelta(days=10)}


def collection(folder, **more):
    """Servers whose batches have 40 people; the task has been open for a third of its time."""
    return Collection(folder, users=USERS, epsilon=8.0, delta=1e-2, **(TIMES | more))


def asked(port, path, *, method="GET", body=None, token=None):
    """The status and the text of an answer."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with contextlib.closing(connection):
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def send(made, reports):
    """Send reports to the first shuffler; return the statuses."""
    path = f"/v1/tasks/{made.task.name}/reports"
    return [asked(made.ports[0], path, method="POST", body=report)[0] for report in reports]


def people(made, number):
    return [made.report("dark")[0] for _ in range(number)]


def recorded(made, *, down=()):
    """The metrics of all servers but those that are down, at this moment, by instance."""
    running = [(name, port) for name, port in zip(made.names, made.ports, strict=True) if name not in down]
    found = {name: asked(port, "/metrics") for name, port in running}
    assert {status for status, _ in found.values()} == {200}
    return SimpleNamespace(at=time.time(), texts={name: text for name, (_, text) in found.items()})


def metric(made, position, line):
    """Whether the metrics of a server have a line that begins like this."""
    return any(each.startswith(line) for each in asked(made.ports[position], "/metrics")[1].splitlines())


def health(made, position=0):
    return asked(made.ports[position], "/health")


@contextlib.contextmanager
def small_disk(folder):
    """A file system of 2 MB, or None where mounting is not allowed."""
    place = folder / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], capture_output=True).returncode
    try:
        yield place if mounted == 0 else None
    finally:
        if mounted == 0:
            subprocess.run(["umount", "-l", place], check=True)


def fill(place):
    """Fill a file system to its last byte; return the file that does it."""
    filler = place / "filler"
    with filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(os.statvfs(place).f_bsize))
    return filler


def fill_until_refused(made, place):
    """Fill the disk until every report is refused: the files of the store have some space left within them."""

    def refused():
        fill(place)
        return set(send(made, people(made, 5))) == {503}

    wait_until(refused, what="refusals")


def healthy(folder):
    """A batch was counted and released, and the next one fills. Something that is no report was refused."""
    with collection(folder) as made:
        assert set(send(made, people(made, USERS + 5))) == {201}
        assert send(made, [b"no report"]) == [400]
        wait_until(lambda: metric(made, 0, "shuffledp_refused_total{"), what="the refusal to be written")
        wait_until(lambda: metric(made, -1, "shuffledp_last_release_number{"), what="a release")
        return [recorded(made)]


def slow(folder):
    """Five people of 40 have reported after a third of the time: metrics after three of them, and after all five."""
    with collection(folder) as made:
        found = []
        for number in (3, 2):
            assert set(send(made, people(made, number))) == {201}
            found.append(recorded(made))
        return found


def closed_early(folder):
    """Like `slow`, and then the operator closes the task at the first shuffler."""
    made, token = collection(folder), new_token()
    made.servers[0] = made.server(0, more=["--operator", hash_of(token).hex()])
    with made:
        assert set(send(made, people(made, 5))) == {201}
        path = f"/v1/admin/tasks/{made.task.name}/close"
        assert asked(made.ports[0], path, method="POST", token=token)[0] == 200
        return [recorded(made)]


def shuffler_down(folder):
    """The shuffler has stopped, so the analyzer gets no batches."""
    with collection(folder) as made:
        made.servers[0].stop()
        failing = f'shuffledp_upstream_failing{{reason="refused-connection",task="{made.task.name}"}} 1.0'
        wait_until(lambda: metric(made, -1, failing), what="a failing upstream")
        return [recorded(made, down=made.names[:1])]


def analyzer_down(folder):
    """The analyzer has stopped, so a complete batch waits at the shuffler."""
    with collection(folder) as made:
        made.servers[-1].stop()
        assert set(send(made, people(made, USERS))) == {201}
        wait_until(lambda: metric(made, 0, f'shuffledp_batches_ready{{task="{made.task.name}"}} 1.0'), what="a batch")
        return [recorded(made, down=made.names[-1:])]


def store_failing(folder):
    """The store of a shuffler whose task opened yesterday cannot grow; this needs no file system of its own."""
    with collection(folder, opens=NOW - timedelta(days=1)) as made:
        assert set(send(made, people(made, 2))) == {201}
        made.servers[0].limit(resource.RLIMIT_FSIZE, 4096)
        wait_until(lambda: send(made, people(made, 1)) == [503], what="a refusal")
        return [recorded(made)]


def not_mixed(folder):
    """The shuffler's temporary folder is full, so a complete batch is not mixed."""
    kept = small_task(users=USERS, epsilon=8.0, delta=1e-2, **TIMES)
    with full_temporary_folder():
        return of_application(shuffler_app(shuffler.settings_for(folder, kept, clock=time.time)), filled_batch(kept))


def filled_batch(kept):
    """Send the reports of a batch to an application, and wait until it has a problem with them."""

    async def fill(client):
        at = f"/v1/tasks/{kept.task.name}"
        for _ in range(USERS):
            await client.post(f"{at}/reports", content=shuffler.sealed(kept.task, time=int(time.time())))
        await until(client, "shuffledp_problems{.*} 1.0")

    return fill


def key_gone(folder):
    """A shuffler was started again after the key of an open task was gone."""
    settings, task = operated.shuffler(folder, clock=time.time), small_task(users=USERS, **TIMES).task
    settings.store.files.add(task.id, task.canonical)
    return of_application(shuffler_app(settings), lambda client: until(client, "shuffledp_problems{.*} 1.0"))


def replays(folder):
    """An earlier batch comes to the second shuffler once more, under another id."""
    upstream, onions = ToMixer(), [onion for _ in range(20) for onion in onions_of(CHAIN)]
    settings = shuffler.settings_for(folder, CHAIN, position=1, upstream=upstream)

    async def replay(client):
        upstream.batches = {b"1" * 16: onions}
        await until(client, "shuffledp_batches_ready{.*} 1.0")
        settings.store.acknowledge(b"1" * 16)
        upstream.batches = {b"2" * 16: onions}
        await until(client, "shuffledp_refused_total{.*too-few-messages.*} 1.0")

    return of_application(shuffler_app(settings), replay)


def over_budget(folder):
    """The ledger of the analyzer has no room for the first release."""
    kept, upstream = tiny_task(), Waiting()
    upstream.batches = {bytes(16): batch_of(kept)[1]}
    ledger = Ledger.create(folder / "small.ledger", epsilon=0.5, delta=1e-6, population="people")
    app = analyzer_app(analyzer.settings_for(folder, kept, upstream, ledger=ledger))
    return of_application(app, lambda client: until(client, "shuffledp_budget_exceeded{.*} 1.0"))


def of_application(app, use):
    """The metrics of an application in this process, after some use of it."""

    async def run():
        async with client_in_process(app) as client:
            await use(client)
            return (await client.get("/metrics")).text

    return [SimpleNamespace(at=time.time(), texts={"server": asyncio.run(run())})]


async def until(client, line):
    """Wait until the metrics of an application have a line like this."""
    async with asyncio.timeout(20):
        while not re.search(f"^{line}", (await client.get("/metrics")).text, flags=re.M):
            await asyncio.sleep(0.01)


def restored(folder):
    """The shuffler's store was restored from a backup after a batch of it was counted."""
    made = collection(folder)
    shuffler, analyzer = made.servers
    with made:
        send(made, people(made, USERS - 10))
        shuffler.stop()
        shutil.copy(made.stores[0], folder / "backup.db")
        shuffler.start().wait_until_ready()
        send(made, people(made, 10))
        wait_until(lambda: metric(made, -1, "shuffledp_last_release_number{"), what="a release")
        shuffler.stop()
        shutil.copy(folder / "backup.db", made.stores[0])
        shuffler.start().wait_until_ready()
        analyzer.stop()  # it looks at the number of reports when it starts
        analyzer.start().wait_until_ready()
        wait_until(lambda: metric(made, -1, f'shuffledp_releases_stopped{{task="{made.task.name}"}} 1'), what="a stop")
        first = recorded(made)
        send(made, people(made, 10))
        wait_until(lambda: metric(made, -1, 'shuffledp_messages_refused_total{reason="replayed"'), what="replays")
        wait_until(lambda: metric(made, 0, f'shuffledp_batches_ready{{task="{made.task.name}"}} 0.0'), what="a fetch")
        return [first, recorded(made)]

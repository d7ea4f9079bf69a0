"""Tasks that are added, closed early and removed at real servers, which are killed in between."""

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from shuffledp.collect.crypto.keys import write_key, write_secret
from shuffledp.collect.server.auth import hash_of, new_token
from shuffledp.collect.store import open_report_store
from tests.cli.commands import command
from tests.collect.chaos import free_port, wait_until
from tests.collect.databases import ON_POSTGRES
from tests.collect.servers import Collection, Server

USERS = 25
TASKS = "/v1/admin/tasks"


class Operated(Collection):
    """The servers of a collection, started without any task; their operators have a token each."""

    def __init__(self, folder, **more):
        super().__init__(folder, users=USERS, epsilon=8.0, delta=1e-2, **more)
        self.operators = [new_token() for _ in self.names]
        for name, token in zip(self.names, self.operators, strict=True):
            write_secret(self.folder / f"{name}.operator", token)
            (self.folder / f"{name}-keys").mkdir()
        self.servers = [self.empty(position) for position in range(len(self.names))]

    def empty(self, position, *, name=None, port=None, workers=1):
        own, port = self.names[position], port or self.ports[position]
        last = own == "analyzer"
        words = ["analyzer" if last else "shuffler", "--key", self.folder / f"{own}-keys", "--port", port]
        words += ["--store", self.stores[position], "--operator", hash_of(self.operators[position]).hex()]
        words += ["--ledger", self.ledger] if last else ["--next", hash_of(self.tokens[position]).hex()]
        words += ["--token", self.folder / f"{own}.token"] if position else ["--workers", workers]
        return Server(name or own, words, port=port, folder=self.folder)

    def give_keys(self):
        for name, key in zip(self.names, self.keys, strict=True):
            write_key(key, self.folder / f"{name}-keys" / "task.key")

    def operator(self, position, *words, code=0):
        """Run a command of the operator of a server; return what it prints."""
        at = ["--server", f"http://127.0.0.1:{self.ports[position]}", "--token", f"{self.names[position]}.operator"]
        result = command("task", *map(str, words), *at, "--json", cwd=self.folder)
        assert result.returncode == code, result.stderr
        return json.loads(result.stdout)

    def get(self, position, path="", port=None):
        at = f"http://127.0.0.1:{port or self.ports[position]}/v1/tasks/{self.task.name}{path}"
        return httpx.get(at, trust_env=False, verify=False)

    def send(self, number, *, ports=None):
        """Send reports of this number of people at once; return the status of each answer."""
        ports = ports or [self.ports[0]]
        path = f"/v1/tasks/{self.task.name}/reports"
        addresses = [f"http://127.0.0.1:{ports[at % len(ports)]}{path}" for at in range(number)]
        reports = [self.report("dark")[0] for _ in range(number)]
        with ThreadPoolExecutor(8) as threads, httpx.Client(trust_env=False, verify=False) as client:
            sent = threads.map(lambda at, body: client.post(at, content=body), addresses, reports)
            return [answer.status_code for answer in sent]

    def restart(self):
        for server in self.servers:
            server.kill()
            server.start()
        for server in self.servers:
            server.wait_until_ready()


@pytest.mark.slow
def test_the_life_of_a_task_from_empty_servers_to_empty_servers(tmp_path):
    """With a second shuffler, and all servers killed after every step."""
    collection = Operated(tmp_path, shufflers=2)
    name = collection.task.name
    with collection:
        last = len(collection.servers) - 1
        assert collection.operator(0, "list") == {"tasks": []}
        refused = collection.operator(0, "add", collection.path, code=3)
        assert refused["reason"] == "cannot-be-served"
        collection.give_keys()
        for position in reversed(range(3)):
            added = collection.operator(position, "add", collection.path)
            assert (added["id"], added["state"], added["new"]) == (name, "open", True)
            assert not collection.operator(position, "add", collection.path)["new"]
        collection.restart()
        assert set(collection.send(USERS + 3)) == {201}
        wait_until(lambda: collection.get(last, "/releases/latest").status_code == 200, what="a release")
        collection.restart()
        assert collection.operator(last, "remove", name, code=3)["reason"] == "not-finished"
        closed = collection.operator(0, "close", collection.path, "--yes")
        assert (closed["state"], closed["counters"]["short_by"]) == ("closed-early", USERS - 3)
        assert collection.send(4) == [410] * 4
        collection.restart()
        assert collection.get(0, "/status").json()["closed"]
        assert collection.send(4) == [410] * 4
        for position in range(3):
            collection.operator(position, "close", name, "--yes")
        for position in range(3):
            assert collection.operator(position, "remove", name)["state"] == "removed"
            assert collection.operator(position, "list") == {"tasks": []}
        collection.restart()
        for position in range(3):
            assert collection.operator(position, "list") == {"tasks": []}
            assert collection.get(position).json()["reason"] == "unknown-task"
        assert collection.get(last, "/releases/latest").json()["reason"] == "unknown-task"
        assert [tally.messages > 0 for tally in collection.tallies()] == [True]  # the release is still in the store
    logs = "".join(server.words for server in collection.servers)
    for secret in (*collection.operators, *collection.tokens, "dark", "unexpected error"):
        assert secret not in logs


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=ON_POSTGRES)])
@pytest.mark.slow
def test_two_machines_agree_while_reports_arrive(tmp_path, request, kind):
    """A report is acknowledged and in a batch or in the incomplete one, or it is refused; a batch is complete."""
    stores = None
    if kind == "postgres":
        empty = request.getfixturevalue("empty_postgres")
        stores = [empty("tests"), str(tmp_path / "tallies.db")]
    collection = Operated(tmp_path, stores=stores)
    port = free_port()
    workers = 2 if kind == "sqlite" else 1
    collection.servers = [collection.empty(0, workers=workers), collection.empty(0, name="second", port=port)]
    collection.give_keys()
    with collection:
        collection.operator(0, "add", collection.path)
        ports = [collection.ports[0], port]
        for at in ports:  # new connections go to any worker
            wait_until(lambda at=at: all(collection.get(0, port=at).is_success for _ in range(8)), what="all to follow")
        assert set(collection.send(2 * USERS, ports=ports)) == {201}
        with ThreadPoolExecutor(1) as thread:
            sending = thread.submit(collection.send, 4 * USERS, ports=ports)
            closed = collection.operator(0, "close", collection.path, "--yes")
            statuses = sending.result()
        assert set(statuses) <= {201, 410}
        assert set(collection.send(4, ports=ports)) == {410}
        with open_report_store(collection.stores[0]) as store:
            standing = store.standing(collection.task.id)
        in_the_last = (USERS - standing.short_by) % USERS
        accepted = 2 * USERS + statuses.count(201)
        assert standing.batches * USERS + in_the_last == accepted == standing.reports
        assert (standing.waiting, closed["counters"]["short_by"]) == (0, standing.short_by)

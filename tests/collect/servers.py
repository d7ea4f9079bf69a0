"""Servers as processes that start quickly: the real commands, forked from a process with all imports.

The fork server belongs to the tests: the package's own has fewer imports and may already run. Killing a process loses
what it would lose anywhere.
"""

import contextlib
import multiprocessing
import os
import resource
import secrets
import signal
import sys
import time
from multiprocessing import forkserver
from pathlib import Path
from unittest import mock

from shuffledp.collect.client.making import messages_of
from shuffledp.collect.crypto.keys import write_key, write_secret
from shuffledp.collect.server.auth import hash_of, new_token
from shuffledp.collect.store import open_tally_store
from shuffledp.collect.store.tallies import from_bytes
from shuffledp.collect.task.report import seal_report
from shuffledp.ledger import Ledger
from tests.collect.chaos import answers, free_port, wait_until
from tests.collect.tasks import small_task

_CONTEXT = multiprocessing.get_context("forkserver")
_PRELOADED = forkserver.ForkServer()
_PRELOADED.set_forkserver_preload(["tests.collect.preloaded"])


def _run(arguments, log):
    """Run the command in the new process, with its output in a file."""
    os.setsid()  # a new process group, which can be killed as a whole
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = os.fdopen(0)  # uvicorn gives it to worker processes
    from tests.collect.preloaded import COMMAND

    COMMAND(arguments, prog_name="shuffledp")


class Server:
    """A command that can be killed and started again with the same arguments."""

    def __init__(self, name, arguments, *, port, folder):
        self.name, self.port, self.log = name, port, Path(folder) / f"{name}.log"
        self._arguments, self._process, self.kills = [str(word) for word in arguments], None, 0

    def start(self):
        self._process = _CONTEXT.Process(target=_run, args=(self._arguments, str(self.log)))
        with mock.patch.object(forkserver, "connect_to_new_process", _PRELOADED.connect_to_new_process):
            self._process.start()
        return self

    def revive(self):
        """Start the server again if it ended by itself, as a service manager does."""
        if not self._process.is_alive():
            self._end(signal.SIGKILL)
            self.start()

    def wait_until_ready(self):
        wait_until(lambda: not self._process.is_alive() or answers(self.port), what=f"{self.name} to start")
        assert self._process.is_alive(), f"{self.name} ended: {self.words[-2000:]}"
        return self

    def kill(self):
        """Send SIGKILL to the process group; the port is free afterwards."""
        self._end(signal.SIGKILL)
        self.kills += 1

    def limit(self, what, most):
        """Set a resource limit of the running process."""
        _, hard = resource.prlimit(self._process.pid, what)
        resource.prlimit(self._process.pid, what, (most, hard))

    def stop(self):
        """Send SIGTERM, as an operator would."""
        if self._process is not None and self._process.is_alive():
            os.kill(self._process.pid, signal.SIGTERM)
            self._process.join(20)
        self._end(signal.SIGKILL)

    def _end(self, how):
        if self._process is None:
            return
        deadline = time.monotonic() + 5
        while self._process.is_alive() and time.monotonic() < deadline:
            try:
                os.killpg(self._process.pid, how)
                break
            except ProcessLookupError:  # it has no process group yet
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._process.pid, how)
                break
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.join(20)
        self._process.close()
        self._process = None

    @property
    def words(self):
        return self.log.read_text() if self.log.exists() else ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Collection:
    """Files and servers of a task in a folder; clients and servers may connect through proxies.

    `stores` are the stores of the servers, in order. `reached` are ports of proxies, by the position of the server.
    """

    def __init__(self, folder, *, reached=None, stores=None, shufflers=1, workers=1, **task):
        self.folder = Path(folder)
        self.ports = [free_port() for _ in range(shufflers + 1)]
        reached = reached or {}
        addresses = tuple(f"http://127.0.0.1:{reached.get(position, port)}" for position, port in enumerate(self.ports))
        kept = small_task.__wrapped__(shufflers=shufflers, addresses=addresses, **task)
        self.task, self.keys, self.tokens = kept.task, kept.keys, [new_token() for _ in range(shufflers)]
        self.path = self.folder / "asked.task.json"
        self.path.write_text(self.task.to_json())
        self.names = [*(f"shuffler-{position}" for position in range(shufflers)), "analyzer"]
        self.stores = stores or [str(self.folder / f"{name}.db") for name in self.names]
        self.ledger = self.folder / "budget.ledger"
        Ledger.create(self.ledger, epsilon=task.get("epsilon", 1.0), delta=task.get("delta", 1e-6), population="tests")
        for name, key in zip(self.names, self.keys, strict=True):
            write_key(key, self.folder / f"{name}.key")
        for name, token in zip(self.names[1:], self.tokens, strict=True):
            write_secret(self.folder / f"{name}.token", token)
        self.servers = [self.server(position) for position in range(shufflers + 1)]

    def server(self, position, *, port=None, name=None, more=()):
        """The server at a position; a second process of it has another name and port."""
        own = self.names[position]
        port = self.ports[position] if port is None else port
        words = ["analyzer" if own == "analyzer" else "shuffler", "--task", self.path]
        words += ["--key", self.folder / f"{own}.key", "--store", self.stores[position], "--port", port]
        if position:
            words += ["--token", self.folder / f"{own}.token"]
        if own == "analyzer":
            words += ["--ledger", self.ledger]
        else:
            words += ["--next", hash_of(self.tokens[position]).hex()]
        return Server(name or own, [*words, *more], port=port, folder=self.folder)

    def report(self, answer):
        """A report of a person, and the messages in it."""
        messages = messages_of(self.task, answer)
        now = int(time.time())
        moment = now - now % self.task.time_precision
        return seal_report(self.task, messages, report_id=secrets.token_bytes(16), time=moment), messages

    def tallies(self):
        """The analyzer's tallies, by batch."""
        with open_tally_store(self.stores[-1]) as store:
            return [from_bytes(kept.tally) for kept in store.tallies(self.task.id)]

    def __enter__(self):
        for server in self.servers:
            server.start()
        for server in self.servers:
            server.wait_until_ready()
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.stop()


def counts_of(task, tally):
    """Counts of every kind of message: by value, or by message where those are hashed."""
    if task.protocol_used.name == "hashed":
        return dict(zip(tally.symbols.tolist(), tally.counts.tolist(), strict=True))
    return tally.dense(bins=task.protocol.bins).counts.tolist()

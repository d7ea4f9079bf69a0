"""What the commands of both servers are given: tasks, and the hop from which batches are pulled.

Several processes that serve the same application.

They share one listening socket, so that none of the connections that wait in it is lost when one process ends. One
that ends by itself is started again, and one whose parent is gone stops.

Serving an application: one process or several, with or without TLS, until it is told to stop.

A stop (SIGTERM, SIGINT, SIGHUP) finishes the requests under way and then the application's own work; whoever sends
the signal again meanwhile does no harm.
"""

from __future__ import annotations

import os
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

import uvicorn
from starlette.types import ASGIApp

from shuffledp.collect.crypto.keys import KeyPair, read_word
from shuffledp.collect.server.observability import log, log_ready, quiet_libraries
from shuffledp.collect.server.pull import Upstream
from shuffledp.collect.task import Task, read_task
from shuffledp.errors import BrokenPromiseError, DataError, ParameterError


def read_tasks(paths: Sequence[Path]) -> list[Task]:
    """The tasks of files, which must be different ones."""
    if not paths:
        raise ParameterError("--task is missing: a server needs at least one task")
    tasks = [read_task(path) for path in paths]
    if len({task.id for task in tasks}) < len(tasks):
        raise ParameterError("--task names the same task twice: give each task once")
    return tasks


def check_served(task: Task) -> None:
    """Refuses a task that gives less privacy than it claims, in words for whoever runs a server."""
    try:
        task.check()
    except BrokenPromiseError as error:
        raise BrokenPromiseError(f"the task {task.name[:16]} cannot be served: {error}; make it anew") from None


def upstream_at(address: str, token: Path) -> Upstream:
    """The hop at an address, which knows the hash of the token in a file."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError(f"--upstream must be an address such as https://host:port, got {address!r:.80}")
    return Upstream(address, read_word(token))


def check_one_upstream(addresses: Iterable[str]) -> None:
    """Refuses hops of which each would learn the token that opens the batches of the others."""
    if len(set(addresses)) > 1:
        raise ParameterError(
            "the tasks come from different shufflers, and each of them would learn the one --token: run one server for "
            "each, with a token of its own"
        )


def warn_of_shared_keys(keys: Iterable[KeyPair]) -> None:
    """Logs that a key is used by more than one task: destroyed with the first, it is missing for the other."""
    public = [key.public for key in keys]
    if len(set(public)) < len(public):
        log("one key is used by several tasks: keys belong to one task, and are destroyed with it; make new ones")


_PAUSE = 0.5
"""Seconds between looks at whether processes live, and before one that ended is started again."""


class Workers:
    """The processes of a server, numbered from 0."""

    def __init__(
        self, make_app: MakeApp, listener: socket.socket, certificate: Certificate | None, number: int
    ) -> None:
        self._make_app, self._listener, self._certificate = make_app, listener, certificate
        self._context = get_context("spawn")  # not forked: libraries have threads, whose locks a fork would copy
        self._running: dict[int, tuple[BaseProcess, Connection]] = {}
        self._number = number
        self._stopping = False

    def run(self, ready: Callable[[], None]) -> None:
        """Until a signal."""
        with signals_handled(self._stop):
            try:
                for number in range(self._number):
                    self._start(number)
                if all(self._has_started(number) for number in range(self._number)):
                    ready()
                    self._watch()
                elif not self._stopping:
                    raise DataError("a process of the server ended before it was ready: the lines above say why")
            finally:
                self._end()

    def _stop(self, sig: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _start(self, number: int) -> None:
        ours, theirs = self._context.Pipe()
        arguments = (self._make_app, number, self._listener, self._certificate, theirs)
        process = self._context.Process(target=_work, args=arguments, name=f"shuffledp-{number}")
        process.start()
        theirs.close()
        self._running[number] = process, ours

    def _has_started(self, number: int) -> bool:
        process, pipe = self._running[number]
        while process.is_alive() and not self._stopping:
            if pipe.poll(_PAUSE):
                try:
                    return bool(pipe.recv())
                except EOFError:
                    return False
        return False

    def _watch(self) -> None:
        while not self._stopping:
            connection.wait([process.sentinel for process, _ in self._running.values()], timeout=_PAUSE)
            for number, (process, pipe) in list(self._running.items()):
                if not process.is_alive() and not self._stopping:
                    log("process ended and is started again", number=number, code=process.exitcode or 0)
                    pipe.close()
                    time.sleep(_PAUSE)
                    self._start(number)

    def _end(self) -> None:
        self._listener.close()  # whoever comes now is refused at once, and does not wait for nobody
        for _, pipe in self._running.values():
            pipe.close()  # which they take for the word to stop
        for process, _ in self._running.values():
            process.join(2 * GRACE)
            if process.is_alive():
                process.kill()
                process.join()


def _work(
    make_app: MakeApp, number: int, listener: socket.socket, certificate: Certificate | None, pipe: Connection
) -> None:
    """One process of several, until its parent closes the pipe or is gone."""
    for kind in SIGNALS:
        signal.signal(kind, signal.SIG_IGN)  # until the server is there: the parent has them too, and tells
    quiet_libraries()
    server = Server(config_of(make_app(number), certificate), lambda: pipe.send(os.getpid()))

    def watch() -> None:
        try:
            pipe.recv()
        except (EOFError, OSError):
            server.should_exit = True

    threading.Thread(target=watch, daemon=True).start()
    server.run([listener])


MOST_WORKERS = 64
"""More processes than this on one machine only wait for the same disk."""

_BACKLOG = 2048
"""Connections that may wait while all processes are busy."""

GRACE = 60
"""Seconds for requests under way: the longest a store lets somebody wait."""

_KEEP_ALIVE = 30
"""Seconds: a next hop asks again within it, on the same connection."""

SIGNALS = (signal.SIGTERM, signal.SIGINT, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))
"""That stop a server in good order."""

MakeApp = Callable[[int], ASGIApp]
"""Makes the application in the process of this number; with several processes it must be picklable."""


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Files of TLS: the certificate with its chain, and its private key."""

    certificate: Path
    key: Path

    def check(self) -> None:
        """Refuses files that are none, or do not belong together."""
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key)
        except OSError as error:
            raise DataError(
                f"{self.certificate} and {self.key} are no certificate and its key: {_why(error)}"
            ) from None


def _why(error: OSError) -> str:
    """Why a certificate cannot be used; the library of TLS says it in its own words."""
    if not isinstance(error, ssl.SSLError):
        return error.strerror or type(error).__name__
    if error.reason == "KEY_VALUES_MISMATCH":
        return "they do not fit, the private key is that of another certificate"
    return "one of them is not in the form PEM, or they are the wrong way round"


def serve(
    make_app: MakeApp, *, port: int, host: str = "127.0.0.1", workers: int = 1, certificate: Certificate | None = None
) -> None:
    """Serves until a signal; port 0 is one that the system chooses, and is told in the line that says `ready`."""
    if not 1 <= workers <= MOST_WORKERS:
        raise ParameterError(f"--workers must be from 1 to {MOST_WORKERS}, got {workers}")
    if certificate is not None:
        certificate.check()
    with listening(host, port) as listener:
        address = _address(listener, host, tls=certificate is not None)
        if workers == 1:
            quiet_libraries()
            Server(config_of(make_app(0), certificate), lambda: log_ready(address)).run([listener])
        else:
            Workers(make_app, listener, certificate, workers).run(lambda: log_ready(address))
    log("stopped")


@contextmanager
def served(
    app: ASGIApp, *, host: str = "127.0.0.1", port: int = 0, certificate: Certificate | None = None
) -> Iterator[str]:
    """Serves in a thread of this process, at a port that the system chooses unless it is given; gives the address."""
    with listening(host, port) as listener:
        started = threading.Event()
        server = Server(config_of(app, certificate), started.set)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            while not started.wait(0.05):
                if not thread.is_alive():
                    raise DataError("the server could not be started")
            yield _address(listener, host, tls=certificate is not None)
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket; refused if the port is taken or the host is not of this machine."""
    if not 0 <= port < 2**16:
        raise ParameterError(f"--port must be from 0 to 65535, got {port}: cannot listen there; 0 is any")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ParameterError(
            f"cannot listen at port {port} of {host}: {error.strerror}; choose another with --port, or 0 for any"
        ) from None
    with listener:
        yield listener


def _address(listener: socket.socket, host: str, *, tls: bool) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"{'https' if tls else 'http'}://{name}:{listener.getsockname()[1]}"


def config_of(app: ASGIApp, certificate: Certificate | None) -> uvicorn.Config:
    """How every process serves."""
    return uvicorn.Config(
        app,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # nobody wants to know where a request came from
        server_header=False,
        date_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        ssl_certfile=certificate.certificate if certificate else None,
        ssl_keyfile=certificate.key if certificate else None,
    )


class Server(uvicorn.Server):
    """Uvicorn, which says when it is ready, and whose stop by a signal is an orderly end and no interrupt."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Says that it is ready when it is."""
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Until the end."""
        with signals_handled(self.handle_exit):
            yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stops, however often it is told to."""
        self.should_exit = True


@contextmanager
def signals_handled(handle: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Signals to stop are handled like this meanwhile; in a thread they are left alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {kind: signal.signal(kind, handle) for kind in SIGNALS}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)

"""Serve an application with uvicorn: in one process or several, with or without TLS, until a signal.

A signal lets the requests in flight finish, then the application's own work. Several processes share one listening
socket under uvicorn's supervisor, and one of them runs the background work of the server.
"""

from __future__ import annotations

import fcntl
import logging
import multiprocessing
import os
import signal
import socket
import ssl
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from shuffledp.collect.server.observability import Event, log, log_error, log_ready, quiet_libraries
from shuffledp.errors import DataError, ParameterError

MOST_WORKERS = 64
"""More processes than this on one machine only wait for the same disk."""

_BACKLOG = 2048
"""Connections that may wait while all processes are busy."""

GRACE = 60
"""Seconds for the requests in flight: the longest that a store lets a request wait."""

_KEEP_ALIVE = 30
"""Seconds: the next server polls within it, on the same connection."""

_HUNG = 30
"""Seconds without an answer after which a worker is killed: longer than mixing a large batch holds the interpreter."""

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that stop a server gracefully."""

MakeApp = Callable[[bool], ASGIApp]
"""Make the application of a process; the argument says whether the process runs the server's background work.

It must be picklable with several workers: each makes its own application, so that no key crosses processes.
"""


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Files for TLS: the certificate with its chain, and its private key."""

    certificate: Path
    key: Path

    def check(self) -> None:
        """Refuse files that are unreadable or do not belong together."""
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key)
        except OSError as error:
            raise DataError(
                f"{self.certificate} and {self.key} must be a certificate and its private key: {_tls_error(error)}"
            ) from None


def _tls_error(error: OSError) -> str:
    if not isinstance(error, ssl.SSLError):
        return error.strerror or type(error).__name__
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the private key belongs to another certificate"
    return "one of them is not in PEM format, or they are swapped"


def serve(
    make_app: MakeApp, *, port: int, host: str = "127.0.0.1", workers: int = 1, certificate: Certificate | None = None
) -> None:
    """Serve until a signal. With port 0 the system chooses the port; the log line `ready` has the address."""
    if not 1 <= workers <= MOST_WORKERS:
        raise ParameterError(f"workers must be from 1 to {MOST_WORKERS}, got {workers}")
    if certificate is not None:
        certificate.check()
    quiet_libraries()
    with listening(host, port) as listener:
        address = address_of(listener, host, tls=certificate is not None)
        if workers == 1:
            Server(config_of(make_app(True), certificate), lambda: log_ready(address)).run([listener])
        else:
            _serve_with_workers(make_app, listener, address, workers=workers, certificate=certificate)
    log(Event.STOPPED)


def _serve_with_workers(
    make_app: MakeApp, listener: socket.socket, address: str, *, workers: int, certificate: Certificate | None
) -> None:
    with shared_folder() as folder:
        (lock := folder / "background").touch(mode=0o600)
        config = config_of(_WorkerApp(make_app, lock), certificate, workers=workers)
        supervisor = Supervisor(config, listener, lambda: log_ready(address))
        supervisor.run()
    if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
        raise DataError("a worker process could not start: the log lines above say why")


@contextmanager
def shared_folder() -> Iterator[Path]:
    """A temporary folder for all processes of a server, until the end of the `with`."""
    with tempfile.TemporaryDirectory(prefix="shuffledp-") as folder:
        held = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_SH)  # systemd-tmpfiles deletes old folders of /tmp, except locked ones
            yield Path(folder)
        finally:
            os.close(held)


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket; refused if the port is taken or the host is not an address of this machine."""
    if not 0 <= port < 2**16:
        raise ParameterError(f"port must be from 0 to 65535, got {port}: cannot listen there; 0 chooses a free port")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ParameterError(
            f"cannot listen at port {port} of {host}: {_cause(error)}; choose another port, or 0 for a free one"
        ) from None
    with listener:
        yield listener


def _cause(error: OSError) -> str:
    # the message of `create_server` repeats the address
    if error.errno is None or error.errno < 0:  # a number of getaddrinfo
        return "the host name cannot be resolved"
    return os.strerror(error.errno)


def address_of(listener: socket.socket, host: str, *, tls: bool) -> str:
    """The address of a listening socket."""
    name = f"[{host}]" if ":" in host else host
    return f"{'https' if tls else 'http'}://{name}:{listener.getsockname()[1]}"


def config_of(
    app: ASGIApp | Callable[[], ASGIApp], certificate: Certificate | None, *, workers: int = 1
) -> uvicorn.Config:
    """The configuration of uvicorn; with several workers `app` is a function that makes the application."""
    return uvicorn.Config(
        app,
        factory=workers > 1,
        workers=workers,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # the server must not learn where a request came from
        server_header=False,
        date_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        timeout_worker_healthcheck=_HUNG,
        ssl_certfile=certificate.certificate if certificate else None,
        ssl_keyfile=certificate.key if certificate else None,
    )


class Server(uvicorn.Server):
    """Uvicorn's server; it calls `ready` once it answers, and a signal stops it without an exception."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer."""
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle the signals while the server runs; uvicorn would raise them again at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {kind: signal.signal(kind, self.handle_exit) for kind in SIGNALS}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop gracefully, also when the signal is repeated."""
        self.should_exit = True


class Supervisor(Multiprocess):
    """Uvicorn's supervisor of worker processes; it calls `ready` once all of them answer."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket, ready: Callable[[], None]) -> None:
        super().__init__(config, [listener])
        self._ready, self._is_ready = ready, False

    def keep_subprocess_alive(self) -> None:
        """Start workers that died again, and log that."""
        before = list(self.processes)
        for process in before:
            process.child_conn.close()  # or the end of a worker would be noticed only after _HUNG seconds
        super().keep_subprocess_alive()
        for number, (old, new) in enumerate(zip(before, self.processes, strict=True)):
            if old is not new:
                log(Event.PROCESS_RESTARTED, level=logging.WARNING, number=number, code=old.exitcode or 0)
        if not self._is_ready and all(process.is_ready(_HUNG) for process in self.processes):
            self._is_ready = True
            self._ready()

    def terminate_all(self) -> None:
        """Stop the workers; new connections are refused at once instead of waiting in the backlog."""
        for listener in self.sockets:
            listener.close()
        super().terminate_all()

    def handle_hup(self) -> None:
        """Stop, as with one process; uvicorn would restart the workers."""
        self.should_exit.set()


@dataclass(frozen=True)
class _WorkerApp:
    make_app: MakeApp
    lock: Path

    def __call__(self) -> ASGIApp:
        quiet_libraries()
        for kind in (signal.SIGINT, signal.SIGHUP):
            signal.signal(kind, signal.SIG_IGN)  # a terminal sends these to the parent too, which stops the workers
        threading.Thread(target=_stop_with_parent, daemon=True).start()
        try:
            return self.make_app(_lock(self.lock))
        except Exception as error:
            log_error(Event.CANNOT_START, error)
            sys.exit(STARTUP_FAILURE)


def _stop_with_parent() -> None:
    """Stop this worker once its parent has ended: uvicorn's workers would go on without it."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _lock(path: Path) -> bool:
    """Whether this is the worker that runs the background work: the first to lock the file.

    The lock ends with the process, so that the one that is started in its place gets it.
    """
    file = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return False
    return True

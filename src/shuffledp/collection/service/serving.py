"""Serving an application: one process or several, with or without TLS, until it is told to stop.

A stop (SIGTERM, SIGINT, SIGHUP) finishes the requests under way and then the application's own work; whoever sends
the signal again meanwhile does no harm.
"""

from __future__ import annotations

import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from shuffledp.collection.service.logs import log, log_ready, quiet_libraries
from shuffledp.errors import DataError, ParameterError

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
            from shuffledp.collection.service.workers import Workers

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

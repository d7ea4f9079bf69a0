"""Several processes that serve the same application.

They share one listening socket, so that none of the connections that wait in it is lost when one process ends. One
that ends by itself is started again, and one whose parent is gone stops.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import FrameType

from shuffledp.collection.service.logs import log, quiet_libraries
from shuffledp.collection.service.serving import (
    GRACE,
    SIGNALS,
    Certificate,
    MakeApp,
    Server,
    config_of,
    signals_handled,
)
from shuffledp.errors import DataError

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

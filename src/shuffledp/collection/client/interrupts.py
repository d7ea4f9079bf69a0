"""Interrupts that wait: one in the midst of starting a process would leave a process that nobody knows of."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_KINDS = ("SIGINT", "SIGTERM", "SIGHUP")
"""With which a person, or a system that shuts down, asks a program to end; Windows does not have the last."""


@contextmanager
def interrupts_held() -> Iterator[None]:
    """An interrupt that comes meanwhile comes at the end instead.

    Their handlers are exchanged rather than the signals blocked: Python runs handlers in the main thread whichever
    thread a signal reached, and libraries have threads that block none.
    """
    if not _is_interrupted():
        yield
        return
    came: list[int] = []
    kinds = [getattr(signal, name) for name in _KINDS if hasattr(signal, name)]
    handlers = {kind: handler for kind in kinds if callable(handler := signal.getsignal(kind))}
    try:
        for kind in handlers:
            signal.signal(kind, lambda number, _: came.append(number))
        yield
    finally:
        for kind, handler in handlers.items():
            signal.signal(kind, handler)
    if came:
        signal.raise_signal(came[0])


@contextmanager
def tasks_cancelled_by_interrupts() -> Iterator[None]:
    """Around `asyncio.run`: it ends its tasks in order when Ctrl-C comes, but only where Python's own handler is."""
    handler = signal.getsignal(signal.SIGINT)
    if not _is_interrupted() or not callable(handler):
        yield
        return
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _is_interrupted() -> bool:
    """Only the main thread is."""
    return threading.current_thread() is threading.main_thread()

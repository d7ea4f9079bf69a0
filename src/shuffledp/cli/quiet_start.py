"""Spark without what its Java machine writes to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_start() -> Iterator[None]:
    """Keeps the Java machine, which writes to stderr as long as it lives, from showing start-up notes or data."""
    sys.stderr.flush()
    ours = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123  (/dev/null)
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)

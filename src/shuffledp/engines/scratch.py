"""Temporary folders for copies of people's data, which are gone when the program ends, however it is interrupted."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import weakref
from pathlib import Path

PREFIX = "shuffledp-"


class Scratch:
    """A folder that is its owner's alone, removed by `close`, with this object, or at the end of the program.

    Its removal is arranged before it is made: an interrupt may come while the operating system makes it.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.gettempdir(), PREFIX + secrets.token_hex(8))
        self.close = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700)

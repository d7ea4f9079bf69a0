"""What a planted fault is: a piece of the package's text, what replaces it, and the tests that should notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

PACKAGE_FOLDER = "src/shuffledp"
CLIENT = "clients/javascript"
"""Where faults are planted: the package, and the client in JavaScript."""


class FaultError(Exception):
    """A fault that cannot be planted, or tests that say nothing about it: neither caught nor survived."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A small change of the package that would harm somebody.

    `harm` says in a sentence what would go wrong for people. `old` occurs exactly once in `file`, a path below
    src/shuffledp or one that begins with clients/javascript, and `new` replaces it. `tests` are the ids of the tests
    that should notice, a few seconds' worth. A fault that no test can notice says in `equivalent` why it harms nobody.
    One after which the package cannot even be imported says so in `breaks_imports`: otherwise an error at collection is
    not taken for a test that noticed.
    """

    name: str
    harm: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
    equivalent: str = ""
    breaks_imports: bool = False

    @property
    def path(self) -> str:
        """The file below the folder of the whole project."""
        return self.file if PurePosixPath(self.file).is_relative_to(CLIENT) else f"{PACKAGE_FOLDER}/{self.file}"

    def plant(self, text: str) -> str:
        """The text of the file with the fault in it."""
        found = text.count(self.old)
        if found != 1:
            raise FaultError(f"{self.name}: the text to replace occurs {found} times in {self.file}, not once")
        return text.replace(self.old, self.new)

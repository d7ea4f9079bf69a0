"""A mutant: a named function or constant, a change inside it, and the tests that must catch it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mutants import javascript_rewrite, python_rewrite
from mutants.errors import MutantError


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A small change that would harm privacy or exactness.

    `target` is "dotted.module:qualified.name", or "path/to/file.js:name" for the JavaScript client. `pattern` must
    match exactly once inside the target (see `python_rewrite` and `javascript_rewrite`) and `replacement` takes its
    place. `tests` are ids of pytest that take a few seconds together; at least one must fail. `harm` says in one
    sentence what would go wrong.
    """

    name: str
    harm: str
    target: str
    pattern: str = ""
    replacement: str
    tests: tuple[str, ...]

    @property
    def path(self) -> str:
        """The file of the target, below the folder of the project."""
        module, _, _ = self.target.partition(":")
        return module if module.endswith(".js") else f"src/{module.replace('.', '/')}.py"

    def apply(self, root: Path) -> str:
        """Return the changed text of the file, which is read below `root`."""
        rewrite = javascript_rewrite.rewrite if self.path.endswith(".js") else python_rewrite.rewrite
        _, _, name = self.target.partition(":")
        try:
            return rewrite((root / self.path).read_text(encoding="utf-8"), name, self.pattern, self.replacement)
        except (OSError, SyntaxError, MutantError) as error:
            raise MutantError(f"{self.name}: {self.target}: {error}") from error

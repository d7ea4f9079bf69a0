"""Files that a command would overwrite are kept unless it is told otherwise: a release cannot be made again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from shuffledp.errors import ParameterError


def keep_existing(paths: Iterable[Path], *, force: bool) -> None:
    """Refuses to overwrite any of the paths, before anything is drawn; with `force` all may be overwritten."""
    if existing := [str(path) for path in paths if path.exists() and not force]:
        they = "exists" if len(existing) == 1 else "exist"
        raise ParameterError(
            f"{' and '.join(existing)} already {they}: give another name, or --force to overwrite what is there"
        )


def refuse_repeated(paths: Iterable[Path]) -> None:
    """Refuses an output that is given twice, also by another way to it."""
    seen = set()
    for path in paths:
        if path.resolve() in seen:
            raise ParameterError(f"{path} is given twice as an output: give each of them another name")
        seen.add(path.resolve())

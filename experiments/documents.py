"""Generated parts of documents: the lines between <!-- name --> and <!-- /name -->."""

from __future__ import annotations

import re
from pathlib import Path

from shuffledp.atomic_file import write_whole
from shuffledp.errors import DataError

ROOT = Path(__file__).parent.parent
"""The root of the repository."""


def marked_documents(name: str, root: Path = ROOT) -> list[Path]:
    """Return README.md and the pages of docs that have the markers; at least one must."""
    documents = [path for path in (root / "README.md", *sorted((root / "docs").rglob("*.md"))) if path.exists()]
    found = [path for path in documents if _part(name).search(path.read_text(encoding="utf-8"))]
    if not found:
        raise DataError(f"no document in {root} has a line <!-- {name} --> and, below it, a line <!-- /{name} -->")
    return found


def rewrite(document: Path, name: str, text: str) -> None:
    """Replace the text between the markers."""
    before = document.read_text(encoding="utf-8")
    after, parts = _part(name).subn(lambda part: f"{part[1]}\n{text.strip()}\n{part[2]}", before)
    if not parts:
        raise DataError(f"{document} has no markers <!-- {name} --> and <!-- /{name} -->")
    write_whole(document, after.encode())


def _part(name: str) -> re.Pattern[str]:
    """Match markers on their own lines only, so that a sentence can mention them."""
    return re.compile(rf"(?ms)^(<!-- {re.escape(name)} -->)$.*?^(<!-- /{re.escape(name)} -->)$")

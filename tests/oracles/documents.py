"""Pages of the documentation, whose figures are checked."""

from pathlib import Path

_DOCS = Path(__file__).parents[2] / "docs"


def document(name):
    """The text of a page, wherever in the documentation it is."""
    (path,) = _DOCS.rglob(name)
    return path.read_text()

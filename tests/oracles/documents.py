"""Pages of the documentation, for tests of their figures."""

from pathlib import Path

_DOCS = Path(__file__).parents[2] / "docs"


def document(name):
    """Return the text of a page by its file name, in any folder of the documentation."""
    (path,) = _DOCS.rglob(name)
    return path.read_text()

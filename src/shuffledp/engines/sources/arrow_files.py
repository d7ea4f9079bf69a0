"""Arrow files, whole or as streams, as a stream of batches that is read piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from shuffledp.engines.sources.files import Files

_MAGIC = b"ARROW1"
"""How a whole file begins; a stream does not."""


def arrow_schema(path: str) -> Any:
    """The schema of an Arrow file."""
    import pyarrow

    with pyarrow.OSFile(path) as file:
        return _opened(file).schema


def plain_type(kind: Any) -> Any:
    """A type without how its values are laid out in memory, which says nothing about them."""
    import pyarrow

    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
    text = (pyarrow.types.is_large_string, pyarrow.types.is_string_view)
    return pyarrow.string() if any(is_text(kind) for is_text in text) else kind


class ArrowScan:
    """Makes a stream of the needed columns, which every file has with the same plain types."""

    def __init__(self, files: Files, needed: Sequence[str]) -> None:
        self._files, self._needed = files, list(needed)

    def __call__(self) -> Any:
        """A stream of Arrow batches."""
        import pyarrow

        first = arrow_schema(self._files.paths[0])
        schema = pyarrow.schema([(name, plain_type(first.field(name).type)) for name in self._needed])
        return pyarrow.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: Any) -> Iterator[Any]:
        import pyarrow

        for path in self._files.paths:
            with pyarrow.memory_map(path) as file:
                opened = _opened(file, self._needed)
                whole = hasattr(opened, "num_record_batches")
                for batch in map(opened.get_batch, range(opened.num_record_batches)) if whole else opened:
                    columns = [batch.column(name).cast(schema.field(name).type) for name in self._needed]
                    yield pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def _opened(file: Any, needed: Sequence[str] | None = None) -> Any:
    """A reader of a file or of a stream, of the needed columns only."""
    import pyarrow.ipc as ipc

    whole = file.read(len(_MAGIC)) == _MAGIC
    file.seek(0)
    read = ipc.open_file if whole else ipc.open_stream
    if needed is None:
        return read(file)
    names = read(file).schema.names
    file.seek(0)
    return read(file, options=ipc.IpcReadOptions(included_fields=[names.index(name) for name in needed]))

"""Count the messages of a search for texts on Apache Spark, where the messages of all levels do not fit one machine.

Every partition counts the messages that are consistent with the candidates of a level, and the driver adds the counts
(`estimators/text_search.py` needs no messages). Only candidates, which are public results of earlier levels, are sent
to the executors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.data.spark_files import clear_errors, needs_spark
from shuffledp.protocols.shuffled.hashed import HashedHistogram

_PARENTS_AT_ONCE = 512
"""Prefixes that are counted by one run: the counts of their pieces, some megabytes, come from every partition."""


class SparkCounts:
    """The counts of messages in a DataFrame with one column of whole numbers, `message`."""

    def __init__(self, protocol: HashedHistogram, messages: Any) -> None:
        needs_spark()
        self._protocol, self._messages = protocol, messages

    def supports(self, level: int, parents: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts of all values of some parents, as one row for each parent."""
        blocks = [parents[at : at + _PARENTS_AT_ONCE] for at in range(0, parents.size, _PARENTS_AT_ONCE)]
        found = [self._added(level, block, pieces=self._protocol.family.pieces) for block in blocks]
        return np.concatenate(found) if found else np.zeros((0, self._protocol.family.pieces), dtype=np.int64)

    def count(self, level: int, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts of some values."""
        return self._added(level, values, pieces=None)

    def _added(self, level: int, wanted: NDArray[np.int64], *, pieces: int | None) -> NDArray[np.int64]:
        """The sum of the counts of all partitions."""
        family = self._protocol.family
        shape = (wanted.size,) if pieces is None else (wanted.size, pieces)
        first, stop = level * family.messages, (level + 1) * family.messages

        def count(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow

            total = np.zeros(shape, dtype=np.int64)
            for batch in batches:
                messages = batch.column(0).to_numpy(zero_copy_only=False) - first
                total += (family.count if pieces is None else family.supports)(messages, wanted)
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array([total.tobytes()])], names=["counts"])

        column = self._messages["message"]
        with clear_errors():
            # [message: those of this level]
            chosen = self._messages.filter((column >= first) & (column < stop)).select("message")
            # [counts: one row for each partition]
            parts = chosen.mapInArrow(count, "counts binary").toArrow().column(0).to_pylist()
        added = np.zeros(shape, dtype=np.int64)
        for part in parts:
            added += np.frombuffer(part, dtype=np.int64).reshape(shape)
        return added

"""Where people's values are counted and their messages made: in this process, or on Apache Spark.

An engine holds one column, or several crossed, with one value or a set of values for each person, and offers a few
verbs. The cheap part of the analyzer, `estimate`, always runs in the calling process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.data.files import Files, find_files
from shuffledp.data.source import Source
from shuffledp.histogram.tally import Tally
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.protocol import MessageProtocol

Encode = Callable[[Any], NDArray[np.int64]]
"""From an Arrow array of values to their bins."""


class Engine(Protocol):
    """One value, or a set of a few, for each person.

    `encode` makes bins of values. Sets are then sets of bins, chosen when they are first asked for: two values of a
    person in one bin count once, and who is in too many bins keeps some of the bins.
    """

    @property
    def label_type(self) -> Any:
        """The Arrow type of the values; of several columns, that of structs."""

    def people(self) -> int:
        """How many people there are."""

    def counts(self, encode: Encode | None = None) -> Iterator[tuple[Any, NDArray[np.int64]]]:
        """The true histogram in batches: an Arrow array of different values, and how many people hold each.

        With `encode`, bins instead of values; one that occurs several times has the sum of its counts. The counting is
        done, once, when this is called; `people` then costs nothing.
        """

    def holdings(self, encode: Encode | None = None) -> dict[int, int]:
        """How many people hold 0, 1, ... values, or bins; numbers that nobody holds may be left out."""

    def tally(self, protocol: MessageProtocol, encode: Encode) -> Tally:
        """Makes the messages of every person, shuffles and counts them; of sets, a row of bins is a person."""

    def close(self) -> None:
        """Gives back what the engine holds: memory, temporary files, a Spark session that it started."""


def open_engine(source: Source, *, progress: Progress = quiet, rng: np.random.Generator | None = None) -> Engine:
    """Return the engine of a source; `rng` is for simulations with the local engine."""
    if source.engine == "spark":
        from shuffledp.data.spark import Spark

        return Spark(source, progress=progress)
    from shuffledp.data.duckdb import InProcess

    return InProcess(source, progress=progress, rng=rng)


__all__ = ["Encode", "Engine", "Files", "Source", "find_files", "open_engine"]

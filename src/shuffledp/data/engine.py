"""Reading people's values and counting them: on this machine with DuckDB, or on Apache Spark.

An engine holds one column, or several crossed, with one value or a set of values for each person. `estimate`, the
cheap part of the analysis, always runs in the calling process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.data.source import Source
from shuffledp.histogram.tally import Tally
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.protocol import MessageProtocol

Encode = Callable[[Any], NDArray[np.int64]]
"""Maps an Arrow array of values to their bins."""


class Engine(Protocol):
    """One value, or a set of a few, for each person.

    `encode` maps values to bins. Sets are then sets of bins, chosen at the first call: two values of a person in one
    bin count once, and a person in too many bins keeps a random choice of them.
    """

    @property
    def label_type(self) -> Any:
        """The Arrow type of the values; a struct type for several columns."""

    def replace_by_bins(self, encoders: Mapping[int, Encode]) -> None:
        """Replace the values of some of several columns, by their places, by bins, before anything is counted.

        Everything else then counts values of which a field is a bin: two values of a person in one bin count once.
        """

    def people(self) -> int:
        """Return the number of people."""

    def counts(self, encode: Encode | None = None) -> Iterator[tuple[Any, NDArray[np.int64]]]:
        """Return the true histogram in batches: an Arrow array of different values, and the number of people of each.

        With `encode`, bins instead of values; the counts of a bin that occurs several times add up. The call itself
        counts and caches the result; `people` is then free.
        """

    def holdings(self, encode: Encode | None = None) -> dict[int, int]:
        """Return how many people hold 0, 1, ... values, or bins; zeros may be left out.

        If the source counts people who have more values than count, the marker is one more.
        """

    def uncapped(self, encode: Encode | None = None) -> Iterator[tuple[Any, NDArray[np.int64], NDArray[np.int64]]]:
        """Return the true histogram, and beside it the number of people who have each value, without the cap.

        The source must have users. With `encode`, bins instead of values; both counts of a bin add up.
        """

    def tally(self, protocol: MessageProtocol, encode: Encode) -> Tally:
        """Make, shuffle and count the messages of all people; with sets, a row of bins is a person."""

    def close(self) -> None:
        """Free memory, temporary files and a Spark session that the engine started."""


def open_engine(source: Source, *, progress: Progress = quiet, rng: np.random.Generator | None = None) -> Engine:
    """Return the engine of a source; `rng` is for simulations with the local engine."""
    if source.engine == "spark":
        from shuffledp.data.spark import Spark

        return Spark(source, progress=progress)
    from shuffledp.data.duckdb import InProcess

    return InProcess(source, progress=progress, rng=rng)

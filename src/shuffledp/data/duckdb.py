"""The local engine: DuckDB reads and counts, numpy makes the messages, on all cores, in bounded memory."""

from __future__ import annotations

import glob
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shuffledp.data.arrow import ArrowScan, check_schemas
from shuffledp.data.engine import (
    Encode,
    bins_of_people,
    bounded,
    in_rows,
    last_value,
    select_rows,
    sizes_of,
)
from shuffledp.data.files import Files, Scratch, is_remote, named
from shuffledp.data.source import Source
from shuffledp.data.tables import Scan
from shuffledp.data.text_files import TextScan, has_key, values_of_lines, wrong_line
from shuffledp.data.where_sql import quoted_name, quoted_text
from shuffledp.errors import DataError, MissingExtraError
from shuffledp.histogram.shuffle import shuffle
from shuffledp.histogram.tally import Tally
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.protocol import MessageProtocol, decoded
from shuffledp.randomness import generator, random_words

_INTERRUPTED = "Query interrupted"
"""DuckDB's error after a KeyboardInterrupt during a query in the main thread."""

_MEMORY = "2GB"
"""Memory of DuckDB, beyond which it moves parts of a large count to temporary files."""

_ROWS_AT_ONCE = 1 << 18
"""Rows of an Arrow batch: a few megabytes."""

_MESSAGES_AT_ONCE = 1 << 23
"""Messages made at a time on one core: 64 megabytes."""

_SETS_AT_ONCE = 1 << 16
"""People of an Arrow batch of sets."""


class Sets(NamedTuple):
    """A query for the list of bins, if `encode` made them, or values that each person holds, and its `size`.

    The size counts the marker of people who have more values than count.
    """

    query: str
    encode: Encode | None


class InProcess:
    """Counts a source with DuckDB; makes and tallies messages batch by batch with numpy. `rng` is for simulations."""

    def __init__(self, source: Source, *, progress: Progress = quiet, rng: np.random.Generator | None = None) -> None:
        try:
            import duckdb
            import pyarrow
        except ImportError:
            raise MissingExtraError("duckdb and pyarrow", extra="files") from None
        self._source, self._progress, self._rng = source, progress, rng
        self._no_space, self._unreadable = duckdb.OutOfMemoryException, (duckdb.Error, pyarrow.ArrowException)
        self._scratch = Scratch()
        self._connection = duckdb.connect(
            config={
                "temp_directory": str(self._scratch.folder),
                "memory_limit": _MEMORY,
                # a simulation reads rows in order, so that the same seed chooses the same rows
                "preserve_insertion_order": rng is not None,
                **({} if rng is None else {"threads": 1}),
                "autoinstall_known_extensions": False,
            }
        )
        self._scan: Scan | None = None
        self._fields, self._user = source.names, source.user  # as the scan calls them
        self._scanned: Any = None
        self._counted = False
        self._sets: Sets | None = None
        self._refusals: list[DataError] = []
        try:
            with self._clear_errors():
                self._connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
                query = self._table()
                types = {name: kind for name, kind, *_ in self._run(f"DESCRIBE {query}")}
                self._all_rows = select_rows(query, source, fields=self._fields, user=self._user, types=types)
                self._rows = self._one_row_each()
                with self._reader(f"SELECT value FROM ({self._rows}) LIMIT 0") as reader:
                    self.label_type = reader.schema.field(0).type
        except BaseException:
            self.close()
            raise

    def replace_by_bins(self, encoders: Mapping[int, Encode]) -> None:
        """Replace the values of some of several columns by their bins."""
        fields = [f"value['{at}']" for at in range(len(self._fields))]
        with self._clear_errors():
            for at, encode in encoders.items():
                ((_, kind, *_),) = self._run(f"DESCRIBE SELECT {fields[at]} FROM ({self._rows})")
                connection: Any = self._connection
                connection.create_function(
                    f"bin_{at}",
                    _replacing(encode, self._refusals),
                    [kind],
                    "BIGINT",
                    type="arrow",
                    null_handling="special",
                )
                fields[at] = f"bin_{at}({fields[at]})"
        value = ", ".join(f"'{at}': {field}" for at, field in enumerate(fields))
        self._rows, self._all_rows = (
            f"SELECT {{{value}}} AS value, * EXCLUDE (value) FROM ({rows})" for rows in (self._rows, self._all_rows)
        )

    def people(self) -> int:
        """Return the number of people."""
        if self._sets is not None:
            query = f"SELECT count(*) FROM ({self._sets.query})"
        elif self._source.in_sets and self._source.user is not None:
            query = f"SELECT count(DISTINCT person) FROM ({self._rows})"
        elif self._counted:
            query = "SELECT sum(people)::BIGINT FROM counted"
        else:
            query = f"SELECT count(*) FROM ({self._rows})"
        with self._clear_errors():
            ((found,),) = self._run(query, "counting people")
        return found or 0

    def counts(self, encode: Encode | None = None) -> Iterator[tuple[Any, NDArray[np.int64]]]:
        """Return the true histogram in batches; DuckDB caches it."""
        values, encoded = f"SELECT value FROM ({self._rows})", False
        if self._source.in_sets:
            sets = self._hold(encode)
            values, encoded = f"SELECT unnest(held) AS value FROM ({sets.query})", sets.encode is not None
        if not self._counted:
            query = f"SELECT value, count(*) AS people FROM ({values}) GROUP BY value"
            with self._clear_errors():
                self._run(f"CREATE OR REPLACE TABLE counted AS {query}", "counting values")
            self._counted = True
        counted = self._stream("SELECT value, people FROM counted")
        for_bins = None if encoded else encode
        return (
            (batch.column(0) if for_bins is None else for_bins(batch.column(0)), _numbers(batch.column(1)))
            for batch in counted
        )

    def holdings(self, encode: Encode | None = None) -> dict[int, int]:
        """Return how many people hold 0, 1, ... values."""
        if not self._source.in_sets:
            return {1: self.people()}
        with self._clear_errors():
            query = f"SELECT size, count(*) FROM ({self._hold(encode).query}) GROUP BY ALL"
            return dict(self._run(query, "counting people"))

    def uncapped(self, encode: Encode | None = None) -> Iterator[tuple[Any, NDArray[np.int64], NDArray[np.int64]]]:
        """Return the true histogram, and beside it the number of people who have each value, without the cap."""
        kept = " AND kept" if self._source.in_sets else ""
        different = f"SELECT DISTINCT person, value FROM ({self._all_rows}) WHERE person IS NOT NULL{kept}"
        counted = self.counts(encode)
        if encode is not None:
            yield from ((bins, people, np.zeros_like(people)) for bins, people in counted)
            for batch in self._stream(f"SELECT list(value) FROM ({different}) GROUP BY person", at_once=_SETS_AT_ONCE):
                bins, people = bins_of_people(batch.column(0), encode)
                yield bins, np.zeros_like(people), people
            return
        capped = "SELECT value, people AS capped, 0 AS everybody FROM counted"
        both = f"{capped} UNION ALL SELECT value, 0, 1 FROM ({different})"
        sums = f"SELECT value, sum(capped)::BIGINT, sum(everybody)::BIGINT FROM ({both}) GROUP BY value"
        for batch in self._stream(sums):
            yield batch.column(0), _numbers(batch.column(1)), _numbers(batch.column(2))

    def tally(self, protocol: MessageProtocol, encode: Encode) -> Tally:
        """Make, shuffle and count messages on all cores: the tally of all is the sum over batches."""
        at_once = max(1, min(_ROWS_AT_ONCE, int(_MESSAGES_AT_ONCE / protocol.messages_per_user.expected)))
        nobody = np.empty((0, 1) if self._source.in_sets else 0, dtype=np.int64)
        total, done = decoded(protocol, protocol.tally(protocol.randomize(nobody))), 0

        def one_batch(bins: NDArray[np.int64]) -> Tally:
            return decoded(protocol, protocol.tally(shuffle(protocol.randomize(bins))))

        cores = os.cpu_count() or 1
        pool = ThreadPoolExecutor(cores)
        try:
            waiting: deque[tuple[int, Future[Any]]] = deque()
            for bins in self._bins(encode, at_once, marker=last_value(protocol)):
                waiting.append((len(bins), pool.submit(one_batch, bins)))
                while len(waiting) > cores:  # keep the messages of only a few batches in memory
                    people, finished = waiting.popleft()
                    total, done = total + finished.result(), done + people
                    self._progress("sending messages", done / protocol.users)
            for _, finished in waiting:
                total = total + finished.result()
        finally:
            pool.shutdown(cancel_futures=True)
        self._progress("sending messages", 1.0)
        return total

    def close(self) -> None:
        """Free memory and remove temporary files."""
        self._scan = self._scanned = None  # releases the DuckDB connection of the data
        self._connection.close()
        self._scratch.close()

    def _bins(self, encode: Encode, at_once: int, *, marker: int) -> Iterator[NDArray[np.int64]]:
        """Bins, or rows of them, in batches of at most this number of people."""
        if self._source.in_sets:
            sets = self._hold(encode)
            values_only = None if sets.encode is not None else encode
            held = self._stream(f"SELECT held, size FROM ({sets.query})", at_once=_SETS_AT_ONCE)
            parts = (in_rows(batch, values_only, marker=marker) for batch in held)
        else:
            parts = (encode(batch.column(0)) for batch in self._stream(f"SELECT value FROM ({self._rows})"))
        for bins in parts:
            for start in range(0, len(bins), at_once):
                yield bins[start : start + at_once]

    # sets ---------------------------------------------------------------------------------------------------------

    def _hold(self, encode: Encode | None) -> Sets:
        """What each person holds; the random choice is cached."""
        if self._source.user is None:  # a row is a person, who holds its value or nothing: in any bin at most once
            held = "CASE WHEN kept THEN [value] ELSE [] END AS held, kept::INTEGER AS size"
            self._sets = Sets(f"SELECT {held} FROM ({self._rows})", None)
        elif self._sets is None or self._sets.encode is not encode:
            self._counted = False
            with self._clear_errors():
                self._run(
                    "CREATE OR REPLACE TABLE gathered AS "
                    "SELECT coalesce(list(value) FILTER (WHERE kept), []) AS held FROM (SELECT DISTINCT person, kept, "
                    f"CASE WHEN kept THEN value END AS value FROM ({self._rows}) WHERE person IS NOT NULL) "
                    "GROUP BY person",
                    "gathering everybody's values",
                )
                self._bound(encode)
                self._run("DROP TABLE gathered")
            self._sets = Sets("SELECT held, size FROM held", encode)
        return self._sets

    def _bound(self, encode: Encode | None) -> None:
        import pyarrow

        rng, most = generator(self._rng), self._source.values_per_person
        with self._reader("SELECT held FROM gathered", at_once=_SETS_AT_ONCE) as reader:
            nobody = pyarrow.RecordBatch.from_arrays([pyarrow.array([], reader.schema.field(0).type)], ["held"])
            for batch in chain([nobody], reader):
                lists = batch.column(0)
                held = bounded(sizes_of(lists), lists.flatten(), most=most, rng=rng, encode=encode)
                sizes = np.minimum(held.different, self._source.bins_per_person)
                self._connection.register("part", pyarrow.table({"held": held.lists, "size": sizes}))
                made = "CREATE OR REPLACE TABLE held AS" if batch is nobody else "INSERT INTO held"
                self._connection.execute(f"{made} SELECT held, size FROM part")
        self._connection.unregister("part")

    # reading ------------------------------------------------------------------------------------------------------

    def _one_row_each(self) -> str:
        if self._source.in_sets or self._source.user is None:
            return self._all_rows
        self._choose_rows(self._all_rows)
        return "SELECT value FROM chosen"

    def _choose_rows(self, rows: str) -> None:
        """One row of each person, uniformly at random: the one with the smallest random word."""
        import pyarrow

        rng = generator(self._rng)

        def words(rows: Any) -> Any:
            return pyarrow.array(random_words(len(rows), rng))

        connection: Any = self._connection
        connection.create_function(
            "random_word", words, ["BOOLEAN"], "UBIGINT", type="arrow", side_effects=True, null_handling="special"
        )
        self._run(
            # wrapped in a struct, since arg_min passes over rows whose value is missing
            "CREATE TABLE chosen AS SELECT arg_min({'value': value}, random_word(true)).value AS value "
            f"FROM ({rows}) WHERE person IS NOT NULL GROUP BY person",
            "choosing a row of each person",
        )
        self._connection.remove_function("random_word")

    def _table(self) -> str:
        data, needed = self._source.data, self._source.needed
        if not isinstance(data, Files):
            self._scan, self._fields, self._user = data.scan, data.fields, data.user
            return "SELECT * FROM scanned"
        if remote := next(filter(is_remote, data.paths), None):
            scheme = " and the scheme s3a://" if remote.lower().startswith("s3://") else ""
            raise DataError(
                f"{remote} is not on this machine: read it on Spark with engine spark{scheme}, or copy the files first"
            )
        if data.format in ("parquet", "arrow"):
            check_schemas(data, needed)
        if data.format == "parquet":
            files = "[" + ", ".join(quoted_text(glob.escape(path)) for path in data.paths) + "]"
            columns = ", ".join(map(quoted_name, needed))
            # names of folders such as day=1 are no columns: their types would be guessed
            return f"SELECT {columns} FROM read_parquet({files}, union_by_name = true, hive_partitioning = false)"
        if data.format == "json":
            self._check_keys(data)
        self._scan = ArrowScan(data, needed) if data.format == "arrow" else TextScan(data, needed)
        return values_of_lines(needed) if data.format == "json" else "SELECT * FROM scanned"

    def _check_keys(self, files: Files) -> None:
        """Refuse a file without the column in any line."""
        for path in files.paths:
            self._scan = TextScan(replace(files, paths=(path,)), [])
            for name in self._source.needed:
                if not self._run(has_key(name)):
                    self._refuse_wrong_line(replace(files, paths=(path,)))
                    raise DataError(f"there is no column {name!r} in any line of {named(path)}")

    def _refuse_wrong_line(self, files: Files) -> None:
        """Refuse the first line of JSON files that is no object or has a nested value."""
        for path in files.paths:
            self._scan = TextScan(replace(files, paths=(path,)), [])
            for number, reason in self._run(wrong_line(self._source.needed)):
                raise DataError(f"{named(path)} cannot be read as json: line {number:,} {reason}")

    # running ------------------------------------------------------------------------------------------------------

    def _run(self, query: str, what: str = "") -> Any:
        """Run a query in another thread; this one reports progress and handles interrupts."""
        outcome: list[Any] = []
        finished = threading.Event()  # a thread's own join() may return too early after an interrupt

        def work() -> None:
            try:
                outcome.append(self._connection.execute(query).fetchall())
            except BaseException as error:
                outcome.append(error)
            finally:
                finished.set()

        self._register(self._connection)
        threading.Thread(target=work, daemon=True).start()
        try:
            while not finished.wait(0.1):
                scanned = self._scan.done if isinstance(self._scan, TextScan) else None
                done = self._connection.query_progress() / 100 if scanned is None else scanned
                if what and done > 0:  # below 0 where it is unknown
                    self._progress(what, done)
        except BaseException:
            self._connection.interrupt()
            finished.wait()
            raise
        if what:
            self._progress(what, 1.0)
        if isinstance(outcome[0], BaseException):
            raise outcome[0]
        return outcome[0]

    def _stream(self, query: str, at_once: int = _ROWS_AT_ONCE) -> Iterator[Any]:
        with self._clear_errors(), self._reader(query, at_once) as reader:
            yield from reader

    @contextmanager
    def _reader(self, query: str, at_once: int = _ROWS_AT_ONCE) -> Iterator[Any]:
        """A query's result on its own connection, so that other queries can run before it is read."""
        with self._connection.cursor() as cursor:
            self._register(cursor)
            yield cursor.sql(query).to_arrow_reader(at_once)

    def _register(self, connection: Any) -> None:
        """Open the scanned source again: a stream can be read only once, and some can be open only once."""
        if self._scan is not None:
            if hasattr(self._scanned, "close"):
                self._scanned.close()
            self._scanned = self._scan()
            connection.register("scanned", self._scanned)

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Replace the libraries' own messages, which can quote the data."""
        try:
            yield
        except RuntimeError as error:
            if str(error) == _INTERRUPTED:
                raise KeyboardInterrupt from None
            raise
        except self._no_space:
            raise DataError("there is not enough memory or space for temporary files to count these values") from None
        except self._unreadable:
            if self._refusals:
                raise self._refusals[0] from None
            data = self._source.data
            if not isinstance(data, Files):
                raise DataError("the data cannot be read: damaged, or of another format") from None
            if isinstance(self._scan, TextScan) and self._scan.failure is not None:
                raise self._scan.failure from None
            if data.format == "json":
                self._refuse_wrong_line(data)
            raise DataError(f"{data.shown} cannot be read as {data.format}: damaged, or of another format") from None


def _numbers(column: Any) -> NDArray[np.int64]:
    """`to_numpy` would import pandas, which takes half a second."""
    return np.from_dlpack(column).astype(np.int64, copy=False)


def _replacing(encode: Encode, refusals: list[DataError]) -> Callable[[Any], Any]:
    """A function for DuckDB that keeps the error for a refused value, which DuckDB would replace."""
    import pyarrow

    def bins(values: Any) -> Any:
        try:
            return pyarrow.array(encode(values))
        except DataError as error:
            refusals.append(error)
            raise

    return bins

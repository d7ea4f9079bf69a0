"""The engine on Apache Spark: DataFrames and mapInArrow only, so that it also works through Spark Connect.

The driver draws one secret for a run, and each task derives its own AES key from that secret and its partition. Spark
may run a task twice, when an executor is lost or slow: both runs make the same messages, so noise is never sampled
twice for the same data. Executors need shuffledp installed.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property, reduce
from operator import and_
from typing import Any, NamedTuple

import numpy as np
import pyarrow
import pyarrow.compute as compute
from numpy.typing import NDArray
from pyspark import TaskContext
from pyspark.sql import functions
from pyspark.sql.types import ArrayType, IntegerType, LongType, StructField, StructType

from shuffledp.data.arrow import check_columns
from shuffledp.data.engine import Encode, bins_of_people, bounded, in_rows, last_value, sizes_of, uncountable
from shuffledp.data.files import Files
from shuffledp.data.source import Source, is_spark
from shuffledp.data.spark_files import (
    clear_errors,
    open_session,
    read_json_lines,
    read_parquet,
    read_separated_text,
)
from shuffledp.errors import DataError, ParameterError
from shuffledp.estimators.supports import DecodedTally
from shuffledp.histogram.shuffle import MOST_BUCKETS, deal, shuffle
from shuffledp.histogram.tally import Tally
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.protocol import MessageProtocol, decoded
from shuffledp.randomness import keyed, random_words

_MESSAGES_AT_ONCE = 1 << 20
_BUCKET = 1 << 22
"""The approximate number of messages in a bucket of the shuffle, which one task holds as a whole."""

_FEWEST_BUCKETS = 1 << 4
_NUMBER = -1
"""Stands for the number of messages among decoded ones, which are values."""

_CHOOSE, _SEND = 0, 1
"""The purpose of a task's randomness, so that no two kinds of tasks share a key."""


class _Counted(NamedTuple):
    """A table of values, or bins if `encode` made them, and people; and how many people hold 0, 1, ... values."""

    values: Any
    holdings: dict[int, int]
    encode: Encode | None = None


class Spark:
    """Counts a source on Spark; makes, shuffles and tallies messages in its executors."""

    def __init__(self, source: Source, *, progress: Progress = quiet) -> None:
        self._source, self._progress, self._started = source, progress, False
        self._secret = secrets.token_bytes(32)
        self._counted: _Counted | None = None
        try:
            with clear_errors():
                table = self._table()
                check_columns(None, table.columns, source.needed)
                # [value: one row for each person], or of sets [value, kept, person: one row for each row]
                self._values = self._all_rows = self._rows(table)
                if not source.in_sets and source.user is not None:
                    self._values = self._one_row_each(self._values)
        except BaseException:
            self.close()
            raise

    @cached_property
    def label_type(self) -> Any:
        """The Arrow type of the values."""
        with clear_errors():
            return self._values.select("value").limit(0).toArrow().schema.field(0).type

    def replace_by_bins(self, encoders: Mapping[int, Encode]) -> None:
        """Replace the values of some of several columns by their bins."""
        with clear_errors():
            rows, all_rows = self._values, self._all_rows
            self._values = _with_bins(rows, encoders)
            self._all_rows = self._values if rows is all_rows else _with_bins(all_rows, encoders)

    def people(self) -> int:
        """Return the number of people."""
        if self._counted is not None:
            return sum(self._counted.holdings.values())
        with clear_errors():
            if self._source.in_sets and self._source.user is not None:
                return int(self._values.select("person").filter("person IS NOT NULL").distinct().count())
            return int(self._values.count())

    def counts(self, encode: Encode | None = None) -> Iterator[tuple[Any, NDArray[np.int64]]]:
        """Return the true histogram, which is cached and must fit the driver."""
        counted = self._count(encode)
        still = encode if counted.encode is None else None
        return (
            (batch.column(0) if still is None else still(batch.column(0)), batch.column(1).to_numpy())
            for batch in counted.values.to_batches()
        )

    def holdings(self, encode: Encode | None = None) -> dict[int, int]:
        """Return how many people hold 0, 1, ... values."""
        return self._count(encode).holdings

    def uncapped(self, encode: Encode | None = None) -> Iterator[tuple[Any, NDArray[np.int64], NDArray[np.int64]]]:
        """Return the true histogram, and beside it the number of people who have each value, without the cap."""
        everybody = self._gathered()
        if encode is not None:
            yield from ((bins, people, np.zeros_like(people)) for bins, people in self.counts(encode))

            def count(batches: Iterator[Any]) -> Iterator[Any]:
                for batch in batches:
                    bins, people = bins_of_people(_values_of(batch.column(0)), encode)
                    yield _batch(bin=bins, people=people)

            with clear_errors():
                # [bin, people: one row for each batch and bin in it]
                found = everybody.mapInArrow(count, "bin long, people long").toArrow()
            yield found.column(0).to_numpy(), np.zeros(found.num_rows, dtype=np.int64), found.column(1).to_numpy()
            return
        zero, one = functions.lit(0), functions.lit(1)
        with clear_errors():
            capped = self._values
            if self._source.in_sets:
                capped = self._held(None).select(functions.explode("held").alias("value"))
            # [value, capped, everybody: one row for each person and value]
            both = capped.select("value", one.alias("capped"), zero.alias("everybody")).unionAll(
                everybody.select(functions.explode("held").alias("one")).select("one.value", zero, one)
            )
            # [value, sum(capped), sum(everybody): one row for each value]
            sums = both.groupBy("value").sum("capped", "everybody").toArrow()
        for batch in sums.to_batches():
            yield batch.column(0), batch.column(1).to_numpy(), batch.column(2).to_numpy()

    def tally(self, protocol: MessageProtocol, encode: Encode) -> Tally:
        """Make everybody's messages, deal them into random buckets, and shuffle and count each bucket."""
        if not protocol.numbered_messages:
            raise ParameterError("engine must be local for this protocol, whose messages are not numbers")
        secret, total = self._secret, protocol.users * protocol.messages_per_user.expected
        buckets = min(MOST_BUCKETS, max(_FEWEST_BUCKETS, 1 << int(total / _BUCKET).bit_length()))
        at_once = max(1, int(_MESSAGES_AT_ONCE / protocol.messages_per_user.expected))

        nothing = Tally.of(np.empty(0, dtype=np.int64))
        decodes = isinstance(decoded(protocol, nothing), DecodedTally)

        in_sets, marker = self._source.in_sets, last_value(protocol)
        values_only = None if self._in_chosen_sets else encode

        def send(batches: Iterator[Any]) -> Iterator[Any]:
            rng = keyed(secret, _SEND, _partition())
            for batch in batches:
                bins = in_rows(batch, values_only, marker=marker) if in_sets else encode(batch.column(0))
                for start in range(0, len(bins), at_once):
                    messages = protocol.randomize(bins[start : start + at_once], rng=rng).astype(np.int64)
                    dealt = [part.tobytes() for part in deal(messages, buckets, rng)]
                    yield _batch(bucket=np.arange(buckets), messages=dealt)

        def mix_and_count(batches: Iterator[Any]) -> Iterator[Any]:
            parts: dict[int, list[NDArray[np.int64]]] = defaultdict(list)
            for batch in batches:
                for bucket, messages in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    parts[bucket].append(np.frombuffer(messages, dtype=np.int64))
            if parts:
                tally = Tally.of(np.concatenate([shuffle(dealt) for dealt in parts.values()]))
                if decodes:  # here, since the messages of many people do not fit the driver
                    yield _batch(message=np.array([_NUMBER]), count=np.array([tally.total]))
                    tally = decoded(protocol, tally)
                yield _batch(message=tally.symbols, count=tally.counts)

        self._progress("sending messages", 0.0)
        with clear_errors():
            # [bucket, messages: one row for each bucket and batch of people]
            sent = self._ordered(encode).mapInArrow(send, "bucket long, messages binary")
            # [message, count: one row for each partition and message in it]
            counted = sent.repartition("bucket").mapInArrow(mix_and_count, "message long, count long")
            # [message, sum(count): one row for each message]
            result = counted.groupBy("message").sum("count").toArrow()
        self._progress("sending messages", 1.0)
        counts = Tally(result.column(0).to_numpy(), result.column(1).to_numpy())
        if not decodes:
            return protocol.tally(counts)
        values = counts.pick(counts.symbols != _NUMBER).dense(bins=protocol.bins)
        number = int(counts.counts[counts.symbols == _NUMBER].sum())
        return DecodedTally(values.symbols, values.counts, messages=number)

    def close(self) -> None:
        """Stop the Spark session if it was started here."""
        if self._started:
            self._session.stop()

    # reading ------------------------------------------------------------------------------------------------------

    def _table(self) -> Any:
        files = self._source.data
        if not isinstance(files, Files):
            if not is_spark(files):
                raise ParameterError(
                    "data must be files or a Spark DataFrame for the Spark engine: use the local engine for other data"
                )
            return files
        if files.format == "arrow":
            raise DataError("Spark cannot read Arrow files: use the local engine, or Parquet files")
        if files.spool is not None:
            raise DataError("standard input is read in process: leave out the Spark engine, or give a file")
        self._session, self._started = open_session(self._source.master, progress=self._progress)
        if files.format == "parquet":
            return read_parquet(self._session, files, self._source.needed)
        if files.format == "json":
            return read_json_lines(self._session, files, self._source.needed)
        return read_separated_text(self._session, files, self._source.needed)

    def _rows(self, table: Any) -> Any:
        """[value, person: one row for each row]; with sets also whether it is kept."""
        source = self._source
        values = [_value(table, name) for name in source.names]
        present = reduce(and_, (value.isNotNull() for value in values))
        value = values[0] if len(values) == 1 else functions.struct(*(v.alias(str(at)) for at, v in enumerate(values)))
        selected = [value.alias("value")]
        if source.user is not None:
            selected.append(_number(table, source.user).alias("person"))
        if source.in_sets:
            satisfied = functions.lit(True) if source.where is None else functions.expr(source.where.to_spark())
            kept = functions.coalesce(satisfied, functions.lit(False))
            return table.select(*selected, (kept & present if source.drop_missing else kept).alias("kept"))
        return (table.filter(present) if source.drop_missing else table).select(*selected)

    def _one_row_each(self, values: Any) -> Any:
        # in an order that does not depend on how rows arrive, so that a task that runs again chooses the same ones
        values = values.filter(values["person"].isNotNull()).sortWithinPartitions("person", "value")
        secret = self._secret

        def add_words(batches: Iterator[Any]) -> Iterator[Any]:
            rng = keyed(secret, _CHOOSE, _partition())
            for batch in batches:
                words = pyarrow.array(random_words(batch.num_rows, rng).view(np.int64))
                yield batch.append_column("word", words)

        # [value, person, word]
        with_words = values.mapInArrow(add_words, StructType([*values.schema.fields, StructField("word", LongType())]))
        # [person, value: one row for each person, the one with the smallest word]
        chosen = with_words.groupBy("person").agg(functions.min_by("value", "word").alias("value"))
        return chosen.select("value")

    # counting -----------------------------------------------------------------------------------------------------

    def _count(self, encode: Encode | None) -> _Counted:
        if self._counted is None or (self._counted.encode is not encode and self._in_chosen_sets):
            self._progress("counting values", 0.0)
            with clear_errors():
                if self._source.in_sets:
                    self._counted = self._count_sets(encode)
                else:
                    # [value, count: one row for each value]
                    found = self._values.groupBy("value").count().toArrow()
                    self._counted = _Counted(found, {1: int(found.column(1).to_numpy().sum())})
            self._progress("counting values", 1.0)
        return self._counted

    def _count_sets(self, encode: Encode | None) -> _Counted:
        """Count values and sizes in one run, so that both belong to the same random choice."""
        held = self._held(encode)
        kind = held.schema["held"].dataType.elementType
        # [of a person: how many values they hold; then each value]
        nothing, not_a_size = functions.lit(None).cast(kind).alias("value"), functions.lit(-1).alias("size")
        size = functions.struct(functions.col("size"), nothing)
        each = functions.transform("held", lambda value: functions.struct(not_a_size, value.alias("value")))
        exploded = held.select(functions.explode(functions.concat(functions.array(size), each)).alias("one"))
        # [size, value, count: one row for each size or value]
        found = exploded.groupBy("one.size", "one.value").count().toArrow()
        is_value = compute.less(found.column("size"), 0)
        sizes = found.filter(compute.invert(is_value))
        holdings = dict(zip(sizes.column("size").to_pylist(), sizes.column("count").to_pylist(), strict=True))
        return _Counted(
            found.filter(is_value).select(["value", "count"]), holdings, encode if self._in_chosen_sets else None
        )

    @property
    def _in_chosen_sets(self) -> bool:
        return self._source.in_sets and self._source.user is not None

    def _ordered(self, encode: Encode) -> Any:
        """What everybody holds, in an order that stays the same if a task runs again."""
        if not self._source.in_sets:
            return self._values.sortWithinPartitions("value")
        held = self._held(encode)
        return held if self._in_chosen_sets else held.sortWithinPartitions("held")

    def _held(self, encode: Encode | None) -> Any:
        """[held, size: the list of values, or bins, of each person, and its size with the marker]."""
        rows, kind = self._values, self._values.schema["value"].dataType
        if self._source.user is None:
            nothing = functions.array().cast(ArrayType(kind))
            held = rows.select(functions.when(rows["kept"], functions.array("value")).otherwise(nothing).alias("held"))
            return held.select("held", functions.size("held").alias("size"))
        secret, source = self._secret, self._source
        most, most_bins = source.values_per_person, source.bins_per_person

        def bound(batches: Iterator[Any]) -> Iterator[Any]:
            rng = keyed(secret, _CHOOSE, _partition())
            for batch in batches:
                values = _values_of(batch.column(0))
                held = bounded(sizes_of(values), values.flatten(), most=most, rng=rng, encode=encode)
                yield _batch(held=held.lists, size=np.minimum(held.different, most_bins).astype(np.int32))

        bins = ArrayType(kind if encode is None else LongType())
        made = StructType([StructField("held", bins), StructField("size", IntegerType())])
        return self._gathered().mapInArrow(bound, made)

    def _gathered(self) -> Any:
        """[held: a list of structs of all different values of each person]."""
        rows = self._all_rows
        # With a fixed number of partitions, since Spark would choose one by the number of bytes. The same people are
        # then in the same partition in every run, and, sorted, in the same order.
        partitions = int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions"))
        together = rows.filter(rows["person"].isNotNull()).repartition(partitions, "person").groupBy("person")
        # in a struct, since collect_set passes over missing values; of many people it leaves some structs twice
        value = functions.struct("value")
        collected = functions.collect_set(functions.when(rows["kept"], value) if self._source.in_sets else value)
        different = functions.sort_array(functions.array_distinct(collected))
        # [person, held: all different values]
        return together.agg(different.alias("held")).sortWithinPartitions("person").select("held")


def _with_bins(rows: Any, encoders: Mapping[int, Encode]) -> Any:
    at_values = rows.columns.index("value")
    fields = [
        StructField(one.name, LongType()) if at in encoders else one
        for at, one in enumerate(rows.schema["value"].dataType.fields)
    ]
    schema = StructType(
        [StructField("value", StructType(fields)) if one.name == "value" else one for one in rows.schema]
    )

    def replace_values(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            parts = batch.column(at_values).flatten()
            made = [pyarrow.array(encoders[at](one)) if at in encoders else one for at, one in enumerate(parts)]
            values = pyarrow.StructArray.from_arrays(made, names=[one.name for one in fields])
            yield batch.set_column(at_values, "value", values)

    return rows.mapInArrow(replace_values, schema)


def _values_of(lists: Any) -> Any:
    """Lists of values, from lists of structs with one field."""
    (entries,) = lists.flatten().flatten()
    ends = np.cumsum(sizes_of(lists), dtype=np.int32)
    return pyarrow.ListArray.from_arrays(pyarrow.array(np.concatenate([np.zeros(1, np.int32), ends])), entries)


def _partition() -> int:
    context = TaskContext.get()
    assert context is not None, "runs in a Spark task"
    return context.partitionId()


def _batch(**columns: Any) -> Any:
    return pyarrow.RecordBatch.from_pydict(columns)


def _value(table: Any, name: str) -> Any:
    kind = table.schema[name].dataType.typeName()
    if kind in ("array", "struct", "map", "binary", "variant") or "interval" in kind:
        raise uncountable(name, "list" if kind == "array" else kind)
    return _number(table, name)


def _number(table: Any, name: str) -> Any:
    """For floats, -0.0 becomes 0.0 and NaN is missing."""
    kind, value = table.schema[name].dataType.typeName(), _spelled(table, name)
    if kind not in ("float", "double"):
        return value
    return functions.when(~functions.isnan(value), value + functions.lit(0.0).cast(kind))


def _spelled(table: Any, column: str) -> Any:
    """A column whose texts are equal only if all their bytes are.

    Under another collation, such as one that ignores case, Spark would count different texts together and publish the
    spelling that it reads first.
    """
    found = table["`" + column.replace("`", "``") + "`"]
    kind = table.schema[column].dataType
    return functions.collate(found, "UTF8_BINARY") if kind.typeName() == "string" else found

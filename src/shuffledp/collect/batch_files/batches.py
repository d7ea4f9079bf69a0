"""Files of batches: Parquet with one column `onion` of fixed width, which say of which batch they are which part.

A batch is one file, or a folder of several where Spark wrote it. Its parts belong to one mixing: another mixing of the
same batch has the same onions in another order, so that its parts complete nothing here.

What mixing files gives: figures that say nothing about anybody.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from shuffledp.collect.batch_files.lots import TAKEN_KIND as TAKEN
from shuffledp.collect.batch_files.tables import KIND as REPORTS
from shuffledp.collect.batch_files.tables import (
    about,
    bytes_of,
    find_tables,
    fixed_width,
    new_table,
    opened_table,
    read_group,
)
from shuffledp.collect.crypto.batch import in_blocks
from shuffledp.collect.task import Task
from shuffledp.collect.task.servers import name_of
from shuffledp.errors import DataError
from shuffledp.formatting import counted

ONION = "onion"
KIND: Literal["shuffledp batch 1"] = "shuffledp batch 1"
ROWS = 1 << 14
"""Onions in a group of rows: about two seconds of opening, and one megabyte."""

_Id = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
_Number = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]


class PartHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Of which task and batch a file is, the position of the hop that is to open it, and which part of which mixing."""

    kind: Literal["shuffledp batch 1"] = KIND
    task: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    batch: _Id
    position: _Number
    mixing: _Id
    part: _Number = 0
    parts: _Number = 1


class OnionGroup(NamedTuple):
    """A group of rows of a part of a batch."""

    path: Path
    group: int
    rows: int

    def read(self) -> bytes:
        """The onions one after another."""
        return bytes_of(read_group(self.path, self.group, ONION))


@dataclass(frozen=True)
class BatchFiles:
    """All parts of one mixing of a batch."""

    batch_id: bytes
    groups: tuple[OnionGroup, ...]

    @property
    def number(self) -> int:
        """How many onions there are."""
        return sum(group.rows for group in self.groups)

    def blocks(self) -> Iterator[bytes]:
        """The onions one after another, in blocks of whole ones."""
        return (group.read() for group in self.groups)


class FoundBatches(NamedTuple):
    """Different batches, in the order of their ids, and how many files were further copies of them."""

    batches: list[BatchFiles]
    copies: int


def write_part(path: Path, head: PartHead, blocks: Iterable[bytes], *, width: int) -> int:
    """Writes a part of a batch, whole or not at all; returns how many onions it has."""
    import pyarrow

    number, schema = 0, pyarrow.schema([pyarrow.field(ONION, pyarrow.binary(width), nullable=False)])
    with new_table(path, schema, said=msgspec.to_builtins(head)) as write:
        for block in in_blocks(blocks, width * ROWS):
            write(pyarrow.table([fixed_width(block, width)], schema=schema))
            number += len(block) // width
    return number


def find_batches(given: Sequence[str | os.PathLike[str]], task: Task, *, position: int) -> FoundBatches:
    """The batches for the hop at this position; a file of another task or for another hop is refused by its name.

    Files that a first shuffler keeps, of reports that wait and of those that are taken, are passed over.
    """
    parts: dict[str, dict[str, dict[int, tuple[PartHead, tuple[OnionGroup, ...]]]]]
    parts, copies = defaultdict(lambda: defaultdict(dict)), 0
    for path in find_tables(given):
        found = _read_part(path, task, position)
        if found is None:
            continue
        same = parts[found[0].batch][found[0].mixing]
        copies += found[0].part in same
        same.setdefault(found[0].part, found)
    if not parts:
        raise DataError("there is no batch in what was given, only files of reports: mix them first")
    batches = []
    for batch, mixings in sorted(parts.items()):
        whole = [mixing for mixing in mixings.values() if len(mixing) == mixing[next(iter(mixing))][0].parts]
        if not whole:
            raise _incomplete(batch, mixings)
        copies += sum(map(len, mixings.values())) - len(whole[0])
        groups = tuple(group for _, (_, groups) in sorted(whole[0].items()) for group in groups)
        batches.append(BatchFiles(bytes.fromhex(batch), groups))
    return FoundBatches(batches, copies)


def _incomplete(batch: str, mixings: Mapping[str, Mapping[int, tuple[PartHead, Any]]]) -> DataError:
    nearest = max(mixings.values(), key=len)
    parts = next(iter(nearest.values()))[0].parts
    return DataError(
        f"batch {batch} is not complete: {len(nearest)} of {counted(parts, 'part')}; give the whole folder of it"
    )


def _read_part(path: Path, task: Task, position: int) -> tuple[PartHead, tuple[OnionGroup, ...]] | None:
    import pyarrow

    with opened_table(path) as file:
        said, schema, metadata = about(file, path), file.schema_arrow, file.metadata
        groups = tuple(
            OnionGroup(path, group, metadata.row_group(group).num_rows) for group in range(metadata.num_row_groups)
        )
    if said.get("kind") in (REPORTS, TAKEN):
        return None
    try:
        head = msgspec.convert(said, PartHead)
    except msgspec.ValidationError:
        raise DataError(f"{path} is no batch: it does not say of which task and batch it is a part") from None
    if head.part >= head.parts:
        raise DataError(f"{path} is no part of a batch: it says that it is part {head.part} of {head.parts}")
    if head.task != task.name:
        raise DataError(f"{path} is of another task ({head.task[:16]}...)")
    if head.position != position:
        raise DataError(
            f"{path} is for {name_of(task, head.position)}, and the key is that of {name_of(task, position)}"
        )
    if schema.names != [ONION] or schema.field(0).type != pyarrow.binary(task.onion_length(position)):
        raise DataError(f"{path} must have one column {ONION!r} of {task.onion_length(position)} bytes each")
    return head, groups


class MixedBatch(NamedTuple):
    """A batch that was mixed: how many onions it has, and why others are not in it."""

    batch_id: bytes
    number: int
    refused: Counter[str]


@dataclass(frozen=True, kw_only=True)
class MixedFiles:
    """Batches in a folder; of the first shuffler also the reports that were read, and those that are too few for more.

    `known` reports were there more than once with the same bytes and count once. `refused` says how many reports or
    onions were refused, by reason. `copies` of batches were given more than once. Only `out` is for the next hop; what
    the first shuffler must keep is in `kept`.
    """

    out: Path
    kept: Path | None = None
    position: int
    batches: tuple[MixedBatch, ...]
    reports: int | None = None
    known: int = 0
    rest: int = 0
    copies: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "out": str(self.out),
            "kept": None if self.kept is None else str(self.kept),
            "position": self.position,
            "batches": [{"id": batch.batch_id.hex(), "messages": batch.number} for batch in self.batches],
            "reports": self.reports,
            "known": self.known,
            "rest": self.rest,
            "copies": self.copies,
            "refused": dict(self.refused),
        }

    def sentences(self, users: int) -> list[str]:
        """In words: what was made of what, and what is left."""
        batches, messages = counted(len(self.batches), "batch", things="batches"), self._messages()
        if self.reports is None:
            said = [f"Mixed {batches} again, with {messages}."]
        else:
            each = counted(users, "person", things="people")
            said = [f"Mixed {batches} of {each} each, with {messages}, from {counted(self.reports, 'report')}."]
        if self.rest:
            said.append(
                f"{counted(self.rest, 'report')} left for the next batch: run again with later reports and "
                f"--before {self.out}."
            )
        if self.known:
            said.append(f"{counted(self.known, 'report')} there before, with the same bytes: counted once.")
        if self.copies:
            said.append(f"{counted(self.copies, 'file')} of a batch that is there already: taken once.")
        said += [f"Refused, {reason}: {counted(number, 'time')}." for reason, number in sorted(self.refused.items())]
        said.append(f"For the next hop: {self.out}, and nothing else.")
        if self.kept is not None:
            said.append(
                f"{self.kept} stays with you. Never mix these reports again without --before {self.out}: nobody may be "
                "in two batches."
            )
        return said

    def _messages(self) -> str:
        return counted(sum(batch.number for batch in self.batches), "message")

"""The parties of a collection, and the public values that they exchange.

A party runs one server: a shuffler or the analyzer. It publishes its address, its public key, and the SHA-256 of the
token with which it fetches batches from the server before it. None of these is secret, but each must be authentic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from shuffledp.collect.server.auth import read_hash
from shuffledp.collect.task import Place, Series, Task
from shuffledp.collect.task.servers import MOST_SHUFFLERS
from shuffledp.errors import DataError, ParameterError, TaskError

ANALYZER = "analyzer"
PUBLIC = "public"
"""The folder with what all parties may know."""

PARTY_FILES, PUBLIC_TASK_FILES = "*.party.json", ("*.task.json", "*.series.json")


def shuffler_name(position: int) -> str:
    """The name of a shuffler by its position in the chain, from 0."""
    return f"shuffler-{position + 1}"


def names_of(shufflers: int) -> list[str]:
    """The names of all parties: the shufflers in the order of the chain, then the analyzer."""
    if not 1 <= shufflers <= MOST_SHUFFLERS:
        raise ParameterError(f"shufflers must be from 1 to {MOST_SHUFFLERS}, got {shufflers}")
    return [*(shuffler_name(at) for at in range(shufflers)), ANALYZER]


class Party(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    kw_only=True,
    omit_defaults=True,
    tag_field="kind",
    tag="shuffledp party 1",
):
    """The public values of a party of a chain with `shufflers` shufflers.

    `token_sha256` is of the token for the server before it; the first shuffler has none.
    """

    party: str
    shufflers: int
    address: str
    key: str
    token_sha256: str | None = None

    def __post_init__(self) -> None:
        if self.party not in names_of(self.shufflers):
            raise ParameterError(f"party must be one of {', '.join(names_of(self.shufflers))}, got {self.party!r:.40}")
        self.place.check(self.party)
        if (self.token_sha256 is None) != (self.position == 0):
            raise ParameterError("token_sha256 must be given for all parties but the first shuffler")
        if self.token_sha256 is not None:
            read_hash(self.token_sha256, name="token_sha256")

    @property
    def position(self) -> int:
        """The position in the chain; the analyzer is last."""
        return names_of(self.shufflers).index(self.party)

    @property
    def place(self) -> Place:
        """The server as a task names it."""
        return Place(self.address, self.key)

    @property
    def fingerprint(self) -> str:
        """The first half of the SHA-256 of all values, in groups of four digits, for people to compare by telephone."""
        digits = sha256(msgspec.json.encode(self)).hexdigest()[:32]
        return " ".join(digits[at : at + 4] for at in range(0, len(digits), 4))

    def to_json(self) -> bytes:
        """The public file."""
        return msgspec.json.format(msgspec.json.encode(self)) + b"\n"


def read_party(path: Path) -> Party:
    """Read the public file of a party."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Party)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, ParameterError, TaskError) as error:
        raise DataError(f"{path} has no public values of a party: {error}") from None


@dataclass(frozen=True)
class Chain:
    """The public values of all parties, in order."""

    parties: Sequence[Party]

    @classmethod
    def read(cls, folder: Path) -> Chain:
        """Read the public files of all parties in a folder."""
        found = [read_party(path) for path in sorted(folder.glob(PARTY_FILES))]
        if not found:
            raise DataError(f"{folder} must have the files {PARTY_FILES} of all parties, got none")
        if len({each.shufflers for each in found}) > 1:
            sizes = ", ".join(f"{each.party}: {each.shufflers}" for each in found)
            raise DataError(f"the parties in {folder} must agree on the number of shufflers, got {sizes}")
        by_name = {each.party: each for each in found}
        if len(by_name) < len(found):
            raise DataError(f"{folder} must have one file for each party, got two of the same")
        names = names_of(found[0].shufflers)
        if missing := [name for name in names if name not in by_name]:
            raise DataError(f"{folder} must have the public values of all parties, got none of {', '.join(missing)}")
        chain = cls([by_name[name] for name in names])
        chain.check()
        return chain

    def check(self) -> None:
        """Refuse two parties with the same address, key or token: their owner could undo the mixing."""
        for what in ("address", "key", "token_sha256"):
            values = [value for each in self.parties if (value := getattr(each, what)) is not None]
            if len(set(values)) < len(values):
                raise ParameterError(f"each party must have its own {what}, got one twice")

    @property
    def shufflers(self) -> list[Place]:
        """The shufflers of a task."""
        return [each.place for each in self.parties[:-1]]

    @property
    def analyzer(self) -> Place:
        """The analyzer of a task."""
        return self.parties[-1].place

    def check_task(self, asked: Task | Series, *, name: str) -> None:
        """Refuse a task whose servers are not these parties."""
        for servers in asked.servers if isinstance(asked, Series) else [asked]:
            places = [*servers.shufflers, servers.analyzer]
            if len(places) != len(self.parties):
                raise DataError(
                    f"{name} must have the {len(self.parties) - 1} shufflers of this collection, got {len(places) - 1}"
                )
            for party, place in zip(self.parties, places, strict=True):
                for what in ("address", "key"):
                    if getattr(party, what) != getattr(place, what):
                        raise DataError(
                            f"{name} must have the {what} of {party.party}, {getattr(party, what)}, got "
                            f"{getattr(place, what)}"
                        )

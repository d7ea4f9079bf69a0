"""The parties of a collection: the public values that they exchange, and the folder of each.

A party runs one server: a shuffler or the analyzer. It publishes its address, its public key, and the SHA-256 of the
token with which it fetches batches from the server before it. None of these is secret, but each must be authentic.

A party's folder has no secret of another party; docs/how-to/deploy.md lists its files. Everything is written to a
temporary folder, which then gets its name: after an error or an interrupt there is nothing.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import msgspec

from shuffledp.atomic_file import sync_folder, write_whole
from shuffledp.collect.client.transport import invitation_link
from shuffledp.collect.crypto.keys import KeyPair, write_key, write_secret
from shuffledp.collect.server.auth import hash_of, new_token, read_hash, sorted_hashes
from shuffledp.collect.task import Place, Series, Task
from shuffledp.collect.task.servers import MOST_SHUFFLERS, check_address
from shuffledp.errors import DataError, ParameterError, TaskError
from shuffledp.formatting import shown_address

if TYPE_CHECKING:
    from jinja2 import Environment

ANALYZER = "analyzer"
PUBLIC = "public"
"""The folder with what all parties may know."""

PARTY_FILES, PUBLIC_TASK_FILES = "*.party.json", ("*.task.json", "*.series.json")


def names_of(shufflers: int) -> list[str]:
    """The names of all parties: the shufflers in the order of the chain, then the analyzer."""
    if not 1 <= shufflers <= MOST_SHUFFLERS:
        raise ParameterError(f"shufflers must be from 1 to {MOST_SHUFFLERS}, got {shufflers}")
    return [*(f"shuffler-{at + 1}" for at in range(shufflers)), ANALYZER]


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
        """Return the public file."""
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


StoreKind = Literal["postgres", "sqlite"]

SERVER, STATE = "server", "state"
"""The folders in a party's folder that its server reads, and those that it writes."""

KEYS, TASKS = "keys", "tasks"
HASHES, SECRET = "admission.hashes", "admission.secret"
LEDGER = "budget.ledger"
DATABASE_PASSWORD = "database.password"
OWN_VALUES = "party.json"
"""The public values of a party in its own folder, which nobody else has changed."""

INVITATIONS, TOKENS, LINKS = "invitations", "tokens.txt", "links.txt"
"""The folder with what people need to send a report, for the organisation that invites them."""

FIRST_TASK = "first.task.json"
HAND_OVER = "HAND-OVER.md"

_TOKENS_PER_PERSON = 1.2
"""Some tokens get lost, so a batch needs more tokens than people."""


def in_containers(folder: Path, party: Party) -> bool:
    """Whether the server needs a proxy or a database, which deploy/compose.yaml starts with it."""
    return urlsplit(party.address).scheme == "https" or (folder / party.party / DATABASE_PASSWORD).exists()


def ledger_of(folder: Path) -> Path:
    """The ledger of the analyzer whose folder is in `folder`."""
    return folder / ANALYZER / STATE / LEDGER


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """What to create: the parties with their addresses, in a chain of `shufflers` shufflers.

    `page`: the first shuffler serves the survey page.
    """

    shufflers: int
    addresses: Mapping[str, str]
    store: StoreKind
    page: bool = False

    def __post_init__(self) -> None:
        for name, address in self.addresses.items():
            if name not in names_of(self.shufflers):
                raise ParameterError(f"party must be one of {', '.join(names_of(self.shufflers))}, got {name!r:.40}")
            check_address(address, name)
            if urlsplit(address).path not in ("", "/"):
                raise ParameterError(
                    f"the address of {name} must have no path, got {shown_address(address)}: give each server a name "
                    "or a port of its own"
                )

    @property
    def is_whole(self) -> bool:
        """Whether these are all parties, so that one person holds all keys."""
        return len(self.addresses) == self.shufflers + 1

    def create(self, folder: Path) -> list[Party]:
        """Create the folders of the parties, and their public values, in an existing folder."""
        (folder / PUBLIC).mkdir(mode=0o700)
        made = [self._create_party(folder, name, address) for name, address in self.addresses.items()]
        for party in made:
            for path in (folder / party.party / OWN_VALUES, folder / PUBLIC / f"{party.party}.party.json"):
                write_whole(path, party.to_json())
        if self.is_whole:
            Chain(made).check()
        return made

    def _create_party(self, folder: Path, name: str, address: str) -> Party:
        own, server = folder / name, folder / name / SERVER
        for each in (own, server, own / STATE, own / "tls", server / KEYS, server / TASKS):
            each.mkdir(mode=0o700)
        pair, operator, token = KeyPair.generate(), new_token(), None
        write_key(pair, server / KEYS / "first.key")
        write_secret(own / "operator.token", operator)
        position = names_of(self.shufflers).index(name)
        if position:
            token = new_token()
            write_secret(server / "previous.token", token)
        kind, store = (ANALYZER, "counts.db") if name == ANALYZER else ("shuffler", "reports.db")
        with_database = name != ANALYZER and self.store == "postgres"
        if with_database:
            password = secrets.token_urlsafe(32)  # without : and \, which pgpass would have to escape
            write_secret(own / DATABASE_PASSWORD, password)
            write_secret(server / "pgpass", f"*:*:shuffledp:shuffledp:{password}")
        parts = urlsplit(address)
        host = parts.hostname or ""
        config = rendered(
            "server.toml",
            kind=kind,
            party=name,
            operator=hash_of(operator).hex(),
            # `database` is the name of PostgreSQL in the compose file
            store="postgresql://shuffledp@database/shuffledp" if with_database else f"../{STATE}/{store}",
            token="previous.token" if position else None,
            page=self.page and position == 0,
            # without TLS there is no proxy, so it is the port of the address
            port=(parts.port or 80) if parts.scheme == "http" else _PORT_BEHIND_PROXY,
        )
        write_whole(server / f"{kind}.toml", config)
        profiles = [name, *([name.replace("shuffler", "database")] if with_database else [])]
        prefix = name.upper().replace("-", "_")
        variables = {
            "COMPOSE_PROFILES": ",".join(profiles),
            f"{prefix}_SITE": f"[{host}]" if ":" in host else host,
            f"{prefix}_PORT": parts.port or 443,
        }
        write_whole(own / ".env", "".join(f"{key}={value}\n" for key, value in variables.items()).encode())
        return Party(
            party=name,
            shufflers=self.shufflers,
            address=address,
            key=pair.public,
            token_sha256=None if token is None else hash_of(token).hex(),
        )


_PORT_BEHIND_PROXY = 8000


def create_invitations(folder: Path, task: Task, *, tokens: int | None, page: bool) -> dict[str, Path]:
    """Create what people need to send a report, and return it for the first shuffler by the name of its file.

    The shuffler gets hashes of one-time tokens only; a shared secret it must know. With a survey page (`page`), there
    are links to it, too.
    """
    if task.admission == "anybody":
        if tokens is not None:
            raise ParameterError(f"tokens must be left out for a task that anybody may answer, got {tokens}")
        return {}
    (folder / INVITATIONS).mkdir(mode=0o700)
    if task.admission == "secret":
        secret = new_token()
        _write_links(folder, task, [secret] if page else [])
        return {SECRET: write_secret(folder / INVITATIONS / SECRET, secret)}
    number = int(task.users * _TOKENS_PER_PERSON) + 1 if tokens is None else tokens
    if number < task.users:
        raise ParameterError(f"tokens must be at least the {task.users:,} people of a batch, got {number:,}")
    made = [new_token() for _ in range(number)]
    write_secret(folder / INVITATIONS / TOKENS, "\n".join(made))
    _write_links(folder, task, made if page else [])
    write_whole(folder / INVITATIONS / HASHES, sorted_hashes(made).encode())
    return {HASHES: folder / INVITATIONS / HASHES}


def _write_links(folder: Path, task: Task, tokens: Sequence[str]) -> None:
    if tokens:
        write_secret(folder / INVITATIONS / LINKS, "\n".join(invitation_link(task, each) for each in tokens))


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that gets its name at the end, unless an error or an interrupt comes first."""
    if os.path.lexists(folder):
        raise ParameterError(f"folder must be new, got {folder}, which exists: nothing is overwritten")
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise DataError(f"the folder {folder} cannot be made: {error.strerror}") from None
    try:
        yield temporary
        temporary.rename(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise DataError(f"the folder {folder} cannot be made: {error.strerror}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_hand_over(
    folder: Path,
    deployment: Deployment,
    parties: Sequence[Party],
    *,
    name: str,
    task: Task | None,
    command: str | None,
    only: Sequence[str],
) -> None:
    """Write which file goes to whom, and what must stay secret; `name` is the folder as its reader knows it.

    The commands of `only` create each party's folder alone.
    """
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    write_whole(
        folder / HAND_OVER,
        rendered(
            HAND_OVER,
            deployment=deployment,
            parties=parties,
            names=names_of(deployment.shufflers),
            files=files,
            folder=name,
            task=task,
            first_task=FIRST_TASK,
            command=command,
            only=only,
            in_containers=[each.party for each in parties if in_containers(folder, each)],
        ),
    )


def rendered(template: str, **context: Any) -> bytes:
    """Return a text file from its template."""
    return (_environment().get_template(template).render(context).rstrip("\n") + "\n").encode()


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader(__package__), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    found.filters["toml"] = json.dumps  # of texts, numbers and lists of them
    found.filters["quoted"] = shlex.quote  # for a shell
    return found

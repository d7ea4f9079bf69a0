"""Create the folder of each party: private key, tokens, database password and configuration.

A party's folder has no secret of another party:

    shuffler-2/
      .env                 variables of the compose file
      operator.token       signs in as operator; the server knows its hash
      database.password    of PostgreSQL
      party.json           its public values, as others must receive them
      server/              what the server reads: shuffler.toml, keys/, tasks/, previous.token, pgpass
      state/               what the server writes: a SQLite store, the ledger
      tls/                 empty: a certificate and its key for the proxy, with a private authority

Everything is written to a temporary folder, which then gets its name: after an error or an interrupt there is nothing.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from shuffledp.atomic_file import sync_folder, write_whole
from shuffledp.collect.client.transport import invitation_link
from shuffledp.collect.crypto.keys import KeyPair, write_key, write_secret
from shuffledp.collect.deployment.parties import ANALYZER, PUBLIC, Chain, Party, names_of
from shuffledp.collect.server.auth import hash_of, new_token, sorted_hashes
from shuffledp.collect.task import Place, Task
from shuffledp.collect.task.servers import check_address
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import shown_address

if TYPE_CHECKING:
    from jinja2 import Environment

StoreKind = Literal["postgres", "sqlite"]

SERVER, STATE = "server", "state"
"""The folders in a party's folder that its server reads, and those that it writes."""

TLS = "tls"
"""The folder in a party's folder that its proxy reads."""

KEYS, TASKS, PREVIOUS_TOKEN, PGPASS = "keys", "tasks", "previous.token", "pgpass"
HASHES, SECRET = "admission.hashes", "admission.secret"
LEDGER = "budget.ledger"
OWN_VALUES = "party.json"
"""The public values of a party in its own folder, which nobody else has changed."""

OPERATOR_TOKEN, DATABASE_PASSWORD = "operator.token", "database.password"
INVITATIONS, TOKENS, LINKS = "invitations", "tokens.txt", "links.txt"
"""The folder with what people need to send a report, for the organisation that invites them."""

FIRST_KEY, FIRST_TASK = "first.key", "first.task.json"
DATABASE = "postgresql://shuffledp@database/shuffledp"
"""The database of a shuffler: `database` is its name in the compose file."""

PORT = 8000
"""The port of a server behind its proxy."""

HAND_OVER = "HAND-OVER.md"

_TOKENS_PER_PERSON = 1.2
"""Some tokens get lost, so a batch needs more tokens than people."""


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
        own = folder / name
        for each in (own, own / SERVER, own / STATE, own / TLS, own / SERVER / KEYS, own / SERVER / TASKS):
            each.mkdir(mode=0o700)
        pair, operator, token = KeyPair.generate(), new_token(), None
        write_key(pair, own / SERVER / KEYS / FIRST_KEY)
        write_secret(own / OPERATOR_TOKEN, operator)
        position = names_of(self.shufflers).index(name)
        if position:
            token = new_token()
            write_secret(own / SERVER / PREVIOUS_TOKEN, token)
        with_database = name != ANALYZER and self.store == "postgres"
        if with_database:
            password = secrets.token_urlsafe(32)  # without : and \, which pgpass would have to escape
            write_secret(own / DATABASE_PASSWORD, password)
            write_secret(own / SERVER / PGPASS, f"*:*:shuffledp:shuffledp:{password}")
        kind = ANALYZER if name == ANALYZER else "shuffler"
        facts = {
            "party": name,
            "operator": hash_of(operator).hex(),
            "store": DATABASE if with_database else f"../{STATE}/{'counts' if name == ANALYZER else 'reports'}.db",
            "token": PREVIOUS_TOKEN if position else None,
            "page": self.page and position == 0,
            "port": _port(address),
        }
        write_whole(own / SERVER / f"{kind}.toml", rendered(f"{kind}.toml", **facts))
        host, port = urlsplit(address).hostname or "", urlsplit(address).port
        profiles = [name, *([name.replace("shuffler", "database")] if with_database else [])]
        variables = {
            "COMPOSE_PROFILES": ",".join(profiles),
            f"{_variable(name)}_SITE": f"[{host}]" if ":" in host else host,
            f"{_variable(name)}_PORT": port or 443,
        }
        write_whole(own / ".env", "".join(f"{key}={value}\n" for key, value in variables.items()).encode())
        return Party(
            party=name,
            shufflers=self.shufflers,
            address=address,
            key=pair.public,
            token_sha256=None if token is None else hash_of(token).hex(),
        )


def _port(address: str) -> int:
    """The port to listen on: without TLS there is no proxy, so it is the port of the address."""
    parts = urlsplit(address)
    return (parts.port or 80) if parts.scheme == "http" else PORT


def _variable(name: str) -> str:
    return name.upper().replace("-", "_")


MakeTask = Callable[[list[Place], Place], Task]
"""Make the first task from its shufflers and its analyzer."""


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
) -> None:
    """Write which file goes to whom, and what must stay secret; `name` is the folder as its reader knows it."""
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
        ),
    )


def rendered(template: str, **context: Any) -> bytes:
    """A text file from its template."""
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

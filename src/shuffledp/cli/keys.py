"""Make keys and tokens for the servers of a task, and destroy them after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli import options as given
from shuffledp.cli.options import flag, option, whole_number
from shuffledp.cli.output import note_written, print_json, print_sentence
from shuffledp.errors import ParameterError
from shuffledp.formatting import counted

if TYPE_CHECKING:
    from shuffledp.collect.task import Task

_MOST_TOKENS = 10_000_000
"""A file of half a gigabyte."""

Out = Annotated[Path, option("FILE", "Where it is written, for its owner's eyes only; never overwritten.")]


def new(out: Out, json: given.Json = False) -> None:
    """Make a key pair for one server of one task, and print its public key.

    The task names the public key; the server is given the file. The next task should name another.
    """
    from shuffledp.collect.crypto.keys import KeyPair, write_key

    _refuse_folder(out)
    pair = KeyPair.generate()
    note_written(write_key(pair, out))
    if json:
        print_json({"file": str(out), "public": pair.public})
    else:
        print(pair.public)


def token(out: Out, json: given.Json = False) -> None:
    """Make a token for the next hop or for the console's operator, and print its SHA-256.

    The SHA-256 tells nobody the token. A shuffler is started with it and --next: whoever fetches its batches is given
    the file with --token. An analyzer is started with it and --operator: whoever has the file can sign in to its
    console.
    """
    from shuffledp.collect.crypto.keys import write_secret
    from shuffledp.collect.server.auth import hash_of, new_token

    _refuse_folder(out)
    made = new_token()
    note_written(write_secret(out, made))
    if json:
        print_json({"file": str(out), "sha256": hash_of(made).hex()})
    else:
        print(hash_of(made).hex())


def tokens(
    number: Annotated[int, option("NUMBER", "How many.", parser=whole_number)],
    out: Annotated[Path, option("FILE", "The tokens, one in each line, to be handed out; never overwritten.")],
    hashes: Annotated[Path, option("FILE", "Their SHA-256, one in each line, for the shuffler.")],
    force: Annotated[bool, flag("--force", "Overwrite the hashes if they exist; tokens never are.")] = False,
) -> None:
    """Make one-time tokens for a task that admits people with tokens.

    Each lets one person send one report. The shuffler is given the hashes; nobody should keep who was handed which.
    """
    from shuffledp.atomic_file import check_folder, write_whole
    from shuffledp.cli.options import keep_existing, refuse_repeated
    from shuffledp.collect.crypto.keys import refuse_existing_secret, write_secret
    from shuffledp.collect.server.auth import hash_of, new_token

    if not 1 <= number <= _MOST_TOKENS:
        raise ParameterError(f"--number must be from 1 to {_MOST_TOKENS:,}, got {number}")
    _refuse_folder(out)
    refuse_repeated([out, hashes])
    refuse_existing_secret(out)
    keep_existing([hashes], force=force)
    check_folder(hashes)
    made = [new_token() for _ in range(number)]
    note_written(write_secret(out, "\n".join(made)))
    # in an order of their own: the place of a hash must not tell the place of its token in the list
    ordered = sorted(hash_of(one).hex() for one in made)
    write_whole(hashes, ("\n".join(ordered) + "\n").encode())
    note_written(hashes)


def destroy(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, hidden=True)],
    task: Annotated[list[Path], option("FILE", "Each task that names the key.")],
    store: Annotated[
        str | None,
        option("URL", "The store of a shuffler, to say what waits in it: a file (SQLite), or postgresql://..."),
    ] = None,
    yes: Annotated[bool, flag("--yes", "Really destroy it.")] = False,
) -> None:
    """Overwrite and delete the private key of a task that is over.

    FILE is a key of `shuffledp keys new`. Without --yes nothing is done: it only says what would become unreadable.
    """
    from datetime import UTC, datetime

    from shuffledp.collect.crypto.keys import read_key
    from shuffledp.collect.task import read_task
    from shuffledp.collect.task import servers as destroying

    pair, tasks, now = read_key(file), [read_task(path) for path in task], datetime.now(UTC)
    for one in tasks:
        for said in destroying.what_is_lost(one, pair, now=now):
            print_sentence(said)
        if store is not None:
            print_sentence(_waiting(one, store))
    if not yes:
        raise ParameterError(f"nothing was destroyed: add --yes to destroy {file}")
    destroying.destroy(file)
    print_sentence(f"{file} was overwritten and deleted. Copies that a backup or a drive keeps are yours to destroy.")


def _refuse_folder(out: Path) -> None:
    if out.is_dir():
        raise ParameterError(f"--out must be a file, and {out} is a folder: add the name of a file to it")


def _waiting(task: Task, store: str) -> str:
    """What waits in the store of a shuffler of the task."""
    from shuffledp.collect.store import open_report_store

    path = Path(store.removeprefix("sqlite:///"))
    if "://" not in str(path) and not path.exists():  # looking must not make one
        raise ParameterError(f"there is no store {path}")
    with open_report_store(store) as opened:
        standing = opened.standing(task.id)
    reports = counted(standing.waiting, "report")
    batches = counted(standing.closing + standing.ready, "batch", things="batches")
    return f"In the store {reports} in no batch yet and {batches} not handed on are waiting for this task."


COMMANDS: dict[str, tuple[Callable[..., Any], str]] = {
    "new": (new, "shuffledp keys new --out shuffler.key"),
    "token": (token, "shuffledp keys token --out analyzer.token"),
    "tokens": (
        tokens,
        "shuffledp keys tokens --number 10000 --out tokens.txt --hashes hashes.txt",
    ),
    "destroy": (destroy, "shuffledp keys destroy shuffler.key --task theme.task.json --yes"),
}
"""What `shuffledp keys` can do, each with an example."""

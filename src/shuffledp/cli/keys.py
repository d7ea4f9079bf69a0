"""`shuffledp keys`: create keys and tokens for the servers of a task, and destroy them after it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shuffledp.atomic_file import check_folder, write_whole
from shuffledp.cli import options as given
from shuffledp.cli.options import flag, integer, keep_existing, option, refuse_link, refuse_repeated
from shuffledp.cli.output import note_written, print_json, print_sentence, print_sentences
from shuffledp.errors import ParameterError
from shuffledp.formatting import counted

if TYPE_CHECKING:
    from datetime import datetime

    from shuffledp.collect.crypto.keys import KeyPair
    from shuffledp.collect.store import ReportStore, TallyStore
    from shuffledp.collect.task import Series, Task

_MOST_TOKENS = 10_000_000
"""Half a gigabyte."""

Out = Annotated[Path, option("FILE", "The file to write, readable by its owner only; never overwritten.")]


def new_key(
    out: Out,
    number: Annotated[
        int | None,
        integer("Make a folder with a key for each round of a series."),
    ] = None,
    json: given.Json = False,
) -> None:
    """Create a key pair for one server of one task, and print the public key.

    The task contains the public key; the server reads the file. Create a new one for each task. With --number, FILE is
    a new folder with a key for each round of a series, and the public keys of all rounds in public.txt.
    """
    from shuffledp.collect.crypto.keys import KeyPair, write_key

    if number is not None:
        _new_keys(out, number, json=json)
        return
    _refuse_folder(out)
    pair = KeyPair.generate()
    note_written(write_key(pair, out))
    if json:
        print_json({"file": str(out), "public": pair.public})
    else:
        print(pair.public)


def _new_keys(folder: Path, number: int, *, json: bool) -> None:
    from shuffledp.accounting.calibration import rounds_of
    from shuffledp.collect.crypto.keys import KeyPair, write_key
    from shuffledp.collect.server.settings import PUBLIC_KEYS

    rounds_of(number, name="number")
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        raise ParameterError(f"out must be a new folder for {number} keys, got {folder}, which exists") from None
    except OSError as error:
        raise ParameterError(f"the folder {folder} cannot be made: {error.strerror}") from None
    pairs = [KeyPair.generate() for _ in range(number)]
    for at, pair in enumerate(pairs, 1):
        write_key(pair, folder / f"{at:04}.key")
    write_whole(folder / PUBLIC_KEYS, "".join(f"{pair.public}\n" for pair in pairs).encode())
    note_written(folder)
    if json:
        print_json({"folder": str(folder), "public": [pair.public for pair in pairs]})
    else:
        print(folder / PUBLIC_KEYS)


def token(out: Out, json: given.Json = False) -> None:
    """Create a token for the next server or for an operator, and print its SHA-256.

    Start a shuffler with the SHA-256 and --next, and the server that pulls its batches with the file and --token. For
    an operator, start either server with the SHA-256 and --operator.
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
    number: Annotated[int, integer("Number of tokens.")],
    out: Annotated[Path, option("FILE", "The tokens to distribute, one per line; never overwritten.")],
    hashes: Annotated[Path, option("FILE", "Their SHA-256, one per line, for the shuffler.")],
    links: Annotated[
        Path | None, option("FILE", "Invitation links with the tokens, one per line; never overwritten.")
    ] = None,
    task: Annotated[Path | None, option("FILE", "The task or series that --links invites to.")] = None,
    force: Annotated[bool, flag("--force", "Overwrite the file of hashes.")] = False,
) -> None:
    """Create one-time tokens for a task with --admission tokens, and links to its survey page that contain them.

    Each token admits one report. The shuffler needs the hashes only. Do not record who receives which token or link.
    """
    from shuffledp.collect.client.transport import invitation_link
    from shuffledp.collect.crypto.keys import refuse_existing_secret, write_secret
    from shuffledp.collect.server.auth import new_token, sorted_hashes

    if not 1 <= number <= _MOST_TOKENS:
        raise ParameterError(f"number must be from 1 to {_MOST_TOKENS:,}, got {number}")
    _refuse_folder(out)
    files = [out] if links is None else [out, links]
    refuse_repeated([*files, hashes])
    for file in files:
        refuse_existing_secret(file)
        check_folder(file)
    invited = _invited(task, links)
    keep_existing([hashes], force=force)
    check_folder(hashes)
    made = [new_token() for _ in range(number)]
    note_written(write_secret(out, "\n".join(made)))
    if links is not None and invited is not None:
        note_written(write_secret(links, "\n".join(invitation_link(invited, one) for one in made)))
    write_whole(hashes, sorted_hashes(made).encode())
    note_written(hashes)


def _invited(task: Path | None, links: Path | None) -> Task | Series | None:
    from shuffledp.collect.task import read_task_or_series

    if (task is None) != (links is None):
        raise ParameterError("--links and --task must be given together: a link leads to the survey page of a task")
    if links is None or task is None:
        return None
    _refuse_folder(links)
    asked = read_task_or_series(task)
    if asked.admission != "tokens":
        raise ParameterError(f"task must have the admission tokens, got {asked.admission}: {task}")
    return asked


def link(
    task: Annotated[Path, option("FILE", "The task or series.")],
    admission: Annotated[Path, option("FILE", "Its secret.")],
    out: Out,
) -> None:
    """Write an invitation link for everybody: the survey page of a task with its secret in the fragment.

    Browsers do not send the fragment to any server. Links with one-time tokens are written by
    `shuffledp keys tokens --links`.
    """
    from shuffledp.collect.client.transport import invitation_link
    from shuffledp.collect.crypto.keys import read_word, write_secret
    from shuffledp.collect.task import read_task_or_series

    refuse_link(admission, "--admission", "a file with the secret")
    _refuse_folder(out)
    asked = read_task_or_series(task)
    if asked.admission == "tokens":
        raise ParameterError(
            "task must have the admission secret, got tokens: `shuffledp keys tokens --links` writes a link with each "
            "token"
        )
    note_written(write_secret(out, invitation_link(asked, read_word(admission))))


def destroy(
    file: given.File,
    task: Annotated[list[Path], option("FILE", "Each task or series that uses the key.")],
    store: Annotated[
        str | None,
        option(
            "URL",
            "The store of the server, whose fingerprints of messages are deleted too: a file (SQLite), or postgresql://...",
        ),
    ] = None,
    yes: Annotated[bool, flag("--yes", "Confirm.")] = False,
) -> None:
    """Overwrite and delete the private key of a task that is over, and with --store the fingerprints of its messages.

    FILE is a key of `shuffledp keys new`. Without --yes, the command only prints what would become unreadable. The
    folder FILE.seen of `shuffledp mix` and `shuffledp count` is deleted too.
    """
    from datetime import UTC, datetime

    from shuffledp.collect.batch_files.seen import forget_all, seen_folder
    from shuffledp.collect.crypto.keys import destroy_secret, read_key
    from shuffledp.collect.task.report import lost_without_key, position_of

    pair, now = read_key(file), datetime.now(UTC)
    tasks = [one for path in task for one in _tasks_with(path, pair)]
    for one in _to_be_shown(tasks, now):
        position = position_of(one, pair)
        closed, stored = (False, []) if store is None else _stored(one, pair, store)
        print_sentences([*lost_without_key(one, pair, now=now, closed_early=closed), *stored])
        if store is None and position > 0:
            print_sentence("The fingerprints of its messages stay in the server's store: name it with --store.")
    if not yes:
        raise ParameterError(f"nothing was destroyed: add --yes to destroy {file}")
    memory = seen_folder(file)
    destroy_secret(file)
    if forget_all(memory):
        print_sentence(f"{memory} was deleted.")
    print_sentence(f"{file} was overwritten and deleted. Destroy any copies on backups and drives yourself.")
    if store is not None:
        for one in tasks:
            with _open_store(one, pair, store) as opened:
                deleted = opened.memories.delete(one.id)
            print_sentence(f"{counted(deleted, 'fingerprint')} of the task {one.name[:16]} {_were(deleted)} deleted.")


def _tasks_with(path: Path, pair: KeyPair) -> list[Task]:
    """The task of a file, or the rounds of a series that use a key."""
    from shuffledp.collect.task import Series, read_task_or_series
    from shuffledp.collect.task.series import tasks_of

    asked = read_task_or_series(path)
    if not isinstance(asked, Series):
        return [asked]
    found = [one for one in tasks_of(asked) if pair.public in {place.key for place in (*one.shufflers, one.analyzer)}]
    if not found:
        raise ParameterError(f"the key belongs to no round of the series {path}")
    used = f"{counted(len(found), 'round')} of {asked.rounds:,}"
    print_sentence(f"The key is used in {used}: {', '.join(str(one.series.round) for one in found[:8] if one.series)}.")
    return found


def _to_be_shown(tasks: list[Task], now: datetime) -> list[Task]:
    """The tasks whose losses are printed: of many rounds with one key only the open one and the last one."""
    from shuffledp.collect.task import Phase

    rounds = [one for one in tasks if one.series is not None]
    shown = {one.id for one in rounds if one.phase(now.timestamp()) is Phase.OPEN}
    shown |= {one.id for one in rounds[-1:]}
    return [one for one in tasks if one.series is None or one.id in shown]


def _refuse_folder(out: Path) -> None:
    if out.is_dir():
        raise ParameterError(f"out must be a file, got the folder {out}")


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _open_store(task: Task, pair: KeyPair, store: str) -> ReportStore | TallyStore:
    from shuffledp.collect.store import open_report_store, open_tally_store, store_file

    path = store_file(store)
    if path is not None and not path.exists():  # opening would create it
        raise ParameterError(f"there is no store {path}")
    return open_tally_store(store) if pair.public == task.analyzer.key else open_report_store(store)


def _stored(task: Task, pair: KeyPair, store: str) -> tuple[bool, list[str]]:
    """Whether an operator closed the task, and what the store has of it: what waits at a shuffler, and fingerprints."""
    from shuffledp.collect.server.settings import was_ended
    from shuffledp.collect.store import Standing

    with _open_store(task, pair, store) as opened:
        standing, closed = opened.standing(task.id), was_ended(task, opened.files.states())
    found = []
    if isinstance(standing, Standing):
        reports = counted(standing.waiting, "report")
        batches = counted(standing.closing + standing.ready, "batch", things="batches")
        found.append(f"The store has {reports} waiting for a batch and {batches} not yet forwarded for this task.")
    if pair.public != task.shufflers[0].key:
        found.append(
            "The fingerprints of its messages are deleted from the store, which then accepts no batch of the task."
        )
    return closed, found

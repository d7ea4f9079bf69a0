"""`shuffledp task`: create, show and check tasks. `shuffledp keys`: keys and tokens of their servers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shuffledp.cli import options as given
from shuffledp.cli.options import CommandGroup, flag, option, parse_pair, shortened, tasks_from_options, whole_number
from shuffledp.cli.output import (
    failures_in_json,
    note_written,
    print_facts,
    print_json,
    print_note,
    print_paragraphs,
    print_sentence,
    print_title,
)
from shuffledp.errors import BrokenPromiseError, DataError, ParameterError
from shuffledp.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shuffledp.collect.crypto.keys import KeyPair
    from shuffledp.collect.store import ReportStore, TallyStore
    from shuffledp.collect.task import Place, Task
    from shuffledp.collect.task.schema import Answers
    from shuffledp.collect.task.task import Admission

_ANSWERS, _PEOPLE, _SERVERS, _TIME = "Answers", "People", "Servers", "Time"
_ADMISSIONS = ("anybody", "secret", "tokens")

File = Annotated[Path, typer.Argument(metavar="FILE", show_default=False, hidden=True)]


def new_task(
    question: Annotated[str, option("WORDS", "The question that people answer.")],
    users: Annotated[int, option("NUMBER", "Number of reports per batch.", parser=whole_number)],
    epsilon: given.Epsilon,
    delta: given.Delta,
    shuffler: Annotated[
        list[str],
        option("URL=KEY", "A shuffler and its public key or key file; repeat for a chain.", panel=_SERVERS),
    ],
    analyzer: Annotated[str, option("URL=KEY", "The analyzer and its public key or key file.", panel=_SERVERS)],
    out: Annotated[Path, option("FILE", "The file to write the task to.", panel=given.RESULT)],
    domain: Annotated[
        str | None, option("FILE|LIST", "The possible answers: a,b,c; or a file, one per line.", panel=_ANSWERS)
    ] = None,
    domain_at: Annotated[
        str | None,
        option("URL", "The public address of that file, for lists too long for the task.", panel=_ANSWERS),
    ] = None,
    range_: Annotated[
        str | None,
        option("A:B", "Whole numbers from A to B, inclusive, as answers.", name="--range", panel=_ANSWERS),
    ] = None,
    honest_users: Annotated[
        int | None,
        option(
            "NUMBER",
            "Number of people per batch who follow the protocol; default: all.",
            panel=_PEOPLE,
            parser=whole_number,
        ),
    ] = None,
    admission: Annotated[str, option("|".join(_ADMISSIONS), "Who may send a report.", panel=_PEOPLE)] = "anybody",
    opens: Annotated[str, option("TIME", "Start: a time in UTC, or a length of time from now.", panel=_TIME)] = "now",
    closes: Annotated[
        str, option("TIME", "End: a time in UTC, or a length of time after the start.", panel=_TIME)
    ] = "30d",
    time_precision: Annotated[str, option("LENGTH", "Precision of the time in a report.", panel=_TIME)] = "1h",
    protocol: Annotated[
        str | None, option("NAME", "Default: chosen by error and messages.", panel=given.PROTOCOL)
    ] = None,
    force: given.Force = False,
    explain: given.Explain = False,
    json: given.Json = False,
) -> None:
    """Create a task: a public file with the question, the noise, and the servers with their keys.

    KEY is the public key that `shuffledp keys new` prints, or its file. The id of a task is the SHA-256 of its content.
    Create new keys for each task.
    """
    from datetime import UTC, datetime

    from shuffledp.atomic_file import check_folder, write_whole
    from shuffledp.cli.options import keep_existing, length_of, moment_of
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.collect import new_task as create

    keep_existing([out], force=force)
    check_folder(out)
    now = datetime.now(UTC).replace(microsecond=0)
    opening = now if opens == "now" else moment_of(opens, name="opens", after=now)
    answers = _answers(domain, domain_at, range_)
    answers.check()
    with ProgressBar() as progress, tasks_from_options():
        made = create(
            question=question,
            answers=answers,
            users=users,
            honest_users=honest_users,
            epsilon=epsilon,
            delta=delta,
            shufflers=[_place("shuffler", text) for text in shuffler],
            analyzer=_place("analyzer", analyzer),
            opens=opening,
            closes=moment_of(closes, name="closes", after=opening),
            protocol=protocol,
            time_precision=int(length_of(time_precision, name="time_precision").total_seconds()),
            admission=_admission(admission),
            progress=progress,
        )
    write_whole(out, made.to_json().encode())
    note_written(out)
    print_note("note: use the keys for this task only, and destroy them when it is over")
    _show(made, explain=explain, json=json)


def show_task(file: File, explain: given.Explain = False, json: given.Json = False) -> None:
    """Show the question, the guarantee and the servers of a task.

    FILE is a task. The exit code is 4 if the claimed guarantee is false.
    """
    from shuffledp.collect.task import read_task

    _show(read_task(file), explain=explain, json=json)


def check_task(
    file: File,
    at_most: Annotated[str | None, option("EPSILON,DELTA", "The largest privacy loss to accept.")] = None,
    pin: Annotated[str | None, option("ID", "The expected task id; another task is refused.")] = None,
    json: given.Json = False,
) -> None:
    """Verify the guarantee of a task from its parameters.

    FILE is a task. Exit codes: 0 the guarantee holds, 3 not a task, or not the pinned one, 4 less privacy than claimed
    or accepted.
    """
    from shuffledp.collect.task import read_task
    from shuffledp.explain.task import checked, guarantee_about

    with failures_in_json(json, kept=False):
        limit = None if at_most is None else parse_pair("at_most", at_most)
        task = read_task(file)
        if pin is not None and pin.strip().lower() != task.name:
            raise DataError(f"{file} is not the pinned task: its id is {task.name}")
        promise = task.check(at_most=limit)
    if json:
        print_json({"task": task.name, "kept": True, "guarantee": guarantee_about(task, promise)})
        return
    print_sentence(checked(promise))
    if limit is not None:
        print_sentence(f"It also satisfies the accepted epsilon {limit[0]:g} and delta {limit[1]:g}.")
    print_sentence(f"Task id: {task.name}")


def _show(task: Task, *, explain: bool, json: bool) -> None:
    """Print a summary, or all paragraphs with `explain`; raise if the guarantee is false."""
    from shuffledp.collect.task.report import cost
    from shuffledp.explain.task import about, details, promise_of, question, summary, warnings_of

    if json:
        print_json(about(task, cost=cost(task)))
    elif explain:
        parts = details(task, cost=cost(task))
        print_title(parts.pop("Question"))
        print_paragraphs(parts)
    else:
        print_title(question(task))
        print_facts(summary(task))
        for text in warnings_of(task):
            print_sentence(f"Warning: {text}.")
        print_sentence("Details: --explain")
    _, broken = promise_of(task)
    if broken is not None:
        raise BrokenPromiseError("the guarantee of the task is false, as its summary says")


def _answers(domain: str | None, at: str | None, numbers: str | None) -> Answers:
    from shuffledp.cli.domains import inline_list, read_answers
    from shuffledp.collect.task import AnswerList, AnswerRange

    if (domain is None) == (numbers is None):
        raise ParameterError("give the possible answers with either --domain or --range")
    if numbers is not None:
        if at is not None:
            raise ParameterError("--domain-at needs --domain, the file with the answers")
        start, stop = _range(numbers)
        answers = AnswerRange(start, stop + 1)
        with tasks_from_options():
            answers.check()
        return answers
    assert domain is not None
    if at is None:
        return AnswerList(read_answers(domain))
    if inline_list(domain) is not None:
        raise ParameterError("--domain must be the file with the answers for --domain-at, got a list")
    return _answers_at(at, Path(domain))


def _answers_at(address: str, file: Path) -> Answers:
    """Return a list of answers that is kept elsewhere, with the SHA-256 of its bytes."""
    import hashlib

    from shuffledp.collect.task import AnswersElsewhere

    try:
        content = file.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read the list of answers {file}: {error.strerror}") from None
    size = len(content.removesuffix(b"\n").split(b"\n"))
    answers = AnswersElsewhere(address=address, sha256=hashlib.sha256(content).hexdigest(), size=size)
    with tasks_from_options():
        answers.check()
    answers.read(content)
    return answers


def _range(text: str) -> tuple[int, int]:
    start, colon, stop = text.partition(":")
    try:
        found = int(start), int(stop)
    except ValueError:
        found = (1, 0)
    if not colon or found[0] > found[1]:
        raise ParameterError(f"range must be two whole numbers such as 1:5, the smaller first, got {shortened(text)}")
    return found


def _place(name: str, text: str) -> Place:
    from shuffledp.collect.task import Place

    address, equals, key = text.partition("=")
    if not equals or not key:
        raise ParameterError(
            f"{name} must be an address and a public key, such as https://host:8000=KEY, got {shortened(text)}: "
            "`shuffledp keys new` prints the key, and a key file works too"
        )
    place = Place(address, _public_key(key))
    place.check(name)
    return place


def _public_key(text: str) -> str:
    """Return 64 hexadecimal digits as they are, or the public key of a key file."""
    from shuffledp.collect.crypto.keys import read_key
    from shuffledp.collect.task.schema import is_hexadecimal

    if is_hexadecimal(text.lower()):
        return text.lower()
    path = Path(text)
    try:
        content = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        raise ParameterError(
            f"a public key must be 64 hexadecimal digits or a readable file, got {shortened(text)}"
        ) from None
    return content.lower() if is_hexadecimal(content.lower()) else read_key(path).public


def _admission(text: str) -> Admission:
    from shuffledp.validation import one_of

    chosen: Admission = one_of("admission", text, _ADMISSIONS)  # type: ignore[assignment]
    return chosen


_NEW = r"""
shuffledp task new --question Theme? --domain themes.txt --users 10000 \
--epsilon 1 --delta 1e-6 --shuffler http://localhost:8001=shuffler.key \
--analyzer http://localhost:8002=analyzer.key --out theme.task.json
""".strip()

TASK = CommandGroup(
    "Create, show and check tasks: one question to many people.",
    {
        "new": (new_task, _NEW),
        "show": (show_task, "shuffledp task show theme.task.json"),
        "check": (check_task, "shuffledp task check theme.task.json --at-most 1,1e-6"),
    },
)


_MOST_TOKENS = 10_000_000
"""Half a gigabyte."""

Out = Annotated[Path, option("FILE", "The file to write, readable by its owner only; never overwritten.")]


def new_key(out: Out, json: given.Json = False) -> None:
    """Create a key pair for one server of one task, and print the public key.

    The task contains the public key; the server reads the file. Create a new one for each task.
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
    """Create a token for the next server or for the operator of a console, and print its SHA-256.

    Start a shuffler with the SHA-256 and --next, and the server that pulls its batches with the file and --token. Start
    an analyzer with the SHA-256 and --operator; the file is then the sign-in to its console.
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
    number: Annotated[int, option("NUMBER", "Number of tokens.", parser=whole_number)],
    out: Annotated[Path, option("FILE", "The tokens to distribute, one per line; never overwritten.")],
    hashes: Annotated[Path, option("FILE", "Their SHA-256, one per line, for the shuffler.")],
    force: Annotated[bool, flag("--force", "Overwrite the file of hashes.")] = False,
) -> None:
    """Create one-time tokens for a task with --admission tokens.

    Each token admits one report. The shuffler needs the hashes only. Do not record who receives which token.
    """
    from shuffledp.atomic_file import check_folder, write_whole
    from shuffledp.cli.options import keep_existing, refuse_repeated
    from shuffledp.collect.crypto.keys import refuse_existing_secret, write_secret
    from shuffledp.collect.server.auth import hash_of, new_token

    if not 1 <= number <= _MOST_TOKENS:
        raise ParameterError(f"number must be from 1 to {_MOST_TOKENS:,}, got {number}")
    _refuse_folder(out)
    refuse_repeated([out, hashes])
    refuse_existing_secret(out)
    keep_existing([hashes], force=force)
    check_folder(hashes)
    made = [new_token() for _ in range(number)]
    note_written(write_secret(out, "\n".join(made)))
    # sorted, so that the position of a hash does not reveal that of its token
    ordered = sorted(hash_of(one).hex() for one in made)
    write_whole(hashes, ("\n".join(ordered) + "\n").encode())
    note_written(hashes)


def destroy(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, hidden=True)],
    task: Annotated[list[Path], option("FILE", "Each task that uses the key.")],
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
    from shuffledp.collect.task import read_task
    from shuffledp.collect.task.report import lost_without_key, position_of

    pair, tasks, now = read_key(file), [read_task(path) for path in task], datetime.now(UTC)
    for one in tasks:
        for sentence in lost_without_key(one, pair, now=now):
            print_sentence(sentence)
        if store is not None:
            for sentence in _stored(one, pair, store):
                print_sentence(sentence)
        elif position_of(one, pair) > 0:
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


def _refuse_folder(out: Path) -> None:
    if out.is_dir():
        raise ParameterError(f"out must be a file, got the folder {out}")


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _open_store(task: Task, pair: KeyPair, store: str) -> ReportStore | TallyStore:
    """Open the store of the server that has this key."""
    from shuffledp.collect.store import open_report_store, open_tally_store

    path = Path(store.removeprefix("sqlite:///"))
    if "://" not in str(path) and not path.exists():  # opening would create it
        raise ParameterError(f"there is no store {path}")
    return open_tally_store(store) if pair.public == task.analyzer.key else open_report_store(store)


def _stored(task: Task, pair: KeyPair, store: str) -> Iterator[str]:
    """Yield what the store has of the task: what is waiting at a shuffler, and fingerprints."""
    from shuffledp.collect.store import Standing

    with _open_store(task, pair, store) as opened:
        standing = opened.standing(task.id)
    if isinstance(standing, Standing):
        reports = counted(standing.waiting, "report")
        batches = counted(standing.closing + standing.ready, "batch", things="batches")
        yield f"The store has {reports} waiting for a batch and {batches} not yet forwarded for this task."
    if pair.public != task.shufflers[0].key:
        yield "The fingerprints of its messages are deleted from the store, which then accepts no batch of the task."


KEYS = CommandGroup(
    "Create keys and tokens for the servers of a task, and destroy them after it.",
    {
        "new": (new_key, "shuffledp keys new --out shuffler.key"),
        "token": (token, "shuffledp keys token --out analyzer.token"),
        "tokens": (tokens, "shuffledp keys tokens --number 10000 --out tokens.txt --hashes hashes.txt"),
        "destroy": (destroy, "shuffledp keys destroy shuffler.key --task theme.task.json --yes"),
    },
)

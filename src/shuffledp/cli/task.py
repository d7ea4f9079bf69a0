"""Make, read and check a task: one question put to many people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shuffledp.cli import options as given
from shuffledp.cli.help import failures_in_json, options_named, tasks_from_options
from shuffledp.cli.options import option, parse_pair, shortened, whole_number
from shuffledp.cli.output import note_written, print_json, print_note, print_paragraphs, print_sentence, print_title
from shuffledp.errors import BrokenPromiseError, DataError, ParameterError

if TYPE_CHECKING:
    from shuffledp.collect.task import Place, Task
    from shuffledp.collect.task.schema import Answers
    from shuffledp.collect.task.task import Admission

_ANSWERS, _PEOPLE, _SERVERS, _TIME = "Answers", "People", "Servers", "Time"
_ADMISSIONS = ("anybody", "secret", "tokens")

File = Annotated[Path, typer.Argument(metavar="FILE", show_default=False, hidden=True)]


def new(
    question: Annotated[str, option("WORDS", "What people are asked.")],
    users: Annotated[int, option("NUMBER", "How many people's reports are mixed together.", parser=whole_number)],
    epsilon: given.Epsilon,
    delta: given.Delta,
    shuffler: Annotated[
        list[str],
        option("URL=KEY", "A shuffler and its public key, or its key's file; several in their order.", panel=_SERVERS),
    ],
    analyzer: Annotated[str, option("URL=KEY", "The analyzer and its public key.", panel=_SERVERS)],
    out: Annotated[Path, option("FILE", "Where the task is written.", panel=given.RESULT)],
    domain: Annotated[
        Path | None, option("FILE", "The answers that are counted, one in each line.", panel=_ANSWERS)
    ] = None,
    domain_at: Annotated[
        str | None,
        option("URL", "Where people find that file, if it is too long for the task itself.", panel=_ANSWERS),
    ] = None,
    range_: Annotated[
        str | None,
        option("A:B", "The whole numbers from A to B, both included.", name="--range", panel=_ANSWERS),
    ] = None,
    honest_users: Annotated[
        int | None,
        option(
            "NUMBER",
            "How many of them surely follow the protocol; all unless given.",
            panel=_PEOPLE,
            parser=whole_number,
        ),
    ] = None,
    admission: Annotated[str, option("|".join(_ADMISSIONS), "Who may send a report.", panel=_PEOPLE)] = "anybody",
    opens: Annotated[
        str, option("TIME", "From when on people answer: a time in UTC, or how long from now.", panel=_TIME)
    ] = "now",
    closes: Annotated[
        str, option("TIME", "Until when: a time in UTC, or how long after it opens.", panel=_TIME)
    ] = "30d",
    time_precision: Annotated[str, option("LENGTH", "In which steps a report says its time.", panel=_TIME)] = "1h",
    protocol: Annotated[
        str | None, option("NAME", "Chosen by error and messages unless given.", panel=given.PROTOCOL)
    ] = None,
    force: given.Force = False,
    json: given.Json = False,
) -> None:
    """Make a task: a public file with the question, the noise, and the servers with their keys.

    KEY is what `shuffledp keys new` prints, or a file with it. The task's id is the SHA-256 of its content.
    Keys belong to one task: make new ones for each.
    """
    from datetime import UTC, datetime

    from shuffledp.atomic_file import check_folder, write_whole
    from shuffledp.cli.options import keep_existing, length_of, moment_of
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.collect.task.new_task import new_task

    keep_existing([out], force=force)
    check_folder(out)
    now = datetime.now(UTC).replace(microsecond=0)
    opening = now if opens == "now" else moment_of(opens, name="--opens", after=now)
    answers = _answers(domain, domain_at, range_)
    answers.check()
    named = options_named("question", "users", "honest_users", "epsilon", "delta", "admission")
    with ProgressBar() as progress, named, tasks_from_options():
        made = new_task(
            question=question,
            answers=answers,
            users=users,
            honest_users=honest_users,
            epsilon=epsilon,
            delta=delta,
            shufflers=[_place("--shuffler", text) for text in shuffler],
            analyzer=_place("--analyzer", analyzer),
            opens=opening,
            closes=moment_of(closes, name="--closes", after=opening),
            protocol=protocol,
            time_precision=int(length_of(time_precision, name="--time-precision").total_seconds()),
            admission=_admission(admission),
            progress=progress,
        )
    write_whole(out, made.to_json().encode())
    note_written(out)
    print_note("note: its keys are for this task alone, and are destroyed when it is over: make new ones for the next")
    _show(made, json=json)


def show(file: File, json: given.Json = False) -> None:
    """What a task asks, counts, promises and costs, and who must be trusted, in words.

    FILE is a task. The exit code is 4 if it does not keep what it promises.
    """
    from shuffledp.collect.task import read_task

    _show(read_task(file), json=json)


def check(
    file: File,
    at_most: Annotated[
        str | None, option("EPSILON,DELTA", "What is allowed here, if that is less than the task claims.")
    ] = None,
    pin: Annotated[str | None, option("ID", "The id of the task that you were told of; another is refused.")] = None,
    json: given.Json = False,
) -> None:
    """Compute a task's privacy from its parameters.

    FILE is a task. Exit codes: 0 it keeps its promise, 3 it is no task, or not the one that was pinned, 4 it gives less
    privacy than it claims or than is allowed.
    """
    from shuffledp.collect.task import read_task
    from shuffledp.explain.task import guarantee_about
    from shuffledp.formatting import share_at_most

    with failures_in_json(json, kept=False):
        limit = None if at_most is None else parse_pair("--at-most", at_most)
        task = read_task(file)
        if pin is not None and pin.strip().lower() != task.name:
            raise DataError(f"{file} is not the task that was pinned: its id is {task.name}")
        promise = task.check(at_most=limit)
    if json:
        print_json({"task": task.name, "kept": True, "guarantee": guarantee_about(task, promise)})
        return
    how = "exactly" if promise.exact else "as an upper bound"
    print_sentence(
        f"Kept: at epsilon {promise.epsilon:g} delta is at most {share_at_most(promise.reached, digits=3)}, computed "
        f"{how}; the task claims {promise.delta:g}."
    )
    if limit is not None:
        print_sentence(f"It also gives the epsilon {limit[0]:g} and delta {limit[1]:g} that are allowed here.")
    print_sentence(f"Id of the task: {task.name}")


def _show(task: Task, *, json: bool) -> None:
    from shuffledp.collect.task.report import cost
    from shuffledp.explain.task import about, in_words, promise_of

    spent = cost(task)
    if json:
        print_json(about(task, cost=spent))
    else:
        parts = in_words(task, cost=spent)
        print_title(parts.pop("Question"))
        print_paragraphs(parts)
    _, broken = promise_of(task)
    if broken is not None:
        raise BrokenPromiseError("the task does not keep what it promises, as said under its guarantee")


def _answers(domain: Path | None, at: str | None, numbers: str | None) -> Answers:
    from shuffledp.cli.domains import read_domain
    from shuffledp.collect.task import AnswerList, AnswerRange

    if (domain is None) == (numbers is None):
        raise ParameterError("say which answers are counted: either --domain with a file, or --range with numbers")
    if numbers is not None:
        if at is not None:
            raise ParameterError("--domain-at is for a list of answers: give its file with --domain, or leave it out")
        start, stop = _range(numbers)
        answers = AnswerRange(start, stop + 1)
        with tasks_from_options():
            answers.check()
        return answers
    assert domain is not None
    if at is not None:
        return _answers_at(at, domain)
    return AnswerList([str(label) for label in read_domain(domain, "answer", data_files=[], delimiter=None)])


def _answers_at(address: str, file: Path) -> Answers:
    """The list by its fingerprint, as the file is byte by byte."""
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
        raise ParameterError(f"--range must be two whole numbers such as 1:5, the smaller first; got {shortened(text)}")
    return found


def _place(name: str, text: str) -> Place:
    from shuffledp.collect.task import Place

    address, equals, key = text.partition("=")
    if not equals or not key:
        raise ParameterError(
            f"{name} needs an address and a public key, such as https://host:8000=KEY with what `shuffledp keys new` "
            f"printed, or with a file; got {shortened(text)}"
        )
    place = Place(address, _public_key(key))
    place.check(name)
    return place


def _public_key(text: str) -> str:
    """64 hexadecimal digits as they are; otherwise those of a file, or of the private key in a file."""
    from shuffledp.collect.crypto.keys import read_key
    from shuffledp.collect.task.schema import is_hexadecimal

    if is_hexadecimal(text.lower()):
        return text.lower()
    path = Path(text)
    try:
        content = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        raise ParameterError(
            f"a public key has 64 hexadecimal digits, or is in a file that can be read; got {shortened(text)}"
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

COMMANDS: dict[str, tuple[Callable[..., Any], str]] = {
    "new": (new, _NEW),
    "show": (show, "shuffledp task show theme.task.json"),
    "check": (check, "shuffledp task check theme.task.json --at-most 1,1e-6"),
}
"""What `shuffledp task` can do, each with an example."""

"""`shuffledp task`: create, show and check tasks, and series, which ask one question in several rounds."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shuffledp.atomic_file import check_folder, write_whole
from shuffledp.cli import options as given
from shuffledp.cli.options import (
    Without,
    integer,
    keep_existing,
    moment_of,
    option,
    parse_pair,
    seconds_of,
    tasks_from_options,
)
from shuffledp.cli.output import (
    ProgressBar,
    failures_in_json,
    new_table,
    note_written,
    numbers,
    print_facts,
    print_json,
    print_note,
    print_paragraphs,
    print_sentence,
    print_title,
    print_whole,
)
from shuffledp.cli.task_options import (
    Admitted,
    AnswerOptions,
    AskedBy,
    HonestUsers,
    TaskProtocol,
    admission_of,
    confirmation,
    edges_tip,
    place_of,
    second_task,
    servers_of_rounds,
    text_answers,
)
from shuffledp.errors import BrokenPromiseError, DataError, ParameterError

if TYPE_CHECKING:
    from shuffledp.cli.task_options import Confirmation
    from shuffledp.collect.task import Series, Task
    from shuffledp.collect.task.answers import Answers

_SERVERS, _TIME = "Servers", "Time"


def new_task(
    question: Annotated[str, option("WORDS", "The question that people answer.")],
    users: Annotated[int, integer("Number of reports per batch.")],
    epsilon: given.Epsilon,
    delta: given.Delta,
    shuffler: Annotated[
        list[str],
        option("URL=KEY", "A shuffler and its public key or key file; repeat for a chain.", panel=_SERVERS),
    ],
    analyzer: Annotated[str, option("URL=KEY", "The analyzer and its public key or key file.", panel=_SERVERS)],
    out: Annotated[Path, option("FILE", "The file to write the task to.", panel=given.RESULT)],
    *,
    answers: AnswerOptions,
    texts: given.Texts,
    confirm: Annotated[
        float | None,
        option("SHARE", "Part of epsilon for a second task that counts the texts, such as 0.4.", panel=given.TEXTS),
    ] = None,
    honest_users: HonestUsers = None,
    admission: Admitted = "anybody",
    asked_by: AskedBy,
    opens: Annotated[str, option("TIME", "Start: a time in UTC, or a length of time from now.", panel=_TIME)] = "now",
    closes: Annotated[
        str, option("TIME", "End: a time in UTC, or a length of time after the start.", panel=_TIME)
    ] = "30d",
    time_precision: Annotated[str, option("LENGTH", "Precision of the time in a report.", panel=_TIME)] = "1h",
    protocol: TaskProtocol = None,
    force: given.Force = False,
    explain: given.Explain = False,
    json: given.Json = False,
) -> None:
    """Create a task: a public file with the question, the noise, and the servers with their keys.

    KEY is the public key that `shuffledp keys new` prints, or its file. The id of a task is the SHA-256 of its content.
    Create new keys for each task.
    """
    from shuffledp.collect import new_task as create
    from shuffledp.collect.task.follow_up import found_texts
    from shuffledp.release.serialize import from_text as read_release

    keep_existing([out], force=force)
    check_folder(out)
    opening = _opening(opens)
    choices = texts.choices()
    answers.check(free_text=texts.free_text, answers_from=answers.answers_from)
    if confirm is not None and choices is None:
        raise ParameterError("--confirm needs --free-text: a second task counts the texts that the first one finds")
    people = {"users": users, "honest_users": honest_users}
    with ProgressBar() as progress, tasks_from_options():
        first, split = None, None
        possible: Answers
        if choices is not None:
            possible, split = text_answers(choices, people, epsilon=epsilon, delta=delta, confirm=confirm)
        elif answers.answers_from is not None:
            first = read_release(answers.answers_from)
            possible = found_texts(first)
        else:
            possible = answers.answers()
        possible.check()
        made = create(
            question=question,
            answers=possible,
            users=users,
            honest_users=honest_users,
            epsilon=epsilon if split is None else split.find.epsilon,
            delta=delta if split is None else split.find.delta,
            shufflers=[place_of("shuffler", text) for text in shuffler],
            analyzer=place_of("analyzer", analyzer),
            opens=opening,
            closes=moment_of(closes, name="closes", after=opening),
            protocol=protocol,
            time_precision=seconds_of(time_precision, name="time_precision"),
            admission=admission_of(admission),
            **vars(asked_by),
            progress=progress,
        )
    _write(made, out, note="use the keys for this task only, and destroy them when it is over")
    more = confirmation(made, split) if split else None if first is None else second_task(made, first)
    _show(made, explain=explain, json=json, more=more)


def _opening(text: str) -> datetime:
    now = datetime.now(UTC).replace(microsecond=0)
    return now if text == "now" else moment_of(text, name="opens", after=now)


def _write(made: Task | Series, out: Path, *, note: str) -> None:
    from shuffledp.collect.task import Series

    write_whole(out, made.to_json().encode())
    note_written(out)
    print_note(f"note: {note}")
    if (tip := edges_tip(made.task(1) if isinstance(made, Series) else made)) is not None:
        print_note(f"tip: {tip}")


def show_task(file: given.File, explain: given.Explain = False, json: given.Json = False) -> None:
    """Show the question, the guarantee and the servers of a task.

    FILE is a task. The exit code is 4 if the claimed guarantee is false.
    """
    from shuffledp.collect.task import read_task

    _show(read_task(file), explain=explain, json=json)


def check_task(
    file: given.File,
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
        limit = parse_pair("at_most", at_most)
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


def _show(task: Task, *, explain: bool, json: bool, more: Confirmation | None = None) -> None:
    """Print a summary, or all paragraphs with `explain`; raise if the guarantee is false.

    `more` is about another task of the same people.
    """
    from shuffledp.collect.task.report import cost
    from shuffledp.explain.task import about, details, promise_of, question, summary, warnings_of

    if json:
        print_json({**about(task, cost=cost(task)), **({} if more is None else {"same_people": more.plain})})
    elif explain:
        parts = details(task, cost=cost(task))
        print_title(parts.pop("Question"))
        print_paragraphs({**parts, **({} if more is None else more.facts)})
    else:
        print_title(question(task))
        print_facts({**summary(task), **({} if more is None else more.facts)})
        for text in warnings_of(task):
            print_sentence(f"Warning: {text}.")
        print_sentence("Details: --explain")
    _, broken = promise_of(task)
    if broken is not None:
        raise BrokenPromiseError("the guarantee of the task is false, as its summary says")


def new_series(
    question: Annotated[str, option("WORDS", "The question that people answer in every round.")],
    rounds: Annotated[int, integer("Number of rounds, such as 52.")],
    period: Annotated[str, option("LENGTH", "Length of a round, such as 7d or 1h.")],
    users: Annotated[int, integer("Number of reports per batch.")],
    epsilon: Annotated[float, option("NUMBER", "Privacy loss of all rounds together.")],
    delta: Annotated[float, option("NUMBER", "Probability of a larger privacy loss, of all rounds together.")],
    shuffler: Annotated[
        list[str],
        option(
            "URL=KEY",
            "A shuffler and its public key, or a folder or list of keys, one per round; repeat for a chain.",
            panel=_SERVERS,
        ),
    ],
    analyzer: Annotated[
        str, option("URL=KEY", "The analyzer and its public key, or a folder or list of keys.", panel=_SERVERS)
    ],
    out: Annotated[Path, option("FILE", "The file to write the series to.", panel=given.RESULT)],
    *,
    answers: Annotated[AnswerOptions, Without({"answers_from"})],
    texts: given.Texts,
    honest_users: HonestUsers = None,
    admission: Admitted = "anybody",
    asked_by: AskedBy,
    opens: Annotated[
        str, option("TIME", "Start of the first round: a time in UTC, or a length of time from now.", panel=_TIME)
    ] = "now",
    time_precision: Annotated[
        str | None, option("LENGTH", "Precision of the time in a report; default: 1h, or the period.", panel=_TIME)
    ] = None,
    protocol: TaskProtocol = None,
    force: given.Force = False,
    explain: given.Explain = False,
    json: given.Json = False,
) -> None:
    """Create a series: a public file that fixes the tasks of all rounds.

    Epsilon and delta hold for a person who answers all rounds. KEY is a public key of `shuffledp keys new`, its file,
    or the folder of `shuffledp keys new --number`, which has a key for each round. The id of a series is the SHA-256
    of its content. Who pins it pins every round.
    """
    from shuffledp.collect import new_series as create

    keep_existing([out], force=force)
    check_folder(out)
    opening = _opening(opens)
    choices = texts.choices()
    answers.check(free_text=texts.free_text)
    precision = None if time_precision is None else seconds_of(time_precision, name="time_precision")
    people = {"users": users, "honest_users": honest_users}
    with ProgressBar() as progress, tasks_from_options():
        possible: Answers
        if choices is not None:
            possible, _ = text_answers(choices, people, epsilon=epsilon, delta=delta, confirm=None)
        else:
            possible = answers.answers()
        possible.check()
        made = create(
            question=question,
            answers=possible,
            users=users,
            honest_users=honest_users,
            epsilon=epsilon,
            delta=delta,
            rounds=rounds,
            period=seconds_of(period, name="period"),
            servers=servers_of_rounds(shuffler, analyzer, rounds=rounds),
            opens=opening,
            protocol=protocol,
            time_precision=precision,
            admission=admission_of(admission),
            **vars(asked_by),
            progress=progress,
        )
    key_of_round = "destroy the key of a round when the round is over and released"
    one_key = "use the keys for this series only, and destroy them when it is over"
    _write(made, out, note=key_of_round if len(made.servers) > 1 else one_key)
    _show_series(made, explain=explain, json=json)


def show_series(file: given.File, explain: given.Explain = False, json: given.Json = False) -> None:
    """Show the question, the rounds and the guarantee of a series, of one round and of all together.

    FILE is a series. The exit code is 4 if a claimed guarantee is false.
    """
    from shuffledp.collect import read_series

    _show_series(read_series(file), explain=explain, json=json)


def check_series(
    file: given.File,
    at_most: Annotated[
        str | None, option("EPSILON,DELTA", "The largest privacy loss to accept, of all rounds together.")
    ] = None,
    pin: Annotated[str | None, option("ID", "The expected id of the series; another one is refused.")] = None,
    json: given.Json = False,
) -> None:
    """Verify the guarantee of all rounds of a series together, and of one round.

    FILE is a series. Exit codes: 0 the guarantee holds, 3 not a series, or not the pinned one, 4 less privacy than
    claimed or accepted.
    """
    from shuffledp.collect import read_series
    from shuffledp.explain.task import checked as checked_round
    from shuffledp.explain.task import guarantee_about
    from shuffledp.explain.task_series import checked, total_about

    with failures_in_json(json, kept=False):
        limit = parse_pair("at_most", at_most)
        series = read_series(file)
        if pin is not None and pin.strip().lower() != series.name:
            raise DataError(f"{file} is not the pinned series: its id is {series.name}")
        promise = series.check(at_most=limit)
    if json:
        one = guarantee_about(series.task(1), promise.round)
        print_json({"series": series.name, "kept": True, "guarantee": one, "total": total_about(series, promise)})
        return
    print_sentence(checked(promise))
    print_sentence(f"One round: {checked_round(promise.round)}")
    if limit is not None:
        print_sentence(f"All rounds together also satisfy the accepted epsilon {limit[0]:g} and delta {limit[1]:g}.")
    print_sentence(f"Series id: {series.name}")


def _show_series(series: Series, *, explain: bool, json: bool) -> None:
    """Print a summary, or all paragraphs with `explain`; raise if the guarantee is false."""
    from shuffledp.explain.task import question, warnings_of
    from shuffledp.explain.task_series import about, details, promise_of, round_rows, summary

    if json:
        print_json(about(series))
    elif explain:
        parts = details(series)
        print_title(parts.pop("Question"))
        print_paragraphs(parts)
    else:
        print_title(question(series.task(1)))
        print_facts(summary(series))
        table = new_table(*numbers("round"), "opens", "state", "task id begins")
        for row in round_rows(series):
            table.add_row(*row)
        print_whole(table)
        for text in warnings_of(series.task(1)):
            print_sentence(f"Warning: {text}.")
        print_sentence("Details: --explain")
    _, broken = promise_of(series)
    if broken is not None:
        raise BrokenPromiseError("a guarantee of the series is false, as its summary says")

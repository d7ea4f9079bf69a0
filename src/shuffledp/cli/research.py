"""Research commands: amplify, compare, separate and verify."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column

from shuffledp.atomic_file import check_folder, write_whole
from shuffledp.cli import options as given
from shuffledp.cli.options import (
    RESULT,
    flag,
    integer,
    option,
    parse_whole,
    parse_wholes,
)
from shuffledp.cli.output import (
    ProgressBar,
    least_width,
    new_table,
    note_written,
    numbers,
    print_in_parts,
    print_indented,
    print_json,
    print_sentence,
    print_sentences,
    print_table,
    print_title,
    print_whole,
    width,
)
from shuffledp.errors import ParameterError
from shuffledp.explain.figures import check_figure
from shuffledp.formatting import counted, epsilon_delta, privacy_figure, share_at_least
from shuffledp.validation import one_of, target_delta

if TYPE_CHECKING:
    from rich.table import Table

    from shuffledp.histogram.tally import Tally
    from shuffledp.paper.separation import Separation
    from shuffledp.paper.statements import Statement
    from shuffledp.release.compare import Measurement

_TARGETS = (0.1, 0.5, 1.0)  # epsilons for which the largest local epsilon is computed


def amplify(
    epsilon0: Annotated[float, option("NUMBER", "Privacy loss of every single message.")],
    users: Annotated[int, integer("Number of people, who send one message each.")],
    delta: given.Delta,
    json: given.Json = False,
) -> None:
    """Compute the privacy of a shuffled local randomizer by every known bound."""
    from shuffledp.accounting.amplification import (
        MOST_LOCAL_EPSILON,
        Amplification,
        blanket_epsilon,
        closed_form_epsilon,
        largest_local_epsilon,
        unavoidable_epsilon,
    )

    if not 0 < epsilon0 <= MOST_LOCAL_EPSILON:
        raise ParameterError(f"epsilon0 must be above 0 and at most {MOST_LOCAL_EPSILON:g}, got {epsilon0:g}")
    shuffled, delta = Amplification(local_epsilon=epsilon0, users=users), target_delta(delta)
    question: dict[str, Any] = {"local_epsilon": shuffled.local_epsilon, "users": shuffled.users, "delta": delta}
    with ProgressBar() as progress:
        progress("computing", 0.0)
        bounds = {
            "closed form": closed_form_epsilon(**question),
            "privacy blanket": blanket_epsilon(**question),
            "tight": shuffled.epsilon(delta),
            "lower bound": unavoidable_epsilon(**question),
        }
        backwards = {}
        for done, target in enumerate(_TARGETS, start=1):
            progress("computing", done / (len(_TARGETS) + 1))
            backwards[f"{target:g}"] = largest_local_epsilon(epsilon=target, delta=delta, users=shuffled.users)
    if json:
        print_json({**question, "epsilon": bounds, "largest_local_epsilon": backwards})
    else:
        _show_amplification(bounds, backwards, **question)


def _show_amplification(
    bounds: dict[str, float | None],
    backwards: dict[str, float],
    *,
    local_epsilon: float,
    users: int,
    delta: float,
) -> None:
    from shuffledp.explain.research import AMPLIFICATION, amplified_epsilon

    people = counted(users, "person", things="people")
    print_title(
        f"{people}, each message {privacy_figure(local_epsilon)}-private, shuffled: epsilon at delta "
        f"{privacy_figure(delta)}"
    )
    table = new_table("", *numbers("epsilon", no_wrap=True), "source")
    for name, epsilon in bounds.items():
        table.add_row(
            name, amplified_epsilon(name, epsilon), AMPLIFICATION[name], style="bold" if name == "tight" else None
        )
    print_whole(table)
    for target, local in backwards.items():
        most = share_at_least(local, digits=3)
        print_sentence(f"The largest local epsilon that shuffles down to {target} is {most}.")


_SYNTHETIC = ("zipf", "uniform", "adversarial")


def compare(
    bins: Annotated[str, option("NUMBERS", "Numbers of possible values: 100,1000,1e6,2^64.")],
    epsilon: given.Epsilon,
    delta: given.Delta,
    *,
    users: Annotated[str | None, option("NUMBERS", "Numbers of people: 20000,1e6.")] = None,
    trials: Annotated[int, integer("Number of releases to measure per protocol.")] = 20,
    data: Annotated[str, option("NAME|FILE", "zipf, uniform, adversarial, or a file (with --column).")] = "zipf",
    column: Annotated[str | None, option("COLUMN", "The column of the file to count.")] = None,
    reading: given.FileFormat,
    protocols: Annotated[
        str | None, option("NAMES", "Only these, with commas; `shuffledp protocols` lists all.")
    ] = None,
    seed: given.Seed = 0,
    beta: given.Beta = 0.05,
    figure: given.Figure = None,
    markdown: Annotated[Path | None, option("FILE", "Write the tables to a file.", panel=RESULT)] = None,
    json: given.Json = False,
) -> None:
    """NOT PRIVATE: measure error and cost of every protocol.

    Protocols of the local, the shuffled and the central model run on the
    same people and values, with the same guarantee.
    """
    from shuffledp.explain.plots import draw_comparison
    from shuffledp.explain.research import markdown_page
    from shuffledp.release.compare import compare as measured

    if figure is not None:
        check_figure(figure)
    if markdown is not None:
        check_folder(markdown)
    people = [] if users is None else parse_wholes(users, name="users")
    question: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "beta": beta, "trials": trials}
    with ProgressBar() as progress:
        if data in _SYNTHETIC:
            if not people:
                raise ParameterError("users must be given for synthetic data, such as 20000 or 1e6")
            chosen: str | Tally = data
        else:
            chosen = _counted(data, column, **vars(reading))
            if people not in ([], [chosen.total]):
                raise ParameterError(f"users must be left out with a file, which has {chosen.total:,} people")
            people = [chosen.total]
        results = measured(
            users=people,
            bins=parse_wholes(bins, name="bins"),
            data=chosen,
            protocols=None if protocols is None else [name.strip() for name in protocols.split(",")],
            seed=seed,
            progress=progress,
            **question,
        )
    if json:
        print_json(results)
    else:
        _show_comparison(results, data=data, **question)
    if markdown is not None:
        write_whole(markdown, markdown_page(results, data=data, **question).encode())
        note_written(markdown)
    if figure is not None:
        draw_comparison(results, figure, epsilon=epsilon, delta=delta)
        note_written(figure)


def _counted(name: str, column: str | None, **how: str | None) -> Tally:
    from shuffledp.data import Source
    from shuffledp.data.people import People

    if column is None:
        raise ParameterError(f"data must be {', '.join(_SYNTHETIC)}, or a file together with column, got {name!r}")
    with People(Source.of(name, column=column, **how)) as people:
        people.number(count=True)
        return people.numbered()


def _show_comparison(
    results: list[Measurement], *, epsilon: float, delta: float, beta: float, trials: int, data: str
) -> None:
    from shuffledp.explain.research import CELLS, by_case, legend

    for (users, bins), rows in by_case(results).items():
        people, values = counted(users, "person", things="people"), counted(bins, "possible value")
        print_title(f"{people}, {values}, {epsilon_delta(epsilon, delta)}")
        measured = [row for row in rows if not row.problem]
        left_out = _left_out(measured)
        if measured:
            print_whole(_comparison_table(measured, [name for name in CELLS if name not in left_out]))
            for line in legend(beta=beta, trials=trials, data=data):
                print_indented(line)
        if left_out:
            print_indented(f"no room for: {', '.join(left_out)}; a wider window or --json shows them")
        for row in rows:
            if row.problem:
                print_sentence(f"{row.title}: {row.problem}.")
        print_sentence("")
    print_sentence("Not private: this compares with the true counts.")


def _left_out(rows: list[Measurement]) -> tuple[str, ...]:
    """Return the least important columns, which do not fit."""
    from shuffledp.explain.research import CELLS

    for number in range(len(_DISPENSABLE)):
        kept = [name for name in CELLS if name not in _DISPENSABLE[:number]]
        if least_width(_comparison_table(rows, kept)) <= width():
            return _DISPENSABLE[:number]
    return _DISPENSABLE


def _comparison_table(rows: list[Measurement], columns: Sequence[str]) -> Table:
    from shuffledp.explain.research import CELLS

    table = new_table()
    for name in columns:
        if name == "protocol":
            table.add_column(name, min_width=_TITLE_WIDTH)
        else:
            table.add_column(name, justify="left" if name == "model" else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(CELLS[name](row) for name in columns))
    return table


_TITLE_WIDTH = 22  # narrower titles would be broken into single words
_DISPENSABLE = ("seconds", "bits", "model", "messages")


FALSE_STATEMENT = 4
"""The exit code if a statement fails."""


def verify(
    protocol: Annotated[str | None, option("NAME", "Check only one: {verified}.")] = None,
    json: given.Json = False,
) -> None:
    """Check the paper's statements and the privacy of every protocol.

    Each claimed number stands beside an independently computed one. Without
    --protocol, one protocol of every class is checked. This takes seconds.

    The basis says how the number was computed: enumerated (all outcomes are
    listed with exact probabilities), recomputed (the distributions that a
    theorem compares are summed again), noise (the exact distribution of the
    noise) or bound (an upper bound; the true number may be smaller).

    Exit codes: 0 every statement holds, 2 a wrong parameter, 4 a statement fails.
    """
    from shuffledp.explain.research import statement_fields
    from shuffledp.paper.protocol_checks import check

    with ProgressBar() as progress:
        statements = list(check(protocol, progress=progress))
    holds = all(statement.holds for statement in statements)
    if json:
        print_json({"holds": holds, "statements": [statement_fields(statement) for statement in statements]})
    else:
        _show_checks(statements)
    if not holds:
        raise typer.Exit(FALSE_STATEMENT)


def _show_checks(statements: Sequence[Statement]) -> None:
    from shuffledp.explain.research import statement_cells

    table = new_table(
        "statement",
        *numbers("claimed", "computed", "slack", no_wrap=True),
        Column("basis", no_wrap=True),
        Column("verdict", no_wrap=True),
        padding=(0, 1, 0, 0),
    )
    for statement in statements:
        table.add_row(*statement_cells(statement), style=None if statement.holds else "bold red")
    print_table(table)
    print_sentence(f"{sum(statement.holds for statement in statements)} of {len(statements)} statements hold.")


def separate(
    problem: Annotated[str, option("NAME", "pointer-chasing, pointer-jumping, support or bernoulli.")],
    epsilon: given.Epsilon,
    delta: given.Delta,
    length: Annotated[str | None, option("NUMBERS", "Lengths of the permutations: 10,100,1000.", name="--l")] = None,
    height: Annotated[
        str | None,
        option("NUMBERS", "Numbers of levels (pointer-jumping) or of items (support): 2,4,8.", name="--h"),
    ] = None,
    branching: Annotated[
        str | None, option("NUMBER", "Children of a node (pointer-jumping); default: h^4.", name="--s")
    ] = None,
    bins: Annotated[str | None, option("NUMBER", "Number of possible values (support); default: 1024.")] = None,
    alpha: Annotated[str | None, option("NUMBERS", "Errors of the mean (bernoulli): 0.1,0.03,0.01.")] = None,
    local: Annotated[bool, flag("--local/--no-local", "Simulate the local baseline, which is slow.")] = True,
    seed: given.Seed = 0,
    figure: given.Figure = None,
    json: given.Json = False,
) -> None:
    """Compute the number of people that each model needs for the same problem.

    This reproduces Table 2 of the paper.
    """
    from shuffledp.explain.plots import draw_separation
    from shuffledp.paper.separation import PROBLEMS
    from shuffledp.paper.separation import separate as separated

    one_of("problem", problem, PROBLEMS)
    sizes = _sizes(problem, {"l": length, "h": height, "s": branching, "bins": bins, "alpha": alpha})
    if figure is not None:
        check_figure(figure)
    with ProgressBar() as progress:
        result = separated(problem, epsilon=epsilon, delta=delta, seed=seed, local=local, progress=progress, **sizes)
    if json:
        print_json(result.to_dict())
    else:
        _show_separation(result)
    if figure is not None:
        draw_separation([result], figure)
        note_written(figure)


def _show_separation(result: Separation) -> None:
    from shuffledp.explain.research import notes

    print_title(f"{result.problem}, {epsilon_delta(result.epsilon, result.delta)}: people needed")
    print_in_parts(partial(_separation_table, result), range(len(result.sizes)))
    print_sentences(notes(result))


def _separation_table(result: Separation, chosen: Sequence[int]) -> Table:
    from shuffledp.explain.research import label, people

    sizes = (f"{result.size_name} = {result.sizes[at]:,}" for at in chosen)
    table = new_table(Column("", no_wrap=True), *numbers(*sizes, no_wrap=True))
    previous = "exact"
    for column, cells in zip(result.columns, result.cells, strict=True):
        if column.how == "bound" and previous != "bound":
            table.add_section()
        table.add_row(label(column), *(people(cells[at]) for at in chosen))
        previous = column.how
    return table


def _sizes(problem: str, options: dict[str, str | None]) -> dict[str, Any]:
    """Return the given sizes and options, each of which must belong to the problem."""
    known, sizes = _OPTIONS[problem], dict[str, Any]()
    for name, text in options.items():
        if text is not None and name not in known:
            raise ParameterError(f"{name} does not apply to {problem}, which takes {' and '.join(known)}")
        if text is not None:
            parameter, parse = known[name]
            sizes[parameter] = parse(text, name=name)
    return sizes


def _numbers(text: str, *, name: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(f"{name} must be numbers such as 0.1,0.03, got {text!r}") from None


_OPTIONS: dict[str, dict[str, tuple[str, Callable[..., Any]]]] = {
    "pointer-chasing": {"l": ("sizes", parse_wholes)},
    "pointer-jumping": {"h": ("sizes", parse_wholes), "s": ("branching", parse_whole)},
    "support": {"h": ("sizes", parse_wholes), "bins": ("bins", parse_whole)},
    "bernoulli": {"alpha": ("sizes", _numbers)},
}
"""The options of each problem: the parameter of the library, and how its text is parsed."""

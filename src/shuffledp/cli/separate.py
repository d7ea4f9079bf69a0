"""`shuffledp separate`: the number of people that each model needs for a problem, as in Table 2 of the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from shuffledp.cli import options as given
from shuffledp.cli.options import flag, option, parse_whole, read_whole, shortened
from shuffledp.cli.output import (
    new_table,
    note_written,
    print_in_parts,
    print_json,
    print_sentence,
    print_title,
)
from shuffledp.errors import ParameterError
from shuffledp.formatting import epsilon_delta

if TYPE_CHECKING:
    from rich.table import Table

    from shuffledp.paper.separation import Separation


SEPARATE_EXAMPLE = "shuffledp separate --problem support --epsilon 1 --delta 1e-6 --no-local"


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
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.explain.figures import check_figure
    from shuffledp.explain.plots import draw_separation
    from shuffledp.paper.separation import PROBLEMS
    from shuffledp.paper.separation import separate as separated
    from shuffledp.validation import one_of

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
    for line in notes(result):
        print_sentence(line)


def _separation_table(result: Separation, chosen: Sequence[int]) -> Table:
    """Return a table with a column for each of the chosen sizes."""
    from shuffledp.explain.research import label, people

    table = new_table()
    table.add_column("", no_wrap=True)
    for at in chosen:
        table.add_column(f"{result.size_name} = {result.sizes[at]:,}", justify="right", no_wrap=True)
    previous = "exact"
    for column, cells in zip(result.columns, result.cells, strict=True):
        if column.how == "bound" and previous != "bound":
            table.add_section()
        table.add_row(label(column), *(people(cells[at]) for at in chosen))
        previous = column.how
    return table


def _sizes(problem: str, options: dict[str, str | None]) -> dict[str, Any]:
    """Return the given sizes and options, each of which must belong to the problem."""
    given_options = {name: text for name, text in options.items() if text is not None}
    known = _OPTIONS[problem]
    for name in given_options:
        if name not in known:
            raise ParameterError(f"{name} does not apply to {problem}, which takes {' and '.join(known)}")
    return {known[name][0]: known[name][1](name, text) for name, text in given_options.items()}


def _whole_numbers(name: str, text: str) -> tuple[int, ...]:
    return tuple(_people_needed(name, part, "whole numbers such as 10,100,1000", text) for part in text.split(","))


def _numbers(name: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(f"{name} must be numbers such as 0.1,0.03, got {text!r}") from None


def _one_number(name: str, text: str) -> int:
    from shuffledp.validation import whole

    return whole(name, _people_needed(name, text, "one whole number", text))


def _people_needed(name: str, part: str, needed: str, text: str) -> int:
    number = read_whole(part)
    if number is None:
        raise ParameterError(f"{name} must be {needed}, got {shortened(text)}")
    return number


def _bins(name: str, text: str) -> int:
    return parse_whole(text, name=name)


_OPTIONS: dict[str, dict[str, tuple[str, Callable[[str, str], Any]]]] = {
    "pointer-chasing": {"l": ("sizes", _whole_numbers)},
    "pointer-jumping": {"h": ("sizes", _whole_numbers), "s": ("branching", _one_number)},
    "support": {"h": ("sizes", _whole_numbers), "bins": ("bins", _bins)},
    "bernoulli": {"alpha": ("sizes", _numbers)},
}
"""The options of each problem: the parameter of the library, and how its text is parsed."""

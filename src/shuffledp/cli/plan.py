"""`shuffledp plan`: the error and cost of each protocol, without data; and `shuffledp protocols`, their list."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Column

from shuffledp.cli import options as given
from shuffledp.cli.options import flag, integer, option, parse_whole
from shuffledp.cli.output import (
    ProgressBar,
    new_table,
    note_written,
    print_details,
    print_in_parts,
    print_indented,
    print_json,
    print_note,
    print_sentence,
    print_sentences,
    print_title,
    print_whole,
)
from shuffledp.errors import ParameterError
from shuffledp.explain.figures import check_figure
from shuffledp.formatting import at_most, counted, magnitude, privacy_figure, share_at_most
from shuffledp.jsonable import plain
from shuffledp.validation import one_of, values_each

if TYPE_CHECKING:
    from rich.table import Table

    from shuffledp.progress import Progress
    from shuffledp.release.plan import Plan
    from shuffledp.release.plan_rows import PlanRow

_ANYTHING = "any"


def plan(
    users: Annotated[int, integer("Number of people: 1000000, 1e6 or 2^20.")],
    bins: Annotated[
        str, option("NUMBER|any", "Number of possible values: 100000, 1e6, 2^64; any, as in run without a domain.")
    ],
    epsilon: given.Epsilon,
    delta: given.Delta,
    beta: given.Beta = 0.05,
    honest_users: Annotated[int | None, integer("Number of people who follow the protocol; default: all.")] = None,
    target_error: Annotated[
        float | None, option("NUMBER", "Print the epsilon and the people needed for this largest error, in people.")
    ] = None,
    values_per_person: Annotated[int, integer("The most values per person.")] = 1,
    held: Annotated[
        bool, flag("--held", "Plan for local data: nobody sends messages. Shows the central model too.")
    ] = False,
    max_messages: Annotated[
        float | None, option("NUMBER", "The most messages per person on average; default: 1000.")
    ] = None,
    ranges: given.Ranges = False,
    figure: given.Figure = None,
    earlier: Annotated[bool, flag("--earlier", "Add earlier protocols of the shuffled model; slower.")] = False,
    rounds: Annotated[
        int | None,
        integer("Rounds of the same question, such as 52 weeks: epsilon and delta are of all rounds together."),
    ] = None,
    explain: given.Explain = False,
    json: given.Json = False,
) -> None:
    """Predict error and messages of every protocol, without data."""
    from shuffledp.accounting.calibration import rounds_of
    from shuffledp.explain.plan import problem, reasons, warnings
    from shuffledp.explain.plots import draw_trade_off
    from shuffledp.release.compare import trade_off
    from shuffledp.release.plan import plan as planned
    from shuffledp.release.plan_rows import PRACTICAL_MESSAGES

    more = {"--target-error": target_error is not None, "--figure": figure is not None, "--earlier": earlier}
    if rounds is not None:
        rounds_of(rounds)
        _refuse("--rounds plans a series that people answer", {"--ranges": ranges, "--held": held, **more})
    practical = PRACTICAL_MESSAGES if max_messages is None else max_messages
    if ranges:
        own = {"--values-per-person": values_per_person != 1, **more}
        _refuse("--ranges counts one value per person with a protocol of its own", own)
        _check_messages(max_messages, own=1, held=held)
        _plan_ranges(
            bins=bins,
            beta=beta,
            most=practical,
            held=held,
            json=json,
            users=users,
            epsilon=epsilon,
            delta=delta,
            honest_users=honest_users,
        )
        return
    if figure is not None:
        check_figure(figure)
    if target_error is not None and not 0 < target_error < users:
        raise ParameterError(f"target_error must be above 0 and below {users:,} people, got {target_error:g}")
    _check_messages(max_messages, own=values_each(values_per_person), held=held)
    with ProgressBar() as progress:
        answer = planned(
            users=users,
            bins=None if bins == _ANYTHING else parse_whole(bins, name="bins"),
            epsilon=epsilon,
            delta=delta,
            beta=beta,
            honest_users=honest_users,
            values_per_person=values_per_person,
            practical_messages=practical,
            earlier=earlier,
            rounds=1 if rounds is None else rounds,
            progress=progress,
        )
        needs = [] if target_error is None else _needs(answer, target_error, progress)
        budget = {} if max_messages is None or rounds is not None else _most_bins(answer, max_messages)
        drawn = None if figure is None else trade_off(answer, progress=progress)
    cautions = list(warnings(users=answer.users, delta=answer.delta))
    for text in cautions:
        print_note(f"warning: {text}")
    if json:
        rows = {
            name: [{**plain(row), "problem": problem(row)} for row in found]
            for name, found in (("rows", answer.rows), ("curator", answer.curator))
        }
        wishes = {"target_error": needs, "most_bins": budget}
        print_json({**plain(answer), **rows, **reasons(answer), "warnings": cautions, **wishes})
    else:
        _show(answer, held=held)
        print_sentences([*_needed(needs), *_fitting(budget, max_messages)])
        _close(answer, held=held, explain=explain)
    if figure is not None and drawn is not None:
        draw_trade_off(drawn, figure)
        note_written(figure)


def _refuse(why: str, options: dict[str, bool]) -> None:
    """Refuse those of the options that are given."""
    if unused := [name for name, is_given in options.items() if is_given]:
        raise ParameterError(f"{why}: leave out {' and '.join(unused)}")


def _check_messages(max_messages: float | None, *, own: int, held: bool) -> None:
    """Refuse a limit on messages that is too small, or that does not apply to local data."""
    if max_messages is not None and not own <= max_messages < math.inf:
        what = "the message for the value" if own == 1 else "one message per value"
        raise ParameterError(f"max_messages must be at least {own}, {what}, got {max_messages:g}")
    if max_messages is not None and held:
        raise ParameterError("--max-messages does not apply to local data: leave out --held or --max-messages")


def _plan_ranges(*, bins: str, beta: float, most: float, held: bool, json: bool, **asked: Any) -> None:
    """Plan the distribution function instead of single values."""
    from shuffledp.cli.release_output import show_range_plan
    from shuffledp.explain.plan import range_problem, range_recommendation, warnings
    from shuffledp.protocols.target import Target
    from shuffledp.release.plan_rows import advise_ranges, plan_ranges

    if bins == _ANYTHING:
        raise ParameterError("--ranges needs the number of possible values: give --bins a number")
    target = Target(bins=parse_whole(bins, name="bins"), **asked)
    with ProgressBar() as progress:
        rows = plan_ranges(target, beta=beta, most=math.inf if held else most, progress=progress)
    advice = range_recommendation(advise_ranges(rows, most=most, held=held), rows, held=held)
    cautions = list(warnings(users=target.users, delta=target.delta))
    for text in cautions:
        print_note(f"warning: {text}")
    if json:
        ranges = [{**plain(row), "problem": range_problem(row)} for row in rows]
        print_json({**plain(target), "beta": beta, "ranges": ranges, "advice": advice, "warnings": cautions})
        return
    print_sentences(advice)
    show_range_plan(rows, users=target.users, beta=beta, held=held)


def _needs(answer: Plan, target: float, progress: Progress) -> list[dict[str, Any]]:
    """Return, for each protocol, the epsilon and the number of people that an error of `target` people needs."""
    from shuffledp.release.plan import epsilon_needed, users_needed

    same: dict[str, Any] = {
        "bins": answer.bins,
        "delta": answer.delta,
        "beta": answer.beta,
        "values_per_person": answer.values_per_person,
    }
    found, rows = [], _answerable(answer)
    for done, row in enumerate(rows):
        progress("inverting", done / len(rows))
        need: dict[str, Any] = {"name": row.name, "title": row.title, "met": row.simultaneous <= target}
        need |= {"epsilon": None, "users_for_this_share": None}
        if not need["met"]:
            with suppress(ParameterError):
                need["epsilon"] = epsilon_needed(
                    row.name, error=target, users=answer.users, honest_users=answer.honest_users, **same
                )
            with suppress(ParameterError):
                need["users_for_this_share"] = users_needed(
                    row.name,
                    share=target / answer.users,
                    epsilon=answer.epsilon,
                    honest_share=answer.honest_users / answer.users,
                    **same,
                )
        found.append(need)
    return found


def _most_bins(answer: Plan, messages: float) -> dict[str, int]:
    """Return, for each possible protocol, the most bins for a number of messages per person; 0 if none fits."""
    from shuffledp.release.plan import most_bins

    found = {}
    for row in _answerable(answer):
        if not row.problem:
            found[row.title] = 0
            with suppress(ParameterError):
                found[row.title] = most_bins(
                    row.name,
                    messages=messages,
                    users=answer.users,
                    epsilon=answer.epsilon,
                    delta=answer.delta,
                    honest_users=answer.honest_users,
                    values_per_person=answer.values_per_person,
                )
    return found


def _answerable(answer: Plan) -> list[PlanRow]:
    """Return the rows of protocols that can be recommended."""
    from shuffledp.protocols.catalogue import CATALOGUE

    return [
        row for row in answer.rows if CATALOGUE[row.name].advised and (answer.listed or not row.false_positive_bins)
    ]


def _show(answer: Plan, *, held: bool) -> None:
    from shuffledp.explain.plan import headline, recommendation, round_facts

    print_title(headline(answer))
    print_sentences([*recommendation(answer, held=held), *round_facts(answer)])
    print_in_parts(partial(_table, answer, held=held), (*answer.rows, *answer.curator) if held else answer.rows)
    beta = share_at_most(answer.beta, digits=3)
    print_indented(f"errors in people, each exceeded with probability at most {beta}")


def _needed(needs: list[dict[str, Any]]) -> Iterator[str]:
    for need in needs:
        epsilon = (
            "no epsilon up to 10 suffices"
            if need["epsilon"] is None
            else f"needs epsilon {share_at_most(need['epsilon'], digits=3)}"
        )
        users = need["users_for_this_share"]
        others = "" if users is None else f", or {users:,} people for the same share"
        yield f"{need['title']}: {'met' if need['met'] else epsilon + others}."


def _fitting(budget: dict[str, int], max_messages: float | None) -> Iterator[str]:
    from shuffledp.explain.plan import messages

    for title, most in budget.items():
        fits = f"at most {counted(most, 'possible value')} for" if most else "not possible with"
        yield f"{title}: {fits} {messages(max_messages or 0)}."


def _close(answer: Plan, *, held: bool, explain: bool) -> None:
    from shuffledp.explain.plan import details

    if answer.curator_error is not None:
        errors = [at_most(error) for error in (answer.curator_error, answer.held_error) if math.isfinite(error)]
        smaller = " instead of ".join(errors)
        print_sentence(
            "Tip: if you are trusted with the raw data, `run --trust curator` gives the same guarantee with a smaller "
            f"error ({smaller} people)."
        )
    print_details(lambda: details(answer, held=held), explain=explain)


def _table(answer: Plan, rows: Sequence[PlanRow], *, held: bool) -> Table:
    table = new_table(padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    best = [answer.recommended_for_held_data, answer.recommended_for_curator if held else answer.recommended]
    for row in rows:
        table.add_column(row.name, justify="right", no_wrap=True, style="bold" if row.name in best else None)
    left_out = {
        *(() if held else _WHO),
        *(_OF_ROUNDS if answer.rounds == 1 else ()),
        *(_PER_PERSON if held or not _sendable(answer) else ()),
    }
    possible = any(not row.problem for row in ((*answer.rows, *answer.curator) if held else answer.rows))
    for title, cell in _MEASURES.items():
        if title not in left_out and (title in _ALWAYS or possible):
            table.add_row(title, *(_cell(title, cell, row, answer) for row in rows))
    return table


def _sendable(answer: Plan) -> bool:
    return any(math.isfinite(row.messages) for row in answer.rows if not row.problem)


def _cell(title: str, cell: Callable[[PlanRow], str], row: PlanRow, answer: Plan) -> str:
    from shuffledp.explain.plan import unresolved

    if row.problem and title not in _ALWAYS:
        return "-"
    return "unknown" if title in _OVER_ALL and unresolved(row, answer) else cell(row)


_TRUST = {"shuffled": "shuffler", "central": "curator", "local": "nobody"}

_MEASURES: dict[str, Callable[[PlanRow], str]] = {
    "trust": lambda row: _TRUST[row.model],
    "epsilon of a round": lambda row: "-" if row.epsilon is None else privacy_figure(row.epsilon),
    "delta of a round": lambda row: "-" if row.delta is None else privacy_figure(row.delta),
    "deviation of one": lambda row: "-" if row.deviation is None else f"{row.deviation:,.1f}",
    "largest error": lambda row: _bound(row.simultaneous),
    "  share": lambda row: share_at_most(row.simultaneous_share),
    "error of one": lambda row: _bound(row.per_bin),
    "  its share": lambda row: share_at_most(row.per_bin_share),
    "detection limit": lambda row: _bound(row.detection_limit),
    "messages": lambda row: _messages(row.messages),
    "  at most": lambda row: magnitude(row.most_messages, infinite="any"),
    "bytes": lambda row: _messages(row.bytes_per_person),
    "fewest people": lambda row: "-" if row.fewest_users is None else f"{row.fewest_users:,}",
    "false positives": lambda row: "yes" if row.false_positive_bins else "no",
}
_PER_PERSON = ("messages", "  at most", "bytes")  # omitted if no protocol can be used by sending messages
_OVER_ALL = ("largest error", "  share", "detection limit")
_OF_ROUNDS = ("epsilon of a round", "delta of a round", "deviation of one")
_WHO = ("trust",)  # the same for all protocols with messages
_ALWAYS = ("trust", "fewest people", "false positives")  # also known for a protocol that is not possible


def _bound(number: float) -> str:
    """Format an upper bound on an error, or a number of people."""
    if math.isinf(number):
        return "unknown"
    return share_at_most(number, digits=3) if number < 100 else at_most(number)


def _messages(number: float) -> str:
    """Format an expected number, which may be too large for a float."""
    return magnitude(number, infinite="over 1e+308")


_LISTED_FIELDS = ("title", "summary", "model", "estimator", "advised")
_USED_BY = {"shuffled": "run and plan", "local": "compare", "central": "run --trust curator, and compare"}


def protocols(
    model: Annotated[str | None, option("NAME", "shuffled, local or central; default: all.")] = None,
    json: given.Json = False,
) -> None:
    """List every protocol by name."""
    from shuffledp.explain.research import MODELS
    from shuffledp.protocols.catalogue import CATALOGUE

    chosen = list(MODELS) if model is None else [one_of("model", model, MODELS)]
    entries = {name: entry for name, entry in CATALOGUE.items() if entry.model in chosen}
    if json:
        print_json(
            [
                {"name": name, **{field: getattr(entry, field) for field in _LISTED_FIELDS}}
                for name, entry in entries.items()
            ]
        )
        return
    for kind in chosen:
        table = new_table(Column("name", no_wrap=True), "description")
        known = [(name, entry) for name, entry in entries.items() if entry.model == kind]
        for name, entry in sorted(known, key=lambda item: not item[1].advised):
            table.add_row(name, f"{entry.title}: {entry.summary}" if entry.summary else entry.title,
                          style="bold" if entry.advised else None)  # fmt: skip
        print_title(f"{MODELS[kind]} For {_USED_BY[kind]}.")
        print_whole(table)
    advised = [name for name, entry in entries.items() if entry.advised]
    if advised:
        print_sentence(f"Default of run: the best of {', '.join(advised)}.")

"""`shuffledp plan`: what each protocol would give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from shuffledp.cli import options as given
from shuffledp.cli.options import flag, option, parse_whole, whole_number
from shuffledp.cli.output import (
    new_table,
    note_written,
    print_in_parts,
    print_indented,
    print_json,
    print_note,
    print_sentence,
    print_title,
)
from shuffledp.errors import ParameterError
from shuffledp.formatting import at_most, counted, magnitude, people_at_most, sentence, share_at_most
from shuffledp.jsonable import plain

if TYPE_CHECKING:
    from rich.table import Table

    from shuffledp.progress import Progress
    from shuffledp.release.plan import Plan
    from shuffledp.release.plan_rows import PlanRow

EXAMPLE = "shuffledp plan --users 1e6 --bins 100000 --epsilon 1 --delta 1e-6"
_ANYTHING = "any"


def plan(
    users: Annotated[int, option("NUMBER", "How many people take part: 1000000, 1e6 or 2^20.", parser=whole_number)],
    bins: Annotated[
        str, option("NUMBER|any", "How many values are possible: 100000, 1e6, 2^64; any, as run without a domain.")
    ],
    epsilon: given.Epsilon,
    delta: given.Delta,
    beta: given.Beta = 0.05,
    honest_users: Annotated[
        int | None, option("NUMBER", "How many surely follow the protocol; all unless given.", parser=whole_number)
    ] = None,
    target_error: Annotated[
        float | None, option("NUMBER", "An error over all values, in people: what would it take?")
    ] = None,
    values_per_person: Annotated[
        int, option("NUMBER", "How many different values a person holds at most.", parser=whole_number)
    ] = 1,
    held: Annotated[
        bool, flag("--held", "You hold the data, so that nobody sends messages: with what a curator would give.")
    ] = False,
    max_messages: Annotated[
        float | None, option("NUMBER", "Messages that a person may send on average; 1000 unless given.")
    ] = None,
    ranges: given.Ranges = False,
    figure: given.Figure = None,
    earlier: Annotated[bool, flag("--earlier", "Earlier protocols of the shuffled model too; slower.")] = False,
    json: given.Json = False,
) -> None:
    """Error, messages and feasibility of every protocol, before anybody is asked."""
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.explain.plots import check_figure, draw_trade_off
    from shuffledp.release.compare import trade_off
    from shuffledp.release.plan import plan as planned
    from shuffledp.release.plan_rows import PRACTICAL_MESSAGES, counted_messages
    from shuffledp.validation import values_each

    if ranges:
        useless = {
            "--values-per-person": values_per_person != 1,
            "--target-error": target_error is not None,
            "--figure": figure is not None,
            "--earlier": earlier,
        }
        if unused := [name for name, is_given in useless.items() if is_given]:
            raise ParameterError(
                "--ranges plans ranges of one value of each person, by a protocol of their own: leave out "
                f"{' and '.join(unused)}"
            )
        _check_messages(max_messages, own=1, held=held)
        _plan_ranges(
            bins=bins,
            beta=beta,
            most=PRACTICAL_MESSAGES if max_messages is None else max_messages,
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
        raise ParameterError(f"--target-error must lie between 0 and {users:,} people, got {target_error:g}")
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
            practical_messages=PRACTICAL_MESSAGES if max_messages is None else max_messages,
            earlier=earlier,
            progress=progress,
        )
        needs = [] if target_error is None else _needs(answer, target_error, progress)
        budget = {} if max_messages is None else _most_bins(answer, max_messages)
        drawn = None if figure is None else trade_off(answer, progress=progress)
    for text in answer.warnings:
        print_note(f"warning: {text}")
    if json:
        curator = {"curator": plain(answer.curator), "reason_for_curator": answer.reason_for_curator}
        print_json({**plain(answer), **curator, "target_error": needs, "most_bins": budget})
    else:
        _show(answer, needs, held=held)
        for title, most in budget.items():
            allowed = counted_messages(max_messages or 0)
            fits = f"at most {counted(most, 'possible value')} for" if most else "not possible with"
            print_sentence(f"{title}: {fits} {allowed}.")
    if figure is not None and drawn is not None:
        draw_trade_off(drawn, figure)
        note_written(figure)


def _check_messages(max_messages: float | None, *, own: int, held: bool) -> None:
    """Refuses a number of messages that nobody can keep to, or that nobody sends."""
    if max_messages is not None and not own <= max_messages < math.inf:
        what = "the message for the value" if own == 1 else "a message for each value"
        raise ParameterError(f"--max-messages must be a number from {own}, {what}; got {max_messages:g}")
    if max_messages is not None and held:
        raise ParameterError("--max-messages is for people who send messages: leave out --held, where nobody does")


def _plan_ranges(*, bins: str, beta: float, most: float, held: bool, json: bool, **asked: Any) -> None:
    """The errors of the distribution function instead of those of single values."""
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.cli.release_output import show_range_plan
    from shuffledp.protocols.target import Target
    from shuffledp.release.plan_rows import warnings
    from shuffledp.release.ranges import plan_ranges, range_advice

    if bins == _ANYTHING:
        raise ParameterError("--ranges needs the number of possible values, which are in order: give --bins")
    target = Target(bins=parse_whole(bins, name="bins"), **asked)
    with ProgressBar() as progress:
        rows = plan_ranges(target, beta=beta, most=math.inf if held else most, progress=progress)
    advice, amiss = range_advice(rows, most=most, held=held), list(warnings(users=target.users, delta=target.delta))
    for text in amiss:
        print_note(f"warning: {text}")
    if json:
        print_json({**plain(target), "beta": beta, "ranges": plain(rows), "advice": advice, "warnings": amiss})
    else:
        show_range_plan(rows, users=target.users, beta=beta, held=held)
        for line in advice:
            print_sentence(line)


def _needs(answer: Plan, target: float, progress: Progress) -> list[dict[str, Any]]:
    """For each protocol: the epsilon and the number of people that a simultaneous error of `target` people needs."""
    from shuffledp.release.plan import epsilon_needed, users_needed

    same: dict[str, Any] = {
        "bins": answer.bins,
        "delta": answer.delta,
        "beta": answer.beta,
        "values_per_person": answer.values_per_person,
    }
    honest_share = answer.honest_users / answer.users
    found, rows = [], _answerable(answer)
    for done, row in enumerate(rows):
        progress("asking backwards", done / len(rows))
        questions: dict[str, Callable[[str], float]] = {
            "epsilon": partial(
                epsilon_needed, error=target, users=answer.users, honest_users=answer.honest_users, **same
            ),
            "users_for_this_share": partial(
                users_needed, share=target / answer.users, epsilon=answer.epsilon, honest_share=honest_share, **same
            ),
        }
        need: dict[str, Any] = {"name": row.name, "title": row.title, "met": row.simultaneous <= target}
        for name, ask in questions.items():
            try:
                need[name] = None if need["met"] else ask(row.name)
            except ParameterError:
                need[name] = None
        found.append(need)
    return found


def _most_bins(answer: Plan, messages: float) -> dict[str, int]:
    """For each protocol that is possible: the most bins for a number of messages per person; 0 if not even one."""
    from shuffledp.release.plan import most_bins

    found = {}
    for row in _answerable(answer):
        if not row.problem:
            try:
                found[row.title] = most_bins(
                    row.name,
                    messages=messages,
                    users=answer.users,
                    epsilon=answer.epsilon,
                    delta=answer.delta,
                    honest_users=answer.honest_users,
                    values_per_person=answer.values_per_person,
                )
            except ParameterError:
                found[row.title] = 0
    return found


def _answerable(answer: Plan) -> list[PlanRow]:
    """Questions backwards are for the protocols that can be recommended and used."""
    from shuffledp.protocols.catalogue import CATALOGUE

    return [
        row for row in answer.rows if CATALOGUE[row.name].advised and (answer.listed or not row.false_positive_bins)
    ]


def _show(answer: Plan, needs: list[dict[str, Any]], *, held: bool) -> None:
    people = counted(answer.users, "person", things="people")
    if answer.values_per_person > 1:
        people += f" with up to {answer.values_per_person} values each"
    possible = counted(answer.bins, "possible value") if answer.listed else "any value"
    print_title(f"{people}, {possible}, epsilon {answer.epsilon:g}, delta {answer.delta:g}")
    rows = (*answer.rows, *answer.curator) if held else answer.rows
    print_in_parts(partial(_table, answer, held=held), rows)
    print_indented(
        "largest error: over all possible values, in people; error of one: of a single value; each is exceeded with "
        f"probability at most {share_at_most(answer.beta, digits=3)}"
    )
    print_indented("surely shown: a value that this number of people hold stands out")
    print_indented("nobody's values: whether values that nobody holds are shown, with noise")
    if held:
        print_indented("trust: a shuffler mixes what people send; a curator is given what they hold")
    elif _sendable(answer):
        print_indented("messages, bytes: of one person")
    for row in rows:
        if row.problem:
            print_sentence(f"{row.title} {row.problem}.")
    if unresolved := [row.name for row in rows if not row.problem and _unresolved(row, answer)]:
        print_sentence(
            f"{' and '.join(unresolved)}: an error over so many possible values has chances too small to compute."
        )
    for line in _advice(answer, held=held):
        print_sentence(line)
    for need in needs:
        epsilon = (
            "no epsilon up to 10 is enough"
            if need["epsilon"] is None
            else f"needs epsilon {share_at_most(need['epsilon'], digits=3)}"
        )
        users = need["users_for_this_share"]
        others = "" if users is None else f", or {users:,} people for the same share"
        print_sentence(f"{need['title']}: {'met' if need['met'] else epsilon + others}.")


def _table(answer: Plan, rows: Sequence[PlanRow], *, held: bool) -> Table:
    """A column for each protocol."""
    table = new_table(padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    best = [answer.recommended_for_held_data, answer.recommended_for_curator if held else answer.recommended]
    for row in rows:
        table.add_column(row.name, justify="right", no_wrap=True, style="bold" if row.name in best else None)
    left_out = {*(() if held else _WHO), *(_PER_PERSON if held or not _sendable(answer) else ())}
    possible = any(not row.problem for row in ((*answer.rows, *answer.curator) if held else answer.rows))
    for title, cell in _MEASURES.items():
        if title not in left_out and (title in _ALWAYS or possible):
            table.add_row(title, *(_cell(title, cell, row, answer) for row in rows))
    return table


def _sendable(answer: Plan) -> bool:
    """Whether there is a protocol whose messages can be counted."""
    return any(math.isfinite(row.messages) for row in answer.rows if not row.problem)


def _cell(title: str, cell: Callable[[PlanRow], str], row: PlanRow, answer: Plan) -> str:
    if row.problem and title not in _ALWAYS:
        return "-"
    return "unknown" if title in _OVER_ALL and _unresolved(row, answer) else cell(row)


def _unresolved(row: PlanRow, answer: Plan) -> bool:
    """Whether the tails of the noise are below what floats resolve: the bound is then that nothing is farther off."""
    return answer.bins.bit_length() > _RESOLVED_BITS and row.simultaneous > answer.users / 2


def _advice(answer: Plan, *, held: bool) -> list[str]:
    """One recommendation, or two where it matters whether messages are sent; and what a curator would give."""
    sent, drawn = answer.recommended or "none", answer.recommended_for_held_data or "none"
    for_held = f"Recommended where you hold the data, as run does: {drawn}. {sentence(answer.reason_for_held_data)}."
    if held:
        return [for_held, *_curator(answer)]
    if sent == drawn:
        return [f"Recommended: {sent}. {sentence(answer.reason)}.", *_curator(answer)]
    return [
        f"Recommended where people send messages: {sent}. {sentence(answer.reason)}.",
        f"{for_held} No messages are sent then.",
        *_curator(answer),
    ]


def _curator(answer: Plan) -> list[str]:
    """What whoever is trusted with the data can publish."""
    from shuffledp.release.choose import is_smaller

    if answer.recommended_for_curator is None:
        return []
    trusted, drawn = answer.row(answer.recommended_for_curator), answer.recommended_for_held_data
    otherwise = answer.row(drawn).simultaneous if drawn else math.inf
    if drawn and not is_smaller(trusted.simultaneous, otherwise):
        return ["Where you are trusted with the data, run --trust curator has no smaller error here."]
    instead = f" instead of {at_most(otherwise)}" if drawn else ""
    return [
        f"Where you hold the data and are trusted with it: {trusted.name}, as run --trust curator does. Its error is "
        f"at most {people_at_most(trusted.simultaneous)}{instead}."
    ]


_RESOLVED_BITS = 64  # with fewer values an error near the number of people is what it says

_TRUST = {"shuffled": "shuffler", "central": "curator", "local": "nobody"}

_MEASURES: dict[str, Callable[[PlanRow], str]] = {
    "trust": lambda row: _TRUST[row.model],
    "largest error": lambda row: _bound(row.simultaneous),
    "  share": lambda row: share_at_most(row.simultaneous_share),
    "error of one": lambda row: _bound(row.per_bin),
    "  its share": lambda row: share_at_most(row.per_bin_share),
    "surely shown": lambda row: _bound(row.detection_limit),
    "messages": lambda row: _messages(row.messages),
    "  at most": lambda row: magnitude(row.most_messages),
    "bytes": lambda row: _messages(row.bytes_per_person),
    "fewest people": lambda row: "-" if row.fewest_users is None else f"{row.fewest_users:,}",
    "nobody's values": lambda row: "shown" if row.false_positive_bins else "never",
}
_PER_PERSON = ("messages", "  at most", "bytes")  # no use where nobody could ever send them
_OVER_ALL = ("largest error", "  share", "surely shown")
_WHO = ("trust",)  # the same for all that people send
_ALWAYS = ("trust", "fewest people", "nobody's values")  # known also of a protocol that is not possible


def _bound(number: float) -> str:
    """An upper bound, or a number of people that is enough."""
    if math.isinf(number):
        return "unknown"
    return share_at_most(number, digits=3) if number < 100 else at_most(number)


def _messages(number: float) -> str:
    """An expected number is finite, but may be too large for a float."""
    return magnitude(number, infinite="over 1e+308")

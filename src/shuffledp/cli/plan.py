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
from shuffledp.plain import plain
from shuffledp.words import at_most, counted, magnitude, sentence, share_at_most

if TYPE_CHECKING:
    from rich.table import Table

    from shuffledp.jobs.plan import Plan, PlanRow
    from shuffledp.progress import Progress

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
    max_messages: Annotated[
        float | None, option("NUMBER", "Messages that a person may send on average; 1000 unless given.")
    ] = None,
    figure: given.Figure = None,
    earlier: Annotated[bool, flag("--earlier", "Earlier protocols of the shuffled model too; slower.")] = False,
    json: given.Json = False,
) -> None:
    """Error, messages and feasibility of every protocol, before anybody is asked."""
    from shuffledp.cli.progress import ProgressBar
    from shuffledp.engines.people import EVERYTHING
    from shuffledp.jobs.plan import PRACTICAL_MESSAGES, counted_messages
    from shuffledp.jobs.plan import plan as planned
    from shuffledp.jobs.trade_off import trade_off
    from shuffledp.report.drawing import check_figure
    from shuffledp.report.trade_off import draw_trade_off

    if figure is not None:
        check_figure(figure)
    if target_error is not None and not 0 < target_error < users:
        raise ParameterError(f"--target-error must lie between 0 and {users:,} people, got {target_error:g}")
    if max_messages is not None and not 1 <= max_messages < math.inf:
        raise ParameterError(f"--max-messages must be a number from 1, the message for the value; got {max_messages:g}")
    with ProgressBar() as progress:
        answer = planned(
            users=users,
            bins=EVERYTHING if bins == _ANYTHING else parse_whole(bins, name="bins"),
            epsilon=epsilon,
            delta=delta,
            beta=beta,
            honest_users=honest_users,
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
        print_json({**plain(answer), "target_error": needs, "most_bins": budget})
    else:
        _show(answer, needs, possible="any value" if bins == _ANYTHING else counted(answer.bins, "possible value"))
        for title, most in budget.items():
            allowed = counted_messages(max_messages or 0)
            fits = f"at most {counted(most, 'possible value')} for" if most else "not possible with"
            print_sentence(f"{title}: {fits} {allowed}.")
    if figure is not None and drawn is not None:
        draw_trade_off(drawn, figure)
        note_written(figure)


def _needs(answer: Plan, target: float, progress: Progress) -> list[dict[str, Any]]:
    """For each protocol: the epsilon and the number of people that a simultaneous error of `target` people needs."""
    from shuffledp.jobs.plan import epsilon_needed, users_needed

    same: dict[str, Any] = {"bins": answer.bins, "delta": answer.delta, "beta": answer.beta}
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
    from shuffledp.jobs.plan import most_bins

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
                )
            except ParameterError:
                found[row.title] = 0
    return found


def _answerable(answer: Plan) -> list[PlanRow]:
    """Questions backwards are for the protocols that can be recommended."""
    from shuffledp.protocols.catalogue import CATALOGUE

    return [row for row in answer.rows if CATALOGUE[row.name].advised]


def _show(answer: Plan, needs: list[dict[str, Any]], *, possible: str) -> None:
    people = counted(answer.users, "person", things="people")
    print_title(f"{people}, {possible}, epsilon {answer.epsilon:g}, delta {answer.delta:g}")
    print_in_parts(partial(_table, answer), answer.rows)
    print_indented(
        "largest error: over all possible values, in people; error of one: of a single value; each is exceeded with "
        f"probability at most {share_at_most(answer.beta, digits=3)}"
    )
    print_indented("surely shown: a value that this number of people hold stands out")
    print_indented("nobody's values: whether values that nobody holds are shown, with noise")
    if _sendable(answer):
        print_indented("messages, bytes: of one person")
    for row in answer.rows:
        if row.problem:
            print_sentence(f"{row.title} {row.problem}.")
    if unresolved := [row.name for row in answer.rows if _unresolved(row, answer)]:
        print_sentence(
            f"{' and '.join(unresolved)}: an error over so many possible values has chances too small to compute."
        )
    for line in _advice(answer):
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


def _table(answer: Plan, rows: Sequence[PlanRow]) -> Table:
    """A column for each protocol."""
    table = new_table(padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for row in rows:
        chosen = row.name in (answer.recommended, answer.recommended_for_held_data)
        table.add_column(row.name, justify="right", no_wrap=True, style="bold" if chosen else None)
    possible = [row for row in answer.rows if not row.problem]
    for title, cell in _MEASURES.items():
        if title in _ALWAYS or (possible and (title not in _PER_PERSON or _sendable(answer))):
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


def _advice(answer: Plan) -> list[str]:
    """One recommendation, or two where it matters whether messages are sent."""
    sent, held = answer.recommended or "none", answer.recommended_for_held_data or "none"
    if sent == held:
        return [f"Recommended: {sent}. {sentence(answer.reason)}."]
    return [
        f"Recommended where people send messages: {sent}. {sentence(answer.reason)}.",
        f"Recommended where you hold the data, as run does: {held}. {sentence(answer.reason_for_held_data)}. No "
        "messages are sent then.",
    ]


_RESOLVED_BITS = 64  # with fewer values an error near the number of people is what it says

_MEASURES: dict[str, Callable[[PlanRow], str]] = {
    "largest error": lambda row: _bound(row.simultaneous),
    "  share": lambda row: share_at_most(row.simultaneous_share),
    "error of one": lambda row: _bound(row.per_bin),
    "  its share": lambda row: share_at_most(row.per_bin_share),
    "surely shown": lambda row: _bound(row.surely_seen),
    "messages": lambda row: _messages(row.messages),
    "  at most": lambda row: magnitude(row.most_messages),
    "bytes": lambda row: _messages(row.bytes_per_person),
    "fewest people": lambda row: f"{row.fewest_users:,}",
    "nobody's values": lambda row: "shown" if row.phantom_bins else "never",
}
_PER_PERSON = ("messages", "  at most", "bytes")  # no use where nobody could ever send them
_OVER_ALL = ("largest error", "  share", "surely shown")
_ALWAYS = ("fewest people", "nobody's values")  # known also of a protocol that is not possible


def _bound(number: float) -> str:
    """An upper bound, or a number of people that is enough."""
    if math.isinf(number):
        return "unknown"
    return share_at_most(number, digits=3) if number < 100 else at_most(number)


def _messages(number: float) -> str:
    """An expected number is finite, but may be too large for a float."""
    return magnitude(number, infinite="over 1e+308")

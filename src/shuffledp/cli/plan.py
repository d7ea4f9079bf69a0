"""`shuffledp plan`: what each protocol would give."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from shuffledp.cli import options as given
from shuffledp.cli.options import flag, option, parse_whole
from shuffledp.cli.output import new_table, note_written, print_below, print_json, print_table
from shuffledp.errors import ParameterError
from shuffledp.plain import plain
from shuffledp.words import readable

if TYPE_CHECKING:
    from shuffledp.jobs.plan import Plan, PlanRow

EXAMPLE = "shuffledp plan --users 1000000 --bins 100000 --epsilon 1 --delta 1e-6"


def plan(
    users: Annotated[int, option("NUMBER", "How many people take part.")],
    bins: Annotated[str, option("NUMBER", "How many values are possible: 100000, 1e6 or 2^64.")],
    epsilon: given.Epsilon,
    delta: given.Delta,
    beta: given.Beta = 0.05,
    honest_users: Annotated[
        int | None, option("NUMBER", "How many surely follow the protocol; all unless given.")
    ] = None,
    target_error: Annotated[
        float | None, option("NUMBER", "An error over all bins, in people: what would it take?")
    ] = None,
    max_messages: Annotated[
        float | None, option("NUMBER", "Messages per person: for how many bins would they do?")
    ] = None,
    figure: given.Figure = None,
    earlier: Annotated[bool, flag("--earlier", "Earlier protocols of the shuffled model too; slower.")] = False,
    json: given.Json = False,
) -> None:
    """Error, messages and feasibility of every protocol, before anybody is asked."""
    from shuffledp.jobs.plan import plan as planned
    from shuffledp.jobs.trade_off import trade_off
    from shuffledp.report.drawing import check_figure
    from shuffledp.report.trade_off import draw_trade_off

    if figure is not None:
        check_figure(figure)
    answer = planned(
        users=users,
        bins=parse_whole(bins, name="bins"),
        epsilon=epsilon,
        delta=delta,
        beta=beta,
        honest_users=honest_users,
        earlier=earlier,
    )
    needs = [] if target_error is None else _needs(answer, target_error)
    budget = {} if max_messages is None else _most_bins(answer, max_messages)
    if json:
        print_json({**plain(answer), "target_error": needs, "most_bins": budget})
    else:
        _show(answer, needs)
        for title, most in budget.items():
            print_below(f"{title}: at most {readable(most)} bins for {max_messages:g} messages.")
    if figure is not None:
        draw_trade_off(trade_off(answer), figure)
        note_written(figure)


def _needs(answer: Plan, target: float) -> list[dict[str, Any]]:
    """For each protocol: the epsilon and the number of people that a simultaneous error of `target` people needs."""
    from shuffledp.jobs.plan import epsilon_needed, users_needed

    if not 0 < target < answer.users:
        raise ParameterError(f"target_error must lie between 0 and {answer.users:,} people, got {target:g}")
    same: dict[str, Any] = {"bins": answer.bins, "delta": answer.delta, "beta": answer.beta}
    honest_share = answer.honest_users / answer.users
    found = []
    for row in _answerable(answer):
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
    """For each protocol that is possible: the most bins for a number of messages per person."""
    from shuffledp.jobs.plan import most_bins

    return {
        row.title: most_bins(
            row.name,
            messages=messages,
            users=answer.users,
            epsilon=answer.epsilon,
            delta=answer.delta,
            honest_users=answer.honest_users,
        )
        for row in _answerable(answer)
        if not row.problem
    }


def _answerable(answer: Plan) -> list[PlanRow]:
    """Questions backwards are for the protocols that can be recommended."""
    from shuffledp.protocols.catalogue import CATALOGUE

    return [row for row in answer.rows if CATALOGUE[row.name].advised]


def _show(answer: Plan, needs: list[dict[str, Any]]) -> None:
    table = new_table(
        title=f"{answer.users:,} people, {readable(answer.bins)} bins, "
        f"epsilon {answer.epsilon:g}, delta {answer.delta:g}",
        caption=f"in people, or per person; errors are exceeded with probability at most {answer.beta:g}",
    )
    table.add_column("")
    for row in answer.rows:
        table.add_column(row.name, justify="right", style="bold" if row.name == answer.recommended else None)
    for title, cell in _MEASURES.items():
        table.add_row(title, *("-" if row.problem and title not in _ALWAYS else cell(row) for row in answer.rows))
    width = 12 * len(answer.rows) + 20  # a column for each protocol
    print_table(table, least_width=width)
    for row in answer.rows:
        if row.problem:
            print_below(f"{row.title} {row.problem}.", least_width=width)
    print_below(
        f"Recommended: {answer.recommended or 'none'}. {answer.reason[:1].upper()}{answer.reason[1:]}.",
        least_width=width,
    )
    for need in needs:
        epsilon = "no epsilon up to 10 is enough" if need["epsilon"] is None else f"needs epsilon {need['epsilon']:.3g}"
        users = need["users_for_this_share"]
        people = "" if users is None else f", or {users:,} people for the same share"
        print_below(f"{need['title']}: {'met' if need['met'] else epsilon + people}.", least_width=width)


_MEASURES: dict[str, Callable[[PlanRow], str]] = {
    "error, all bins": lambda row: _short(row.simultaneous),
    "  share": lambda row: f"{row.simultaneous_share:.2g}",
    "error, one bin": lambda row: _short(row.per_bin),
    "  its share": lambda row: f"{row.per_bin_share:.2g}",
    "surely seen": lambda row: _short(row.surely_seen),
    "messages": lambda row: _short(row.messages),
    "  at most": lambda row: _short(row.most_messages),
    "bytes": lambda row: _short(row.bytes_per_person),
    "fewest people": lambda row: f"{row.fewest_users:,}",
    "phantom bins": lambda row: "yes" if row.phantom_bins else "never",
}
_ALWAYS = ("fewest people", "phantom bins")  # known also of a protocol that is not possible


def _short(number: float) -> str:
    if math.isinf(number):
        return "no limit"
    return f"{number:.3g}" if number < 100 else f"{number:,.0f}" if number < 1e7 else f"{float(number):.1e}"

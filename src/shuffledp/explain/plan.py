"""Plans and simulations as text: recommendations, reasons, warnings and summaries."""

from __future__ import annotations

import math
from collections.abc import Iterator

from shuffledp.explain.protocols import cap_sentences, uncapped_in_trials
from shuffledp.formatting import (
    at_most,
    confidence_level,
    counted,
    epsilon_delta,
    magnitude,
    people_at_most,
    percent_at_most,
    readable,
    sentence,
    share_at_most,
)
from shuffledp.release.choose import is_smaller
from shuffledp.release.free_text import TextSimulation
from shuffledp.release.notes import USELESS_SHARE, Caution, cautions
from shuffledp.release.plan import Plan
from shuffledp.release.plan_rows import PlanRow, Problem, RangeAdvice, RangeRow, Reason
from shuffledp.release.simulate import RangeSimulation, Simulation

WHY = {
    Reason.AS_ASKED: "as requested",
    Reason.SMALLEST_ERROR: "the smallest error",
    Reason.SMALLEST_ERROR_NO_FALSE_POSITIVES: "the smallest error among protocols without false positives",
    Reason.FEWEST_MESSAGES_NO_FALSE_POSITIVES: "the fewest messages among protocols without false positives",
    Reason.SMALLEST_ERROR_MANY_FALSE_POSITIVES: "the smallest error, although most values shown are held by nobody",
    Reason.FEW_MESSAGES: "few messages, however many values are possible",
}
"""Why a protocol was chosen, as a phrase."""

_RESOLVED_BITS = 64
"""With fewer possible values, an error near the number of people is a meaningful bound."""


def problem(row: PlanRow) -> str:
    """Return why a protocol cannot be used, as the end of a sentence; empty if it can."""
    if row.problem is Problem.TOO_FEW_USERS:
        return f"needs at least {counted(row.needed_users or 1, 'honest person', things='honest people')}"
    if row.problem is Problem.NEEDS_LIST:
        return "shows every possible value, so it needs a list of them"
    return f"is not possible: {row.detail}" if row.problem else ""


def messages(number: float) -> str:
    """Return a number of messages, which need not be whole, with its noun."""
    return f"{magnitude(number)} message{'' if number == 1 else 's'}"


def warning_sentence(caution: Caution, *, users: int, delta: float, error: float = 0.0, published: bool = False) -> str:
    """Return a warning about a plan, a task or a release, without a full stop.

    The readers of a `published` result cannot change its parameters, so they get no advice about them.
    """
    if caution is Caution.LARGE_DELTA:
        return (
            f"delta={share_at_most(delta, digits=3)} is larger than 1 / people: it would allow publishing the value of "
            f"one of the {users:,} people" + ("" if published else "; choose a much smaller delta")
        )
    if caution is Caution.MOSTLY_NO_DATE:
        return "most people have no date that can be read: give the format of the dates, such as %m/%d/%Y"
    if caution is Caution.MOSTLY_NO_NUMBER:
        return "most people have no number that can be read: check how numbers are written, such as 1234.5"
    people = counted(users, "person")
    if published:
        return f"counts can be off by up to {at_most(error)} of {people}, so small differences between them say nothing"
    return f"an error of up to {at_most(error)} of {people} says little: use more people"


def warnings(*, users: int, delta: float, error: float = 0.0) -> Iterator[str]:
    """Yield the warnings about a plan or a task, in one sentence each."""
    found = cautions(users=users, delta=delta, error=error)
    return (warning_sentence(caution, users=users, delta=delta, error=error) for caution in found)


def headline(plan: Plan) -> str:
    """Return the question of a plan in one line."""
    people = counted(plan.users, "person")
    if plan.values_per_person > 1:
        people += f" with up to {plan.values_per_person} values each"
    possible = counted(plan.bins, "possible value") if plan.listed else "any value"
    together = f" for all {plan.rounds:,} rounds together" if plan.rounds > 1 else ""
    return f"{people}, {possible}, {epsilon_delta(plan.epsilon, plan.delta)}{together}"


def round_facts(plan: Plan) -> list[str]:
    """Return the guarantee and the noise of one round of the recommended protocol; nothing without rounds."""
    if plan.rounds == 1 or plan.recommended is None:
        return []
    row = plan.row(plan.recommended)
    assert row.epsilon is not None
    assert row.delta is not None
    noise = "" if row.deviation is None else f" The standard deviation of one count is {row.deviation:,.1f} people."
    return [f"One round: {epsilon_delta(row.epsilon, row.delta)}.{noise}"]


def plan_text(plan: Plan) -> str:
    """Return a plan as text: the question, a table with a line for each protocol, and the recommendation."""
    cells = [["protocol", "largest error", "error of one", "detection limit", "messages", "false positives"]]
    for row in (*plan.rows, *plan.curator):
        if row.problem or unresolved(row, plan):
            cells.append([row.name, problem(row) or "unknown"])
            continue
        sent = magnitude(row.messages) if row.model == "shuffled" else "-"
        limits = (row.simultaneous, row.per_bin, row.detection_limit)
        cells.append([row.name, *map(at_most, limits), sent, "yes" if row.false_positive_bins else "no"])
    widths = [max(len(line[at]) for line in cells if len(line) == len(cells[0])) for at in range(len(cells[0]))]
    names = max(len(line[0]) for line in cells)
    numbers = ("  ".join(map(str.rjust, line[1:], widths[1:])) if len(line) > 2 else line[1] for line in cells)
    lines = (f"{line[0]:<{names}}  {text}" for line, text in zip(cells, numbers, strict=True))
    return "\n".join([headline(plan), "", *lines, "", *recommendation(plan), *round_facts(plan)])


def recommendation(plan: Plan, *, held: bool = False) -> list[str]:
    """Return the recommendation in one line, or in two if it depends on whether messages are sent.

    With `held`, the data is local and no messages are sent.
    """
    local = _recommended(plan, plan.recommended_for_held_data, plan.reason_for_held_data, most=math.inf)
    if held:
        return [f"Recommended: {local}"]
    sent = _recommended(plan, plan.recommended, plan.reason, most=plan.practical_messages)
    if plan.recommended == plan.recommended_for_held_data:
        return [f"Recommended: {sent}"]
    return [f"Recommended if people send messages: {sent}", f"Recommended for local data: {local}"]


def _recommended(plan: Plan, name: str | None, reason: Reason, *, most: float) -> str:
    if name is None:
        return f"none. {nothing(plan.rows, reason, most=most)}"
    row = plan.row(name)
    facts = [
        f"Error at most {people_at_most(row.simultaneous)} ({percent_at_most(row.simultaneous, plan.users)})",
        f"detection limit {people_at_most(row.detection_limit)}",
    ]
    if math.isfinite(most):
        facts.append(f"{messages(row.messages)} per person")
    useless = " This error says little: more people are needed." if row.simultaneous_share > USELESS_SHARE else ""
    return f"{name}. {', '.join(facts)}.{useless}"


def nothing(rows: tuple[PlanRow, ...], reason: Reason, *, most: float) -> str:
    """Return why no protocol is recommended, and what would help."""
    if reason is Reason.TOO_FEW_USERS:
        each = "; ".join(f"{row.title} {problem(row)}" for row in rows)
        return f"There are too few honest people. More people, a larger epsilon or a larger delta help. {each}."
    fewest = min((row for row in rows if not row.problem), key=lambda row: row.messages)
    least = "" if math.isinf(fewest.messages) else f" ({fewest.title} the fewest, {magnitude(fewest.messages)})"
    return (
        f"Every protocol sends more than {messages(most)} per person{least}. More people, fewer possible values or a "
        "larger epsilon help."
    )


def reasons(plan: Plan) -> dict[str, str]:
    """Return the reason of each recommendation in a sentence, by the name of its field."""
    return {
        "reason": _reason(plan, plan.recommended, plan.reason, most=plan.practical_messages),
        "reason_for_held_data": _reason(plan, plan.recommended_for_held_data, plan.reason_for_held_data, most=math.inf),
        "reason_for_curator": _reason(plan, plan.recommended_for_curator, plan.reason_for_curator, most=math.inf),
    }


def _reason(plan: Plan, name: str | None, reason: Reason, *, most: float) -> str:
    if name is None:
        return nothing(plan.rows, reason, most=most)
    row = plan.row(name)
    limit = f" with at most {messages(most)} per person" if math.isfinite(most) else ""
    false_positives = "It shows every value with noise" if row.false_positive_bins else "It has no false positives"
    if row.false_positive_bins and plan.bins > plan.users:
        false_positives += f", and most of the {readable(plan.bins)} possible values are held by nobody"
    return f"{row.title}: {WHY[reason]}{limit}. {false_positives}."


def details(plan: Plan, *, held: bool = False) -> dict[str, str]:
    """Return paragraphs by title: why, what the table shows, and which protocols are not possible."""
    rows = (*plan.rows, *plan.curator) if held else plan.rows
    sentences = reasons(plan)
    parts = {} if held else {"If people send messages": sentences["reason"]}
    parts["For local data"] = sentences["reason_for_held_data"]
    if plan.rounds == 1:
        parts["For a trusted curator"] = sentences["reason_for_curator"]
    else:
        parts["Rounds"] = (
            f"Errors, messages and people are those of one round. A person who answers all {plan.rounds:,} rounds has "
            f"the guarantee {epsilon_delta(plan.epsilon, plan.delta)}: the exact composition of the rounds, each with "
            "noise of its own. A person who answers fewer rounds has a stronger one."
        )
    parts["Errors"] = (
        "The largest error is over all possible values, the error of one is for a single value. Both are in people, "
        f"exceeded with probability at most {share_at_most(plan.beta, digits=3)}. A value that is not shown counts "
        "as 0."
    )
    parts["Detection limit"] = "A value that this number of people hold is distinguishable from 0."
    parts["False positives"] = "Whether values that nobody holds are shown, with noise."
    if held:
        parts["Trust"] = "A shuffler mixes the messages that people send; a curator is given their values."
    else:
        parts["Messages"] = "Expected number, maximum and bytes per person."
    if impossible := [f"{row.title} {problem(row)}" for row in rows if row.problem]:
        parts["Not possible"] = "; ".join(impossible) + "."
    if unknown := [row.name for row in rows if unresolved(row, plan)]:
        parts["Unknown"] = (
            f"The error of {' and '.join(unknown)} over this number of possible values has probabilities too small to "
            "compute."
        )
    return parts


def unresolved(row: PlanRow, plan: Plan) -> bool:
    """Return whether the tails of the noise are below floating point resolution, so that the error is unknown."""
    many = plan.bins.bit_length() > _RESOLVED_BITS
    return not row.problem and many and row.simultaneous > plan.users / 2


def range_problem(row: RangeRow) -> str:
    """Return why ranges cannot be counted in this way, as the end of a sentence; empty if they can."""
    return "" if row.needed_users is None else f"needs at least {counted(row.needed_users, 'person')}"


def range_recommendation(advice: RangeAdvice, rows: list[RangeRow], *, held: bool = False) -> list[str]:
    """Return the recommended way to count ranges, and what a trusted curator would reach, in one line each."""
    curator = advice.curator.error if advice.curator.error is not None else math.inf
    if advice.reason is Reason.TOO_FEW_USERS:
        each = "; ".join(f"{row.title} {range_problem(row)}" for row in rows if row.needed_users is not None)
        first = f"Recommended: none. There are too few honest people. {sentence(each)}."
    elif advice.best is None:
        fewest = min(row.messages for row in rows if row.messages is not None)
        first = (
            f"Recommended if people send messages: none. Each way sends more than {messages(advice.most)} per person "
            f"(at least {magnitude(fewest)}). More people, fewer possible values or a larger epsilon help."
        )
    else:
        first = f"Recommended: {_best_range(advice, held=held)}"
    ours = advice.ours or advice.best
    other = math.inf if ours is None or ours.error is None else ours.error
    if not is_smaller(curator, other):
        return [first, "A trusted curator has no smaller error here."]
    instead = "" if math.isinf(other) else f" instead of {at_most(other)}"
    return [first, f"A trusted curator has an error of at most {people_at_most(curator)}{instead}."]


def _best_range(advice: RangeAdvice, *, held: bool) -> str:
    best, sums = advice.best, advice.sums
    assert best is not None
    assert best.error is not None
    assert best.messages is not None
    instead = ""
    if sums is not None and sums.error is not None and is_smaller(best.error, sums.error):
        instead = f", instead of {at_most(sums.error)} with {sums.title}"
    sent = "" if held else f", with {messages(best.messages)} per person"
    return (
        f"{best.title}. The number of people up to any value has an error of at most {people_at_most(best.error)}"
        f"{instead}{sent}."
    )


NOT_PRIVATE = "NOT PRIVATE: this compares with the true counts."

_MOST_BITS = 64
"""A larger number of possible values is not worth printing."""


def simulation_headline(found: Simulation | RangeSimulation) -> str:
    """Return what was simulated, in one line."""
    trials = len(found.trials) if isinstance(found, Simulation) else len(found.largest_errors)
    people = counted(found.people, "person")
    simulated = counted(trials, "simulated release")
    return f"{simulated}: {found.title}, {people}, {epsilon_delta(found.epsilon, found.delta)}"


def simulation_errors(found: Simulation | RangeSimulation) -> str:
    """Return which error of a release its quantiles are of."""
    over = "over all values" if isinstance(found, Simulation) else "of the distribution function"
    return f"the largest error {over} of one release, in people"


def simulation_sentences(found: Simulation | RangeSimulation) -> list[str]:
    """Return the predicted error, how often intervals contained the truth, and that this is not private."""
    confidence, predicted = confidence_level(found.beta), people_at_most(found.predicted_error)
    capped, truth = cap_sentences(found.cap), "truth" if found.cap is None else "true capped counts"
    if isinstance(found, RangeSimulation):
        trials = len(found.largest_errors)
        return [
            f"Predicted: the number of people up to any value has an error of at most {predicted}, for all values at "
            f"once, with probability at least {confidence}.",
            f"The band contained the {truth} everywhere in {found.held:,} of {counted(trials, 'release')}; the "
            f"guarantee is a share of at least {confidence}.",
            *capped,
            NOT_PRIVATE,
        ]
    trials = len(found.trials)
    held, shown = sum(trial.covered for trial in found.trials), sum(trial.found for trial in found.trials) / trials
    possible = f"; {readable(found.bins)} are possible" if found.bins.bit_length() <= _MOST_BITS else ""
    return [
        f"Predicted: an error of at most {predicted}, with probability at least {confidence}.",
        f"All intervals contained the {truth} in {held:,} of {counted(trials, 'release')}; the guarantee is a share of "
        f"at least {confidence}.",
        *capped,
        *uncapped_in_trials([trial.uncapped for trial in found.trials if trial.uncapped is not None]),
        f"On average, {shown:,.1f} of the {counted(found.trials[0].occupied, 'value')} in the data were "
        f"shown{possible}.",
        NOT_PRIVATE,
    ]


def simulation_text(found: Simulation | RangeSimulation) -> str:
    """Return the summary of a simulation in a few lines."""
    errors = ", ".join(f"{name} {error:,.1f}" for name, error in found.error_quantiles().items())
    quantiles = f"Quantiles of {simulation_errors(found)}: {errors}."
    return "\n".join([simulation_headline(found), quantiles, *simulation_sentences(found)])


SIMULATION_EXPLAINED = {
    "Simulation": "Every release makes all messages of the same texts with new noise from the seed, and searches them.",
    "Detection limit": (
        "The fewest people of a text that is shown with the stated probability. It holds for the longest texts. "
        "Shorter ones are counted on several levels and are usually found from fewer people on."
    ),
    "Not private": "The result depends on the true texts without noise. Use it for data you own; do not publish it.",
}
"""The paragraphs that explain a simulation, by title."""


def text_simulation_headline(found: TextSimulation) -> str:
    """Return what was simulated, in one line."""
    people = counted(found.people, "person")
    return (
        f"{counted(len(found.trials), 'simulated release')} of free text: {people}, "
        f"{epsilon_delta(found.epsilon, found.delta)}"
    )


def text_simulation_sentences(found: TextSimulation) -> list[str]:
    """Return recall, precision, cost and coverage, and that this is not private."""
    trials = found.trials
    limits = sorted(trial.detection_limit for trial in trials)
    frequent, hits = sum(trial.frequent for trial in trials), sum(trial.found for trial in trials)
    false = sum(trial.false_positives for trial in trials)
    held = sum(trial.covered for trial in trials)
    seconds = sum(trial.seconds for trial in trials) / len(trials)
    return [
        f"Detection limit: {people_at_most(limits[-1])}; a text with this many is shown with probability at least "
        f"{confidence_level(found.beta)}. Planned: {people_at_most(found.planned_limit)}.",
        f"Recall: {hits:,} of {frequent:,} texts at or above the limit were shown ({found.recall:.1%}), over all "
        "releases.",
        f"False positives: {false:,} of {sum(trial.reported for trial in trials):,} shown texts; each release has any "
        f"with probability at most {share_at_most(found.risk)}.",
        f"All intervals contained the truth in {held:,} of {counted(len(trials), 'release')}; the guarantee is a share "
        f"of at least {confidence_level(found.beta)}.",
        f"Cost: {found.messages:,.1f} messages and {found.bytes:,.0f} bytes per person before encryption, on "
        f"{counted(found.levels, 'level')} of {counted(found.pieces, 'piece')}; search {seconds:,.1f} s.",
        NOT_PRIVATE,
    ]

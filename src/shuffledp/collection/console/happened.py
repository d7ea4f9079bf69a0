"""What was refused, by whom and why; and what became of every batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from shuffledp.collection.console.hop_status import OTHER
from shuffledp.collection.console.hops import Hop
from shuffledp.collection.pages.markup import Html, joined, link, table, tag
from shuffledp.collection.reasons import Reason
from shuffledp.collection.stores import CountedBatch, ListedRelease, TallyStanding
from shuffledp.collection.task import Task
from shuffledp.words import counted, moment, readable

MOST_BATCHES = 200
"""Lines of the table, the latest."""


def refusals_section(hops: Sequence[Hop], standing: TallyStanding | None) -> Html:
    """Reports and requests at the shufflers, messages and batches here."""
    rows = [
        (name_of(hop.position, len(hops)), meaning(reason), readable(number))
        for hop in hops
        if hop.status is not None
        for reason, number in _by_number(hop.status.refused)
    ]
    if standing is not None:
        rows += [("Analyzer, messages", meaning(why), readable(number)) for why, number in _by_number(standing.refused)]
        if standing.problems:
            rows.append(("Analyzer, batches", Reason.TOO_FEW_MESSAGES.meaning, readable(standing.problems)))
    title = tag("h2", "Refused")
    if rows:
        return title + table(("where", "why", "how often"), rows, words=(1,))
    unknown = not all(hop.status for hop in hops) or standing is None
    return title + tag("p", "Nothing that is known of." if unknown else "Nothing was refused.")


def meaning(reason: str) -> str:
    """A reason in words."""
    if reason == OTHER:
        return "Other reasons."
    try:
        return Reason(reason).meaning
    except ValueError:  # of a store that a newer program has written
        return "Another reason."


def name_of(position: int, shufflers: int) -> str:
    """A shuffler as people call it."""
    return "Shuffler" if shufflers == 1 else f"Shuffler {position + 1}"


def batches_section(
    task: Task, batches: Sequence[CountedBatch], releases: Iterable[ListedRelease], *, joined_releases: bool
) -> Html:
    """Every batch with its release."""
    title = tag("h2", "Batches")
    if not batches:
        return title + tag("p", "No batch was counted yet.")
    made = {each.number: each.made for each in releases}
    rows = [
        (
            _release(task, batch),
            moment(made[batch.release]) if batch.release in made else "",
            readable(batch.people),
            readable(sum(batch.refused.values())),
        )
        for batch in reversed(batches[-MOST_BATCHES:])
    ]
    said = f"{counted(len(batches), 'batch', things='batches')}, the latest first."
    if len(batches) > MOST_BATCHES:
        said = f"The latest {MOST_BATCHES} of {readable(len(batches))} batches."
    how = "Each release counts all batches so far." if joined_releases else "Each batch is released by itself."
    listed = table(("batch", "released", "people", "messages refused"), rows)
    return joined(
        [
            title,
            tag("p", f"{said} {how}", class_="soft"),
            listed,
        ]
    )


def _release(task: Task, batch: CountedBatch) -> object:
    if batch.problem is not None:
        return f"Refused: {meaning(batch.problem)}"
    if batch.release is None:
        return "Counted, not released yet"
    return link(f"/tasks/{task.name}/releases/{batch.release}", f"In release {batch.release}")


def _by_number(refused: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(refused.items(), key=lambda each: (-each[1], each[0]))

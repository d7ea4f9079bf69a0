"""The contribution cap in English: what counts and intervals mean, who has more values, errors from the cap.

The sentences depend on the options of a release and on its noisy result, never on whether anybody has more values.
"""

from __future__ import annotations

from collections.abc import Sequence

from shuffledp.explain.bars import interval, people
from shuffledp.formatting import counted
from shuffledp.histogram.estimate import Estimate, Row
from shuffledp.histogram.facts import Cap
from shuffledp.release.simulate import UncappedErrors


def cap_sentences(cap: Cap | None) -> list[str]:
    """What counts and intervals mean under a contribution cap; nothing without one."""
    if cap is None:
        return []
    if cap.values == 1:
        counts = "Counts include one value per person; people with more are counted for one of them"
    else:
        counts = (
            f"Counts include at most {cap.values:,} values per person; people with more are counted for {cap.values:,} "
            "of them"
        )
    return [f"{counts}, chosen at random. Intervals cover these capped counts."]


def more_than_cap_sentences(estimate: Estimate) -> list[str]:
    """The number of people who have more values than count, if they are counted."""
    more, cap = estimate.more_than_cap, estimate.cap
    if more is None or cap is None:
        return []
    have = f"have more than {counted(cap.values, 'value')}; their further values are not counted."
    return [f"{_about(more)} {have}" if more.label in estimate else f"At most {_people(more.high)} {have}"]


def uncapped_sentence(found: UncappedErrors) -> str:
    """The errors of a release against the numbers of people who have each value, without the cap."""
    return (
        f"Without the cap, {found.covered:,} of {counted(found.shown, 'interval')} of shown values "
        f"{'holds' if found.covered == 1 else 'hold'} the true count; the largest error is {found.largest_error:,.1f} "
        f"people ({_parts(found)})."
    )


def uncapped_in_trials(found: Sequence[UncappedErrors]) -> list[str]:
    """The errors of many simulated releases without the cap; nothing if there is none."""
    if not found:
        return []
    covered, shown = sum(one.covered for one in found), sum(one.shown for one in found)
    worst = max(found, key=lambda one: one.largest_error)
    return [
        f"Without the cap, {covered:,} of {counted(shown, 'interval')} of shown values "
        f"{'holds' if covered == 1 else 'hold'} the true count; the largest error of all releases is "
        f"{worst.largest_error:,.1f} people ({_parts(worst)})."
    ]


def _parts(found: UncappedErrors) -> str:
    return f"{-found.cap_error:+,} from the cap, {found.noise_error:+,.1f} from noise"


def _about(row: Row) -> str:
    return f"About {people(row.count)} people ({interval(row)})"


def _people(number: int) -> str:
    return counted(number, "person", things="people")

"""Sentences about simulated releases of texts."""

from __future__ import annotations

from shuffledp.explain.plan import NOT_PRIVATE
from shuffledp.formatting import confidence_level, counted, epsilon_delta, people_at_most, share_at_most
from shuffledp.release.free_text import TextSimulation

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
    people = counted(found.people, "person", things="people")
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

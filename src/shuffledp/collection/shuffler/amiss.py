"""What does not work at a shuffler, in words for everybody."""

from __future__ import annotations

from shuffledp.collection.reasons import Reason
from shuffledp.collection.shuffler.relay import Relay
from shuffledp.collection.shuffler.settings import Served
from shuffledp.collection.stores import ReportStore, Standing
from shuffledp.words import counted

_NO_TOKENS = (
    "No one-time token is left with which anybody could report: give hashes of new ones with --admission-hashes."
)


def problems_of(served: Served, standing: Standing, store: ReportStore, relay: Relay | None) -> list[str]:
    """What fails in this process, and what the store says."""
    found = list(relay.problems) if relay is not None else []
    if short := standing.refused.get(Reason.TOO_FEW_MESSAGES.value, 0):
        found.append(
            f"{counted(short, 'batch', things='batches')} had too few messages and went no further: noise is missing. "
            "Ask the shufflers before this one what happened."
        )
    if standing.short_by is None and (words := no_tokens(served, store)):
        found.append(words)
    return found


def no_tokens(served: Served, store: ReportStore) -> str | None:
    """That nobody can report; None if somebody can."""
    asks = served.task.admission == "tokens" and served.position == 0
    return _NO_TOKENS if asks and not store.has_unspent(served.task.id) else None

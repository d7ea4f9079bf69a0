"""Where a shuffler keeps reports and an analyzer keeps tallies: SQLite, or PostgreSQL for many machines."""

from shuffledp.collection.stores.opening import open_report_store, open_tally_store
from shuffledp.collection.stores.records import (
    Arrival,
    CountedBatch,
    KeptRelease,
    KeptTally,
    ListedRelease,
    Outcome,
    ReadyBatch,
    Standing,
    TallyStanding,
)
from shuffledp.collection.stores.report_store import ReportStore
from shuffledp.collection.stores.tally_store import TallyStore

__all__ = [
    "Arrival",
    "CountedBatch",
    "KeptRelease",
    "KeptTally",
    "ListedRelease",
    "Outcome",
    "ReadyBatch",
    "ReportStore",
    "Standing",
    "TallyStanding",
    "TallyStore",
    "open_report_store",
    "open_tally_store",
]

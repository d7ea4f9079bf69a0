"""Private histograms in the shuffled model of differential privacy.

value --randomize--> messages --shuffle--> messages --tally--> counts per symbol --estimate--> Estimate

These names are what most programs need; each is loaded when it is first used. The other protocols are in
`shuffledp.protocols`, privacy accounting in `shuffledp.accounting`, the paper's applications in
`shuffledp.applications`, checks of privacy in `shuffledp.verification`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shuffledp.lazily import lazy_names

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shuffledp.accounting.curve import PrivacyCurve
    from shuffledp.errors import (
        BudgetError,
        DataError,
        MissingExtraError,
        ParameterError,
        ShuffledpError,
        TooFewUsersError,
    )
    from shuffledp.jobs.plan import Plan, plan
    from shuffledp.jobs.private_histogram import private_histogram
    from shuffledp.jobs.release import Release
    from shuffledp.jobs.simulate import simulate
    from shuffledp.ledger.ledger import Ledger
    from shuffledp.pipeline.domain import Domain
    from shuffledp.pipeline.edges import Edges
    from shuffledp.pipeline.estimate import Estimate
    from shuffledp.pipeline.periods import Periods
    from shuffledp.pipeline.run import run
    from shuffledp.pipeline.shuffler import shuffle
    from shuffledp.pipeline.tally import Tally
    from shuffledp.protocols.ranges import Ranges
    from shuffledp.protocols.shuffled.dummy import DummyHistogram
    from shuffledp.protocols.shuffled.histogram import Histogram
    from shuffledp.protocols.shuffled.sparse import SparseHistogram
    from shuffledp.protocols.sums.binary_sum import BinarySum
    from shuffledp.randomness import secure_rng
    from shuffledp.verification.audit import audit

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "accounting.curve": ("PrivacyCurve",),
        "errors": (
            "BudgetError",
            "DataError",
            "MissingExtraError",
            "ParameterError",
            "ShuffledpError",
            "TooFewUsersError",
        ),
        "jobs.plan": ("Plan", "plan"),
        "jobs.private_histogram": ("private_histogram",),
        "jobs.release": ("Release",),
        "jobs.simulate": ("simulate",),
        "ledger.ledger": ("Ledger",),
        "pipeline.domain": ("Domain",),
        "pipeline.edges": ("Edges",),
        "pipeline.estimate": ("Estimate",),
        "pipeline.periods": ("Periods",),
        "pipeline.run": ("run",),
        "pipeline.shuffler": ("shuffle",),
        "pipeline.tally": ("Tally",),
        "protocols.ranges": ("Ranges",),
        "protocols.shuffled.dummy": ("DummyHistogram",),
        "protocols.shuffled.histogram": ("Histogram",),
        "protocols.shuffled.sparse": ("SparseHistogram",),
        "protocols.sums.binary_sum": ("BinarySum",),
        "randomness": ("secure_rng",),
        "verification.audit": ("audit",),
    },
)

__all__ = [
    "BinarySum",
    "BudgetError",
    "DataError",
    "Domain",
    "DummyHistogram",
    "Edges",
    "Estimate",
    "Histogram",
    "Ledger",
    "MissingExtraError",
    "ParameterError",
    "Periods",
    "Plan",
    "PrivacyCurve",
    "Ranges",
    "Release",
    "ShuffledpError",
    "SparseHistogram",
    "Tally",
    "TooFewUsersError",
    "audit",
    "plan",
    "private_histogram",
    "run",
    "secure_rng",
    "shuffle",
    "simulate",
]

"""Private histograms in the shuffled model of differential privacy.

value --randomize--> messages --shuffle--> messages --tally--> counts per symbol --estimate--> Estimate

These names are what most programs need; each is loaded on first use. Other protocols are in `shuffledp.protocols`,
privacy accounting in `shuffledp.accounting`, the paper's applications and exact enumeration in `shuffledp.paper`,
black-box audits in `shuffledp.auditing`, the deployed system in `shuffledp.collect`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shuffledp.lazy_import import lazy_names

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shuffledp.accounting.curve import PrivacyCurve
    from shuffledp.auditing import audit
    from shuffledp.errors import (
        BudgetError,
        DataError,
        LabelError,
        MissingExtraError,
        ParameterError,
        ShuffledpError,
        TooFewUsersError,
    )
    from shuffledp.histogram.domain import Domain
    from shuffledp.histogram.edges import Edges
    from shuffledp.histogram.estimate import Estimate
    from shuffledp.histogram.periods import Periods
    from shuffledp.histogram.shuffle import run, shuffle
    from shuffledp.histogram.tally import Tally
    from shuffledp.ledger.ledger import Ledger
    from shuffledp.protocols.ranges import Ranges
    from shuffledp.protocols.shuffled.dummy import DummyHistogram
    from shuffledp.protocols.shuffled.histogram import Histogram
    from shuffledp.protocols.shuffled.sparse import SparseHistogram
    from shuffledp.protocols.sums.binary_sum import BinarySum
    from shuffledp.randomness import secure_rng
    from shuffledp.release.plan import Plan, plan
    from shuffledp.release.private_histogram import private_histogram
    from shuffledp.release.release import Release
    from shuffledp.release.simulate import simulate
    from shuffledp.release.trend import Trend

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "accounting.curve": ("PrivacyCurve",),
        "auditing": ("audit",),
        "errors": (
            "BudgetError",
            "DataError",
            "LabelError",
            "MissingExtraError",
            "ParameterError",
            "ShuffledpError",
            "TooFewUsersError",
        ),
        "histogram.domain": ("Domain",),
        "histogram.edges": ("Edges",),
        "histogram.estimate": ("Estimate",),
        "histogram.periods": ("Periods",),
        "histogram.shuffle": (
            "run",
            "shuffle",
        ),
        "histogram.tally": ("Tally",),
        "ledger.ledger": ("Ledger",),
        "protocols.ranges": ("Ranges",),
        "protocols.shuffled.dummy": ("DummyHistogram",),
        "protocols.shuffled.histogram": ("Histogram",),
        "protocols.shuffled.sparse": ("SparseHistogram",),
        "protocols.sums.binary_sum": ("BinarySum",),
        "randomness": ("secure_rng",),
        "release.plan": (
            "Plan",
            "plan",
        ),
        "release.private_histogram": ("private_histogram",),
        "release.release": ("Release",),
        "release.simulate": ("simulate",),
        "release.trend": ("Trend",),
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
    "LabelError",
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
    "Trend",
    "audit",
    "plan",
    "private_histogram",
    "run",
    "secure_rng",
    "shuffle",
    "simulate",
]

"""Private histograms in the shuffled model of differential privacy.

value --randomize--> messages --shuffle--> messages --tally--> counts per symbol --estimate--> Estimate
"""

from shuffledp.accounting import PrivacyCurve
from shuffledp.domain import Domain
from shuffledp.errors import DataError, MissingExtraError, ParameterError, ShuffledpError, TooFewUsersError
from shuffledp.estimate import Estimate, Guarantee
from shuffledp.model import CentralProtocol, LocalProtocol, ShuffledProtocol, run
from shuffledp.planner import Plan, plan
from shuffledp.protocols import BinarySum, DummyHistogram, ErrorBound, Histogram, SparseHistogram
from shuffledp.randomness import secure_rng
from shuffledp.shuffler import shuffle
from shuffledp.tally import Tally

__version__ = "0.1.0"

__all__ = [
    "BinarySum",
    "CentralProtocol",
    "DataError",
    "Domain",
    "DummyHistogram",
    "ErrorBound",
    "Estimate",
    "Guarantee",
    "Histogram",
    "LocalProtocol",
    "MissingExtraError",
    "ParameterError",
    "Plan",
    "PrivacyCurve",
    "ShuffledProtocol",
    "ShuffledpError",
    "SparseHistogram",
    "Tally",
    "TooFewUsersError",
    "plan",
    "run",
    "secure_rng",
    "shuffle",
]

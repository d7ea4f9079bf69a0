"""Private histograms in the shuffled model of differential privacy.

value --randomize--> messages --shuffle--> messages --tally--> counts per symbol --estimate--> Estimate
"""

from shuffledp.accounting import PrivacyCurve
from shuffledp.accounting.amplification import Amplification
from shuffledp.applications import (
    BernoulliMean,
    PointerChasing,
    PointerJumping,
    Separation,
    SupportIdentification,
    separate,
)
from shuffledp.domain import Domain
from shuffledp.errors import DataError, MissingExtraError, ParameterError, ShuffledpError, TooFewUsersError
from shuffledp.estimate import Estimate, Guarantee
from shuffledp.model import CentralProtocol, LocalProtocol, ShuffledProtocol, run
from shuffledp.planner import Plan, plan
from shuffledp.protocols import (
    BinarySum,
    BlanketHistogram,
    BlanketSum,
    DummyHistogram,
    ErrorBound,
    Histogram,
    PrivateCoinHistogram,
    SparseHistogram,
)
from shuffledp.protocols.amplified_oracle import AmplifiedOracle
from shuffledp.protocols.central import LaplaceHistogram, StabilityHistogram
from shuffledp.protocols.local import BassilySmith, HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from shuffledp.protocols.public_coin import PublicCoinHistogram
from shuffledp.protocols.real_sum import RealSum
from shuffledp.randomness import secure_rng
from shuffledp.release import Release, private_histogram
from shuffledp.shuffler import shuffle
from shuffledp.simulation import Simulation, simulate
from shuffledp.tally import Tally
from shuffledp.verification.audit import Audit, audit
from shuffledp.verification.finite import FiniteRandomizer
from shuffledp.verification.local_simulation import to_local

__version__ = "0.1.0"

__all__ = [
    "Amplification",
    "AmplifiedOracle",
    "Audit",
    "BassilySmith",
    "BernoulliMean",
    "BinarySum",
    "BlanketHistogram",
    "BlanketSum",
    "CentralProtocol",
    "DataError",
    "Domain",
    "DummyHistogram",
    "ErrorBound",
    "Estimate",
    "FiniteRandomizer",
    "Guarantee",
    "HadamardResponse",
    "Histogram",
    "LaplaceHistogram",
    "LocalHashing",
    "LocalProtocol",
    "MissingExtraError",
    "ParameterError",
    "Plan",
    "PointerChasing",
    "PointerJumping",
    "PrivacyCurve",
    "PrivateCoinHistogram",
    "PublicCoinHistogram",
    "RandomizedResponse",
    "RealSum",
    "Release",
    "Separation",
    "ShuffledProtocol",
    "ShuffledpError",
    "Simulation",
    "SparseHistogram",
    "StabilityHistogram",
    "SupportIdentification",
    "Tally",
    "TooFewUsersError",
    "UnaryEncoding",
    "audit",
    "plan",
    "private_histogram",
    "run",
    "secure_rng",
    "separate",
    "shuffle",
    "simulate",
    "to_local",
]

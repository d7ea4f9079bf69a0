"""Private histograms in the shuffled model of differential privacy.

value --randomize--> messages --shuffle--> messages --tally--> counts per symbol --estimate--> Estimate
"""

from shuffledp.accounting import PrivacyCurve
from shuffledp.accounting.amplification import Amplification
from shuffledp.accounting.guarantee import Guarantee
from shuffledp.applications import (
    BernoulliMean,
    PointerChasing,
    PointerJumping,
    Separation,
    SupportIdentification,
    separate,
)
from shuffledp.errors import DataError, MissingExtraError, ParameterError, ShuffledpError, TooFewUsersError
from shuffledp.jobs.plan import Plan, plan
from shuffledp.jobs.release import Release, private_histogram
from shuffledp.jobs.simulate import Simulation, simulate
from shuffledp.pipeline.domain import Domain
from shuffledp.pipeline.estimate import Estimate
from shuffledp.pipeline.run import CentralProtocol, LocalProtocol, ShuffledProtocol, run
from shuffledp.pipeline.shuffler import shuffle
from shuffledp.pipeline.tally import Tally
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
from shuffledp.protocols.central import LaplaceHistogram, StabilityHistogram
from shuffledp.protocols.local import BassilySmith, HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from shuffledp.protocols.shuffled.amplified import AmplifiedOracle
from shuffledp.protocols.shuffled.public_coin import PublicCoinHistogram
from shuffledp.protocols.sums.real_sum import RealSum
from shuffledp.randomness import secure_rng
from shuffledp.verification.audit.black_box import Audit, audit
from shuffledp.verification.exact.finite import FiniteRandomizer
from shuffledp.verification.exact.local_simulation import to_local

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

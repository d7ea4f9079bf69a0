"""The paper: its applications, exact enumeration, pure privacy, and its statements."""

from shuffledp.paper.bernoulli import BernoulliMean
from shuffledp.paper.finite_randomizer import FiniteRandomizer
from shuffledp.paper.pointers import PointerChasing, PointerInstance, PointerJumping
from shuffledp.paper.pure_privacy import FiniteProtocol, LocalSimulation, to_local
from shuffledp.paper.separation import Separation, separate
from shuffledp.paper.support_identification import SupportIdentification

__all__ = [
    "BernoulliMean",
    "FiniteProtocol",
    "FiniteRandomizer",
    "LocalSimulation",
    "PointerChasing",
    "PointerInstance",
    "PointerJumping",
    "Separation",
    "SupportIdentification",
    "separate",
    "to_local",
]

"""Problems that a histogram without phantom bins solves with few people, and how many other models need."""

from shuffledp.applications.bernoulli import BernoulliMean
from shuffledp.applications.pointer_chasing import PointerChasing, PointerInstance
from shuffledp.applications.pointer_jumping import PointerJumping
from shuffledp.applications.separation import Separation, separate
from shuffledp.applications.support_identification import SupportIdentification

__all__ = [
    "BernoulliMean",
    "PointerChasing",
    "PointerInstance",
    "PointerJumping",
    "Separation",
    "SupportIdentification",
    "separate",
]

"""Exact privacy of finite randomizers, by enumeration in fractions, and the paper's results on pure privacy."""

from shuffledp.verification.exact.finite import FiniteRandomizer
from shuffledp.verification.exact.local_simulation import FiniteProtocol, LocalSimulation, to_local

__all__ = ["FiniteProtocol", "FiniteRandomizer", "LocalSimulation", "to_local"]

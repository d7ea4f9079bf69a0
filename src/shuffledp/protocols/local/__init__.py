"""Frequency oracles of the local model: every message is private by itself, so nobody needs to be trusted."""

from shuffledp.protocols.local.bassily_smith import BassilySmith
from shuffledp.protocols.local.hadamard_response import HadamardResponse
from shuffledp.protocols.local.local_hashing import LocalHashing
from shuffledp.protocols.local.randomized_response import RandomizedResponse
from shuffledp.protocols.local.unary_encoding import UnaryEncoding

__all__ = ["BassilySmith", "HadamardResponse", "LocalHashing", "RandomizedResponse", "UnaryEncoding"]

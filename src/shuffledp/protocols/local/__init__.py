"""Frequency oracles of the local model: every message is private by itself, so nobody needs to be trusted."""

from shuffledp.protocols.local.hashed_reports import BassilySmith, LocalHashing
from shuffledp.protocols.local.responses import HadamardResponse, RandomizedResponse
from shuffledp.protocols.local.unary_encoding import UnaryEncoding

__all__ = ["BassilySmith", "HadamardResponse", "LocalHashing", "RandomizedResponse", "UnaryEncoding"]

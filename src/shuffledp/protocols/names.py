"""The names that one can ask for, as types: an editor completes them, and mypy finds a wrong one.

A test keeps them equal to those of the catalogue.
"""

from __future__ import annotations

from typing import Literal

ShuffledName = Literal[
    "shuffled-response",
    "shuffled-hadamard",
    "shuffled-unary",
    "shuffled-hashing",
    "blanket-published",
    "blanket",
    "public-coin-published",
    "public-coin",
    "private-coin-published",
    "private-coin",
    "amplified",
    "hist-published",
    "hist",
    "hist-unbiased",
    "sparse",
    "sparse-best",
    "dummy",
    "dummy-poisson",
]
"""Protocols of the shuffled model, with which a release can be made."""

CentralName = Literal["stability", "laplace"]
"""Protocols of the central model, with which a trusted curator makes a release."""

LocalName = Literal["response", "unary-symmetric", "unary", "hashing", "hadamard", "bassily-smith"]
"""Protocols of the local model, which comparisons measure too."""

ReleaseName = ShuffledName | CentralName
ProtocolName = ReleaseName | LocalName
EstimatorName = Literal["truncated", "unbiased", "smallest"]
EngineName = Literal["local", "spark"]
TrustName = Literal["shuffler", "curator"]
"""Whom a release trusts: a shuffler, as if people had sent messages, or a curator, who is given everybody's values."""

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

OtherName = Literal[
    "stability",
    "laplace",
    "response",
    "unary-symmetric",
    "unary",
    "hashing",
    "hadamard",
    "bassily-smith",
]
"""Protocols of the central and the local model, which comparisons measure too."""

ProtocolName = ShuffledName | OtherName
EstimatorName = Literal["truncated", "unbiased", "smallest"]
EngineName = Literal["local", "spark"]

"""Local protocols that list the exact distribution of a message."""

from shuffledp.protocols.local import HadamardResponse, RandomizedResponse, UnaryEncoding

ENUMERABLE = [
    RandomizedResponse(users=2, bins=2, epsilon=1),
    RandomizedResponse(users=2, bins=3, epsilon=0.5),
    HadamardResponse(users=2, bins=3, epsilon=1),
    UnaryEncoding(users=2, bins=2, epsilon=1),
    UnaryEncoding(users=2, bins=3, epsilon=1, optimised=False),
]

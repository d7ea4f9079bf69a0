"""Keyed fingerprints of ciphertexts, by which a server recognises a ciphertext that it has accepted before.

A fingerprint is BLAKE2b with a random secret of one server and one task, cut to 16 bytes. Without the secret nobody can
tell whether a ciphertext has a fingerprint in a list, nor find two ciphertexts with the same fingerprint. Among 10^9
ciphertexts of a task, two honest ones share a fingerprint with probability below 2e-21.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shuffledp.collect.crypto.batch import Onions, first_copies
from shuffledp.errors import ParameterError

FINGERPRINT_BYTES = 16
SECRET_BYTES = 32

_BLOCK = 1 << 20
"""Bytes of ciphertexts that are copied at a time: the array may be a file of many gigabytes."""


def new_secret() -> bytes:
    """Return a random secret, for one server and one task."""
    return secrets.token_bytes(SECRET_BYTES)


def fingerprints(onions: NDArray[np.uint8], secret: bytes) -> NDArray[np.uint8]:
    """Return the fingerprint of each row, as an array with 16 columns; `onions` has one ciphertext in each row."""
    if len(secret) != SECRET_BYTES:
        raise ParameterError(f"secret must have {SECRET_BYTES} bytes, got {len(secret)}")
    if onions.ndim != 2 or onions.dtype != np.uint8:
        raise ParameterError(
            f"onions must be rows of bytes, got an array of {onions.dtype} with {onions.ndim} dimensions"
        )
    found = np.empty((len(onions), FINGERPRINT_BYTES), dtype=np.uint8)
    each = max(1, _BLOCK // max(1, onions.shape[1]))
    for start in range(0, len(onions), each):
        digests = b"".join(_digests(onions[start : start + each], secret))
        found[start : start + each] = np.frombuffer(digests, dtype=np.uint8).reshape(-1, FINGERPRINT_BYTES)
    return found


def _digests(onions: NDArray[np.uint8], secret: bytes) -> Iterator[bytes]:
    keyed, width, content = blake2b(digest_size=FINGERPRINT_BYTES, key=secret), onions.shape[1], onions.tobytes()
    for at in range(len(onions)):
        one = keyed.copy()  # a third faster than a new one, which would hash the key again
        one.update(content[at * width : (at + 1) * width])
        yield one.digest()


class Remembered(Protocol):
    """The ciphertexts of a task that this server has accepted in earlier batches."""

    @property
    def secret(self) -> bytes:
        """The key of their fingerprints."""

    def known(self, fingerprints: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return which of these fingerprints are remembered."""


@dataclass(frozen=True, eq=False)
class Screened:
    """The indices of the onions of a batch to keep, and their fingerprints.

    `repeated` further copies within the batch were dropped, and `replayed` onions of earlier batches.
    """

    kept: NDArray[np.int64]
    fingerprints: NDArray[np.uint8]
    repeated: int
    replayed: int


def screen(onions: Onions, memory: Remembered | None) -> Screened:
    """Keep each ciphertext once, and only if no earlier batch had it: an honest ciphertext never repeats."""
    first = first_copies(onions)
    if memory is None:
        return Screened(first, np.empty((0, FINGERPRINT_BYTES), dtype=np.uint8), len(onions) - first.size, 0)
    found = np.empty((first.size, FINGERPRINT_BYTES), dtype=np.uint8)
    each = max(1, _BLOCK // max(1, onions.shape[1]))
    for start in range(0, first.size, each):
        found[start : start + each] = fingerprints(onions[first[start : start + each]], memory.secret)
    new = ~memory.known(found)
    if new.all():
        return Screened(first, found, len(onions) - first.size, 0)
    kept = first[new]
    return Screened(kept, found[new], len(onions) - first.size, first.size - kept.size)

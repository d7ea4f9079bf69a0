"""Encryption to a public key: HPKE (RFC 9180), base mode, X25519, HKDF-SHA256, AES-128-GCM.

A sealed text is the sender's fresh public key (32 bytes), then the ciphertext with its tag (16 more bytes than the
text). `info` binds it to one task and one server: a report cannot be opened in another task or by another server.
"""

from __future__ import annotations

from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
_VERSION = b"shuffledp collection 1"
KEY_BYTES = 32
_FIELD = 2**255 - 19
"""The modulus of the curve's coordinates; larger numbers would be second spellings of the same keys."""

_ANY_KEY = X25519PrivateKey.from_private_bytes(bytes(KEY_BYTES))
"""Clamped private keys are multiples of 8, so any of them detects the points of low order."""


@lru_cache(maxsize=1024)  # the same for all reports of a task
def info(task_id: bytes, position: int) -> bytes:
    """Return the context of a layer: the version, the task, and the position of the server that opens it.

    Shufflers have the positions 0, 1, ... in their order, and the analyzer the next one.
    """
    return _VERSION + task_id + bytes([position])


def seal(text: bytes, public: X25519PublicKey, context: bytes) -> bytes:
    """Encrypt a text to a public key."""
    return _SUITE.encrypt(text, public, context)


def unseal(sealed: bytes, private: X25519PrivateKey, context: bytes) -> bytes | None:
    """Decrypt a text; None if it was sealed to another key or context, or was changed."""
    try:
        return _SUITE.decrypt(sealed, private, context)
    except (InvalidTag, ValueError):
        return None


@lru_cache(maxsize=64)  # reports are sealed to few keys, hundreds of times
def public_key(content: bytes) -> X25519PublicKey:
    """Return the public key of 32 bytes."""
    return X25519PublicKey.from_public_bytes(content)


def is_public_key(content: bytes) -> bool:
    """Whether these are 32 bytes of a public key in its one spelling, and not of low order."""
    if len(content) != KEY_BYTES or int.from_bytes(content, "little") >= _FIELD:
        return False
    try:
        _ANY_KEY.exchange(public_key(content))
    except ValueError:  # low order: all private keys would share the same secret with it
        return False
    return True

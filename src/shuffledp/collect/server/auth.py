"""Bearer tokens of 32 random bytes as text. A server that accepts a token knows only its hash.

The hash is the SHA-256 of the text. A token has 256 random bits, so it cannot be found from its hash.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from shuffledp.errors import ParameterError

TOKEN_BYTES = 32
_SCHEME = "bearer "


def new_token() -> str:
    """Make a token from the operating system's randomness."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def hash_of(token: str) -> bytes:
    """The hash of a token or a shared secret."""
    return hashlib.sha256(token.encode()).digest()


def read_hash(text: str, *, name: str) -> bytes:
    """Parse a hash of 64 hexadecimal digits."""
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text, flags=re.ASCII):
        raise ParameterError(
            f"{name} must be the hash of a token, 64 hexadecimal digits, got {len(text)} other characters"
        )
    return bytes.fromhex(text)


def bearer(authorization: str | None) -> str | None:
    """The token of an Authorization header; None without a bearer token."""
    if authorization is None or authorization[: len(_SCHEME)].lower() != _SCHEME:
        return None
    return authorization[len(_SCHEME) :].strip() or None


@dataclass(frozen=True)
class Accepted:
    """The hashes of the tokens that are accepted."""

    hashes: tuple[bytes, ...]

    @classmethod
    def of(cls, texts: Iterable[str], *, name: str) -> Accepted:
        """Parse hashes."""
        return cls(tuple(read_hash(text, name=name) for text in texts))

    def __contains__(self, token: str | None) -> bool:
        """Whether a token is accepted, in constant time."""
        own = hash_of(token or "")
        matches = [hmac.compare_digest(own, known) for known in self.hashes]
        return token is not None and any(matches)

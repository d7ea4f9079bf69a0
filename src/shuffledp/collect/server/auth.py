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
from pathlib import Path

import anyio

from shuffledp.collect.server.http import InFlight
from shuffledp.errors import DataError, ParameterError

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


def parse_hashes(text: str, *, name: str) -> list[bytes]:
    """Parse hashes, one per line and at least one."""
    found = [read_hash(line, name=f"each line of {name}") for line in text.split()]
    if not found:
        raise DataError(f"{name} must have at least one hash, got none")
    return found


def read_hashes(path: Path, *, name: str) -> list[bytes]:
    """Read a file of hashes, which the parameter `name` gives."""
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text of hexadecimal digits"
        raise DataError(f"{name}: {path} cannot be read: {reason}") from None
    return parse_hashes(text, name=str(path))


def sorted_hashes(tokens: Iterable[str]) -> str:
    """The file of hashes of tokens, sorted, so that the position of a hash does not reveal that of its token."""
    return "".join(f"{each}\n" for each in sorted(hash_of(token).hex() for token in tokens))


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


NO_OPERATORS = Accepted(())

PAUSE_AFTER_WRONG = 1.0
"""Seconds before a wrong token of an operator is answered."""

MOST_WRONG = 8
"""Wrong tokens that wait for their answer at once. A handful of operators make no more errors, and an attacker who
tries many tokens holds up no more requests."""


class WrongTokens:
    """Wrong tokens of operators are answered after a pause; too many at once are refused without one.

    The right token never waits, so an attacker cannot lock operators out.
    """

    def __init__(self, pause: float) -> None:
        self._pause, self._waiting = pause, InFlight(MOST_WRONG)

    async def wait(self) -> None:
        """Wait before the answer to a wrong token."""
        with self._waiting:
            await anyio.sleep(self._pause)

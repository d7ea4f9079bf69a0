"""Who may send a report: anybody, whoever knows a secret, or whoever holds a one-time token.

Without one a forger can fill a batch with reports of its own and is left with one person's messages: that
`honest_users` people of a batch follow the protocol is an assumption, and admission is what makes it true.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from shuffledp.collection.reasons import Reason, Refused
from shuffledp.collection.service.tokens import Accepted, hash_of


class Admission(Protocol):
    """Decides about a report by what came with it."""

    def spends(self, token: str | None) -> bytes | None:
        """The hash of the one-time token that the report spends, if any; refused without what is needed."""


@dataclass(frozen=True)
class Anybody:
    """Everybody is let in."""

    def spends(self, token: str | None) -> None:
        """Nothing."""


@dataclass(frozen=True)
class SharedSecret:
    """Whoever knows the secret, as often as they like."""

    secret: Accepted

    def spends(self, token: str | None) -> None:
        """Nothing, but the secret must be right."""
        if token not in self.secret:
            raise Refused(Reason.NOT_ADMITTED)


@dataclass(frozen=True)
class OneTimeTokens:
    """Whoever has a token that is not spent; the store spends it in the transaction that keeps the report."""

    def spends(self, token: str | None) -> bytes:
        """The hash of the token, of which only the store knows whether it is good."""
        if token is None:
            raise Refused(Reason.NOT_ADMITTED)
        return hash_of(token)

"""Addresses in a task: everybody reads them, and clients go there."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urlsplit

from shuffledp.errors import TaskError

_NAME = re.compile(r"(?!xn--)[a-z0-9_-]+(\.(?!xn--)[a-z0-9_-]+)*\.?", re.IGNORECASE)
"""Of a host, in characters that every reader of addresses takes as they are. What begins with xn-- stands for other
letters, and readers differ in which they allow."""

_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
"""What a host ends with that browsers take for an IPv4 address, in one of its many spellings."""


def check_address(address: str, name: str) -> None:
    """Refuses what is no address of a server or a file on one, or what readers could take for different ones."""
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # such as a port that is no number
        usable = False
    if not usable or parts.query or parts.fragment or not address.isascii() or not address.isprintable():
        raise TaskError(f"the address of {name} must be such as https://host:port; got {address!r:.80}")
    if parts.username is not None or parts.password is not None:
        raise TaskError(f"the address of {name} must not hold a name or a password: everybody reads it")
    if " " in address or "\\" in address:
        raise TaskError(f"the address of {name} must not have spaces or backslashes; got {address!r:.80}")
    if not _is_host(parts.hostname or "", in_brackets=parts.netloc.startswith("[")):
        raise TaskError(
            f"the host in the address of {name} must be a name of letters, digits, - and _, without xn--, or an IP "
            f"address in its usual spelling; got {address!r:.80}"
        )


def _is_host(host: str, *, in_brackets: bool) -> bool:
    try:
        if in_brackets:
            return "%" not in host and bool(IPv6Address(host))
        if _NUMBER.fullmatch(host.removesuffix(".").rpartition(".")[2]):
            return bool(IPv4Address(host))
    except ValueError:
        return False
    return bool(_NAME.fullmatch(host))

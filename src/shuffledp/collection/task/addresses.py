"""Addresses in a task: everybody reads them, and clients go there."""

from __future__ import annotations

from urllib.parse import urlsplit

from shuffledp.errors import TaskError


def check_address(address: str, name: str) -> None:
    """Refuses what is no address of a server or a file on one."""
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

"""The servers of a task with their addresses and public keys, and who asks: `asker`, `purpose`, `contact`, `language`.

The fields about who asks are claims of the file, shown to people who decide whether to answer; nothing proves them.
Every program must accept the same addresses and claims, so the rules name characters and do not depend on a version of
Unicode.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from shuffledp.collect.crypto.keys import is_public_key
from shuffledp.collect.task.public_file import is_hexadecimal
from shuffledp.errors import TaskError
from shuffledp.formatting import shown_address
from shuffledp.histogram.text_code import WHITE_SPACE

if TYPE_CHECKING:
    from shuffledp.collect.task.series import Series
    from shuffledp.collect.task.task import Task

MOST_SHUFFLERS = 8
"""Each makes every message 48 bytes longer, and more do not add trust."""

_NAME = re.compile(r"(?!xn--)[a-z0-9_-]+(\.(?!xn--)[a-z0-9_-]+)*\.?", re.IGNORECASE)
"""A host name in characters that all URL parsers treat alike. Parts that begin with xn-- stand for other letters, and
parsers differ in which they allow."""

_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
"""The last part of a host that browsers take for an IPv4 address, in one of its many spellings."""

_NETLOC = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\[\]]+)(:[0-9]*)?")
"""A host, in brackets or without any, and a port. Versions of `urlsplit` ignore text around brackets."""

_PATH = re.compile(r"[A-Za-z0-9._~/%@+,:-]*")
"""A path that means nothing to a shell, and has no = as between an address and a key."""


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A server: its address, and its public key for this task as 64 hexadecimal digits."""

    address: str
    key: str

    @property
    def public_bytes(self) -> bytes:
        """The public key."""
        return bytes.fromhex(self.key)

    def check(self, name: str) -> None:
        """Refuse a wrong address or key."""
        check_address(self.address, name)
        if not is_hexadecimal(self.key):
            raise TaskError(f"the key of {name} must be 64 hexadecimal digits, in small letters")
        if not is_public_key(self.public_bytes):
            raise TaskError(f"the key of {name} is no public key")


class Servers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The servers of a round, with their keys; the shufflers are in the order of the chain."""

    shufflers: list[Place]
    analyzer: Place


def check_places(shufflers: list[Place], analyzer: Place) -> None:
    """Refuse servers with wrong addresses or keys, or two with the same key."""
    if not 1 <= len(shufflers) <= MOST_SHUFFLERS:
        raise TaskError(f"a task needs 1 to {MOST_SHUFFLERS} shufflers, got {len(shufflers)}")
    for at, place in enumerate(shufflers):
        place.check(f"shuffler {at + 1}")
    analyzer.check("the analyzer")
    keys = [place.key for place in (*shufflers, analyzer)]
    if len(set(keys)) != len(keys):
        raise TaskError("two servers of the task have the same key: its owner could undo the mixing")


def check_address(address: str, name: str) -> None:
    """Refuse text that is no address of a server or of a file on one, or that parsers could read differently."""
    try:
        parts = urlsplit(address)
        # not parts.scheme: some versions of urlsplit ignore spaces before it
        usable = address.lower().startswith(("http://", "https://")) and parts.hostname and parts.port != 0
    except ValueError:  # such as a port that is not a number
        usable = False
    if not usable or parts.query or parts.fragment or not address.isascii() or not address.isprintable():
        raise TaskError(f"the address of {name} must be such as https://host:port; got {shown_address(address)}")
    if parts.username is not None or parts.password is not None:
        raise TaskError(f"the address of {name} must not hold a name or a password: everybody reads it")
    if not _PATH.fullmatch(parts.path):
        raise TaskError(
            f"the path in the address of {name} must be of letters, digits and the characters ._~/%@+,:- only; got "
            f"{address!r:.80}"
        )
    in_brackets = parts.netloc.startswith("[")
    if not _NETLOC.fullmatch(parts.netloc) or not _is_host(parts.hostname or "", in_brackets=in_brackets):
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


VERSION = 1
SECOND_VERSION = 2
"""The version of a task or a series with a field about who asks, and of a round: version 1 has none of these fields."""

ASKER_FIELDS = ("asker", "purpose", "contact", "language")

LONGEST_ASKER = 200
LONGEST_PURPOSE = 1_000
"""As long as the longest question: both are read before an answer."""

LONGEST_CONTACT = 254
"""The longest mail address (RFC 5321)."""

_NOT_SHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
"""Control characters, ends of lines, and marks that turn the direction of the text around them: a page would show
something else than the file says."""

_MAIL = re.compile(r"[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
"""A mail address in the characters that a link can hold unescaped."""

_LANGUAGE = re.compile("[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?(-([a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*")
"""A tag of BCP 47 without extensions, in the one spelling that it recommends: de, pt-BR, zh-Hant, ca-valencia."""

_LONGEST_LANGUAGE = 35
"""The length of tags that every program must store (BCP 47, section 4.4.1)."""


def on_one_host(task: Task) -> bool:
    """Tell whether all servers of a task are on one host, whose operator has all keys."""
    return len({urlsplit(place.address).hostname for place in (*task.shufflers, task.analyzer)}) == 1


def asker_fields(asked: Task | Series) -> dict[str, str]:
    """Return the fields that a task or a series has, by name."""
    found = {name: getattr(asked, name) for name in ASKER_FIELDS}
    return {name: text for name, text in found.items() if text is not None}


def check_version(asked: Task | Series, kind: str) -> None:
    """Refuse a version that does not fit the fields of a task or a series (`kind`)."""
    possible = ("series", *ASKER_FIELDS) if kind == "task" else ASKER_FIELDS
    if asked.version not in (VERSION, SECOND_VERSION):
        raise TaskError(f"version must be {VERSION} or {SECOND_VERSION}, got a {kind} of version {asked.version}")
    added = [name for name in possible if getattr(asked, name) is not None]
    if asked.version == VERSION and added:
        raise TaskError(f"a {kind} of version 1 has no field `{added[0]}`: a {kind} with it has version 2")
    if asked.version == SECOND_VERSION and not added:
        raise TaskError(
            f"a {kind} of version 2 must have one of the fields {', '.join(possible)}; without any it has version 1"
        )


def check_asker(asked: Task | Series) -> None:
    """Refuse a field that is empty, too long, or has another form."""
    fields = asker_fields(asked)
    _check_line("asker", fields.get("asker"), LONGEST_ASKER)
    _check_line("purpose", fields.get("purpose"), LONGEST_PURPOSE)
    if (contact := fields.get("contact")) is not None:
        _check_contact(contact)
    language = fields.get("language")
    if language is not None and (len(language) > _LONGEST_LANGUAGE or not _LANGUAGE.fullmatch(language)):
        raise TaskError(f"language must be a tag such as de, pt-BR or zh-Hant (BCP 47), got {language!r:.60}")


def _check_line(name: str, text: str | None, longest: int) -> None:
    if text is None:
        return
    if not 1 <= len(text) <= longest:
        raise TaskError(f"{name} must have 1 to {longest:,} characters, got {len(text):,}")
    if text.strip(WHITE_SPACE) != text:
        raise TaskError(f"{name} must not begin or end with a space")
    if _NOT_SHOWN.search(text):
        raise TaskError(f"{name} must be one line of printable characters, got {text!r:.80}")


def _check_contact(contact: str) -> None:
    if len(contact) > LONGEST_CONTACT:
        raise TaskError(f"contact must have at most {LONGEST_CONTACT} characters, got {len(contact):,}")
    if contact.startswith("https://"):
        check_address(contact, "the contact")
    elif not _MAIL.fullmatch(contact):
        raise TaskError(f"contact must be a mail address or an address with https://, got {contact!r:.80}")

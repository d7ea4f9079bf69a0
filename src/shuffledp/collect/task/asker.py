"""Who asks a question: the fields `asker`, `purpose`, `contact` and `language` of a task or a series.

They are claims of the file, shown to people who decide whether to answer; nothing proves them. Every program must
accept the same ones, so the rules below name characters and do not depend on a version of Unicode.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shuffledp.collect.task.servers import check_address
from shuffledp.errors import TaskError
from shuffledp.histogram.text_code import WHITE_SPACE

if TYPE_CHECKING:
    from shuffledp.collect.task.series import Series
    from shuffledp.collect.task.task import Task

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


def asker_fields(asked: Task | Series) -> dict[str, str]:
    """Return the fields that a task or a series has, by name."""
    found = {name: getattr(asked, name) for name in ASKER_FIELDS}
    return {name: text for name, text in found.items() if text is not None}


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

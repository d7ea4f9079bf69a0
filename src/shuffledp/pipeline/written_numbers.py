"""Which texts are numbers: one strict reading, wherever numbers come as text.

A number is written with the digits 0 to 9, at most one point, and perhaps a sign in front and an exponent behind;
spaces around it do not matter. Nothing else is a number: "1,000" (which is one in some countries and a thousand in
others), "1_000", "0x10", "inf", "nan", digits of other scripts.
"""

from __future__ import annotations

import re
from decimal import Decimal

NUMBER = "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,4})?"
"""For the regular expressions of Python, RE2 and Java alike."""

LONGEST = 400
"""Characters of a number, with the spaces around it: a float has at most 309 digits before its point."""

_NUMBER = re.compile(f" *{NUMBER} *")


def read_number(text: str) -> Decimal | None:
    """The exact number that a text is; None where it is none."""
    return Decimal(text.strip(" ")) if len(text) <= LONGEST and _NUMBER.fullmatch(text) else None

"""Values that invite parsers to guess a type, and neighbouring inputs: lists that differ in one row.

The rule under test: whatever one person holds, the labels of all others and the number of people stay the same. A test
draws `neighbours`, reads both lists, and compares the two counts `without` the person.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

TEXTS = {
    "comment signs": ("#", "#zoe", "#3", "//", "--", "%", ";x", "!", "rem"),
    "quotes": ('"', '""', '"""', "'", "`", '5" disk', '"quoted"', '"open', 'shut"', '\\"', '"a""b"', '","'),
    "separators": (",", ";", "\t", "|", "a,b", "a;b", "a\tb", " , ", ",,", "^", "\x1f"),
    "line breaks": ("a\nb", "a\r\nb", "a\rb", "\n", "\r", "\n\n", "a\u2028b", "a\x85b", "a\x0bb", "a\x0cb"),
    "byte-order marks": ("\ufeff", "\ufeffa", "a\ufeff", "ÿþ", "ï»¿"),
    "truth values": ("true", "True", "TRUE", "f", "no", "yes", "0", "1"),
    "integers": ("7", "007", "+7", "-7", "-0", "0x1f", "1_000", "9223372036854775808", "٣"),
    "numbers with a point": (
        "1.5",
        "1.50",
        ".5",
        "5.",
        "-0.0",
        "1e5",
        "1E+05",
        "1e400",
        "nan",
        "NaN",
        "inf",
        "-Infinity",
    ),
    "thousands separators": ("1,000", "1.000", "1 000", "1'000", "1.000,00", "1,000.00"),
    "dates and times": ("2026-01-02", "02/01/2026", "2026-01-02T03:04:05Z", "20260102", "03:04", "10000-01-01"),
    "missing ones": ("", " ", "NULL", "null", "NA", "N/A", "nil", "None", "-", "\\N", "<NA>", "?"),
    "spaces": (" a", "a ", "  a  ", "\ta", "a\t", "\u00a0a", "a b"),
    "spellings": ("a", "A", "á", "a\u0301", "ß", "SS", "İ", "\u0131", "ﬁ", "fi"),
    "zero bytes": ("\x00", "a\x00", "\x00a", "\x1a", "\x08", "\x7f"),
    "other syntaxes": ("{}", "[]", '{"value": 1}', "[1]", "=1+1", "\\", "a\\", "\\n", "${x}", "*", "😀", "\U0001d518"),
    "long ones": ("x" * 300, "x," * 200, '"' * 101),
}
"""Short texts by what they may be taken for."""

OBJECTS = (
    None, True, False, 0, 1, -1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 0.0, -0.0, 1.0, 1.5, 2.5, 0.1, 1e22,
    float("nan"), float("inf"), Decimal("1.50"), Decimal(1), date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5), b"a",
)  # fmt: skip
"""Python values other than text, for data in memory."""

LINES = {
    "a field too few": b"lonely",
    "a field too many": b"a,b,c,d",
    "a separator at the end": b"a,b,",
    "no field at all": b"",
    "an open quote": b'"open,1',
    "an open quote in the last field": b'a,"open',
    "a quote that only closes": b'shut",1',
    "a quote inside a field": b'5" disk,1',
    "text after a quote": b'"a"b,1',
    "a space before a quote": b' "a",1',
    "a space after a quote": b'"a" ,1',
    "a carriage return": b"a\rb,1",
    "only a carriage return": b"\r",
    "a zero byte": b"a\x00,1",
    "bytes that are no UTF-8": b"\xff\xfe,1",
    "half a character": "á".encode()[:1] + b",1",
    "a surrogate": b"\xed\xa0\x80,1",
    "an end-of-file sign": b"\x1a",
    "a comment": b"# a,1",
    "the header again": b"value,user",
    "half an object": b'{"value": "a"',
    "two objects": b'{"value": "a"} {"value": "b"}',
    "an array": b'[{"value": "a"}, {"value": "b"}]',
    "a nested value": b'{"value": {"a": 1}, "user": "1"}',
    "a key twice": b'{"value": "a", "value": "b", "user": "1"}',
    "not a number": b'{"value": NaN, "user": "1"}',
}
"""Lines that no careful program writes. A reader may refuse them; it may not read other lines differently."""


@dataclass(frozen=True)
class Neighbours:
    """The values of all other people, and two possible values of one person at some position among them."""

    others: tuple[Any, ...]
    place: int
    one: Any
    another: Any

    @property
    def first(self) -> list[Any]:
        """The list with the person's one value."""
        return self._with(self.one)

    @property
    def second(self) -> list[Any]:
        """The list with the person's other value."""
        return self._with(self.another)

    def _with(self, value: Any) -> list[Any]:
        return [*self.others[: self.place], value, *self.others[self.place :]]


def texts() -> st.SearchStrategy[str]:
    """Text that looks like another type, alone or joined, and any other text."""
    known = st.sampled_from([text for group in TEXTS.values() for text in group])
    anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    return st.one_of(known, known, st.tuples(known, known).map("".join), anything)


def objects() -> st.SearchStrategy[Any]:
    """Python values of many types, including text."""
    return st.one_of(st.sampled_from(OBJECTS), texts(), st.integers(), st.floats())


def neighbours(
    others: st.SearchStrategy[Any], one: st.SearchStrategy[Any] | None = None, *, most: int = 12
) -> st.SearchStrategy[Neighbours]:
    """Pairs of neighbouring lists with at most this many other people; few kinds of values, as in real columns."""

    @st.composite
    def drawn(draw: st.DrawFn) -> Neighbours:
        few = draw(st.lists(others, min_size=1, max_size=3))
        rest = tuple(draw(st.lists(st.sampled_from(few), min_size=1, max_size=most)))
        place = draw(st.integers(0, len(rest)))
        return Neighbours(rest, place, draw(others if one is None else one), draw(others if one is None else one))

    return drawn()


def without(counts: Counter[Any], label: Any) -> Counter[Any]:
    """Return the counts without one person, who is counted under this label; fail if the label has no count."""
    assert counts[label] >= 1, "the person is not counted under their own label"
    return counts - Counter([label])

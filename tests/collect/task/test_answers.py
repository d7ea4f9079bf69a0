"""Every answer has a bin, and external lists must match the task."""

import hashlib
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.collect.task.answers import AnswerList, AnswerNumbers, AnswerRange, AnswersElsewhere
from shuffledp.errors import TaskError
from tests.collect.tasks import small_task

LISTED = AnswerNumbers(["dark", "light", "5", "<script>"])
RANGE = AnswerNumbers(range(-3, 4))
OTHER, NONE = 4, 5


class Hostile:
    """An object whose conversions all fail."""

    def __str__(self):
        raise RuntimeError("sekrit-4711")

    __int__ = __eq__ = __hash__ = __repr__ = __str__


@pytest.mark.parametrize(
    ("answer", "place"),
    [("dark", 0), ("light", 1), ("5", 2), (5, 2), ("<script>", 3), ("Dark", OTHER), (" dark", OTHER), (5.0, OTHER),
     (None, NONE), ("", NONE), ("(other)", OTHER), ("(none)", OTHER), ([], OTHER), ({}, OTHER), (b"dark", OTHER),
     (math.nan, OTHER), (10**5000, OTHER), ("\ud800", OTHER), ("x" * 10**6, OTHER), (Hostile(), OTHER), (True, OTHER)],
    ids=lambda part: type(part).__name__,
)  # fmt: skip
def test_bins_of_a_list(answer, place):
    assert LISTED.bin_of(answer) == place


@pytest.mark.parametrize(
    ("answer", "place"),
    [(-3, 0), (0, 3), (3, 6), (4, 7), (-4, 7), ("-3", 0), ("3", 6), (2.0, 5), (2.5, 7), (np.int64(1), 4),
     (np.float32(1), 4), (Decimal(1), 4), (Fraction(1), 4), (Fraction(1, 2), 7), (None, 8), ("", 8), (True, 7),
     (math.inf, 7), (math.nan, 7), ("1.0", 7), (" 1", 7), ("+1", 7), ("01", 7), ("1_0", 7),
     ("\N{ARABIC-INDIC DIGIT ONE}", 7), ("1\n", 7), ("9" * 5000, 7), (10**5000, 7), (1j, 7), ([1], 7),
     (Hostile(), 7), (b"1", 7)],
    ids=lambda part: type(part).__name__,
)  # fmt: skip
def test_bins_of_a_range(answer, place):
    assert RANGE.bin_of(answer) == place


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=3,
)


@pytest.mark.slow
@given(ANYTHING)
def test_every_answer_has_a_bin(answer):
    assert 0 <= LISTED.bin_of(answer) < LISTED.size
    assert 0 <= RANGE.bin_of(answer) < RANGE.size


def test_labels_are_the_answers_then_other_then_none():
    task = small_task().task
    assert [task.labels.decode(np.arange(5))[at] for at in range(5)] == ["dark", "light", "system", "(other)", "(none)"]
    assert RANGE.domain.size == 9


@pytest.mark.parametrize(
    "values", [[], ["a", "a"], ["(none)"], ["a", "(other)"], ["a\nb"], ["a\r"], ["\udc80"], ["", "a"], ["\t", "a"]]
)
def test_ambiguous_and_unprintable_answers_are_refused(values):
    with pytest.raises(TaskError):
        AnswerList(values).check()


def test_hostile_labels_are_kept_as_they_are():
    labels = ["<b>", "a,b", '"', "'; --", "\u202e", "\N{PILE OF POO}", "a\tb", "\0"]
    AnswerList(labels).check()
    places = AnswerNumbers(labels)
    assert [places.bin_of(label) for label in labels] == list(range(len(labels)))


@pytest.mark.slow
def test_a_long_list_must_be_external():
    AnswerList([str(at) for at in range(100_000)]).check()
    with pytest.raises(TaskError, match="keep more in a file"):
        AnswerList([str(at) for at in range(100_001)]).check()


def elsewhere(content, size):
    return AnswersElsewhere("https://h/list", hashlib.sha256(content).hexdigest(), size)


@pytest.mark.parametrize(("content", "values"), [(b"a\nb\n", ["a", "b"]), (b"a\nb", ["a", "b"]), ("é".encode(), ["é"])])
def test_an_external_list(content, values):
    assert elsewhere(content, len(values)).read(content) == values


@pytest.mark.parametrize(
    ("content", "size", "reason"),
    [
        (b"a\nb\n", 3, "the list has 2 answers, and the task says 3"),
        (b"a\n\nb\n", 3, "must not be empty"),
        (b"a\r\nb\r\n", 2, "text of one line"),
        (b"\xff", 1, "is not UTF-8"),
        (b"a\na\n", 2, "there twice"),
        (b"", 1, "must not be empty"),
    ],
)
def test_an_invalid_external_list_is_refused(content, size, reason):
    with pytest.raises(TaskError, match=reason):
        elsewhere(content, size).read(content)


@given(st.binary(min_size=1, max_size=30))
def test_another_external_list_is_refused(content):
    with pytest.raises(TaskError, match="its SHA-256 is another"):
        elsewhere(content, 1).read(content + b"x")


@pytest.mark.parametrize(("start", "stop"), [(5, 5), (5, 4), (0, 2**32), (-(2**53), 0), (0, 2**53)])
def test_invalid_ranges_are_refused(start, stop):
    with pytest.raises(TaskError):
        AnswerRange(start, stop).check()


class Stubborn(str):
    """A text that fails when it is inspected."""

    __slots__ = ()

    def __bool__(self):
        raise RuntimeError

    __len__ = __str__ = __hash__ = __bool__


@pytest.mark.parametrize("values", [["dark", "light"], range(5)])
def test_a_text_that_cannot_be_inspected_counts_as_other(values):
    assert AnswerNumbers(values).bin_of(Stubborn("dark")) == len(values)

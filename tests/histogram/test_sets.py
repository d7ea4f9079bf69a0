"""Rows of what people hold are filled up to one number of different bins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import private_histogram
from shuffledp.errors import DataError
from shuffledp.histogram.domain import Domain
from shuffledp.histogram.inputs import NONE, filled_up, holders_of_padding
from shuffledp.histogram.labels import Absent, label

REAL, EACH = 7, 4


@st.composite
def rows_of_people(draw):
    """Different bins of some people, in any order, with gaps anywhere."""
    held = draw(st.lists(st.sets(st.integers(0, REAL - 1), max_size=EACH), min_size=1, max_size=6))
    rows = [draw(st.permutations([*bins, *[NONE] * (EACH - len(bins))])) for bins in held]
    return held, np.array(rows)


@pytest.mark.slow
@given(rows_of_people())
def test_everyone_holds_the_same_number_of_different_bins(people):
    held, rows = people
    whole = filled_up(rows, bins=REAL + EACH, each=EACH, padding_bins=EACH)
    for bins, row in zip(held, whole, strict=True):
        missing = EACH - len(bins)
        assert sorted(row) == sorted([*bins, *range(REAL, REAL + missing)])  # the first padding bins, each once


@pytest.mark.slow
@given(rows_of_people())
def test_the_holders_of_a_padding_bin_lack_that_many_values(people):
    held, rows = people
    whole = filled_up(rows, bins=REAL + EACH, each=EACH, padding_bins=EACH)
    numbers = np.bincount([len(bins) for bins in held], minlength=EACH + 1)
    assert holders_of_padding(numbers).tolist() == [np.count_nonzero(whole == REAL + i) for i in range(EACH)]


def test_shorter_rows_and_people_without_values():
    assert filled_up([[2], [NONE]], bins=6, each=3, padding_bins=3).tolist() == [[2, 3, 4], [3, 4, 5]]
    assert filled_up(np.empty((2, 0)), bins=6, each=2, padding_bins=2).tolist() == [[4, 5], [4, 5]]
    assert filled_up([], bins=6, each=2, padding_bins=2).shape == (0, 2)
    assert filled_up([0, NONE, 1], bins=3, each=1, padding_bins=1).tolist() == [0, 2, 1]
    assert filled_up([[0, 2]], bins=3, each=2, padding_bins=0).tolist() == [[0, 2]]


@pytest.mark.parametrize(
    "rows", [[[1, 1]], [[0, 6]], [[0, -2]], [[0, 1, 2]], [[0.5, 1]], [["a", "b"]], [0, 1], [[[0]]]], ids=repr
)
def test_other_rows_are_refused(rows):
    """Above all a bin that a person holds twice, and a padding bin: it would count them twice."""
    with pytest.raises(DataError, match="bin"):
        filled_up(rows, bins=6 + 2, each=2, padding_bins=2)


def test_a_bin_held_twice_is_refused_in_any_place():
    with pytest.raises(DataError, match="twice"):
        filled_up([[3, 1, 3]], bins=6 + 3, each=3, padding_bins=3)


def test_without_padding_bins_everyone_holds_all():
    with pytest.raises(DataError, match="exactly 2"):
        filled_up([[0, NONE]], bins=3, each=2, padding_bins=0)


@pytest.mark.slow
def test_padding_bins_are_shown_in_their_own_order():
    people = [{"person": person, "app": "mail"} for person in range(1000)]
    about = {"column": "app", "user": "person", "values_per_person": 5, "domain": ["mail", "maps"]}
    release = private_histogram(people, **about, epsilon=1, delta=1e-6, protocol="dummy")
    others = [row.label for row in release.estimate.top() if isinstance(row.label, Absent)]
    assert others == [Absent(most=most) for most in (4, 3, 2, 1, 0)]


def test_labels_of_padding_bins_are_not_values():
    listed = Domain.of(["mail", "(no value)"]).with_absent(3)
    assert listed.size == 5
    assert listed.decode([0, 1, 2, 4]).tolist() == ["mail", "(no value)", Absent(most=2), Absent(most=0)]
    assert str(Absent(most=0)) == "(no value)" != Absent(most=0)
    assert [str(Absent(most=number)) for number in (1, 2)] == ["(at most 1 value)", "(at most 2 values)"]
    assert listed.encode(["mail"]).tolist() == [0]
    assert Absent(most=1) in listed
    assert Absent(most=3) not in listed
    open_domain = Domain.implicit(2**64).with_absent(2)
    assert open_domain.decode(["mail", Absent(most=1)]).tolist() == ["mail", Absent(most=1)]
    for most in range(4):
        assert Absent.from_text(str(Absent(most=most))) == Absent(most=most) == label(Absent(most=most))

"""Numbers in intervals and several choices: every answer has its values, and too many choices are a random subset.

Statistical assertions have a false failure rate of at most 1e-6 each, under fixed seeds.
"""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.collect.client.making import messages_of
from shuffledp.collect.task import AnswerChoices, AnswerEdges
from shuffledp.collect.task.guarantee import possible_protocols
from shuffledp.errors import DataError, ParameterError, TaskError
from shuffledp.histogram.inputs import NONE as NO_VALUE
from tests.collect.task.test_answers import ANYTHING, Hostile
from tests.collect.tasks import THEMES, small_task
from tests.oracles.goodness import assert_distribution, assert_not_distribution

AGES = AnswerEdges("0,18,65.5", ["0.5"])
OTHER, NONE = 4, 5
FRUIT = AnswerChoices(["apple", "pear", "fig", "plum"], 2)


@pytest.mark.parametrize(
    ("answer", "place"),
    [(-1, 0), (0, 1), (17.999, 1), (18, 2), ("18", 2), (" 18 ", 2), ("1.8e1", 2), (65.5, 3), ("65.4999999999999999", 2),
     (np.float32(65.5), 3), (np.int64(7), 1), (Decimal("17.9999999999999999999999"), 1), (1e300, 3), (-1e300, 0),
     (10**300, 3), (math.nan, OTHER), (math.inf, OTHER), (True, OTHER), (Fraction(1, 2), OTHER), ("eight", OTHER),
     ("1,5", OTHER), ("0x10", OTHER), ("\N{ARABIC-INDIC DIGIT ONE}", OTHER), (" ", OTHER), (b"18", OTHER),
     ([18], OTHER), (10**5000, OTHER), (1j, OTHER), (Hostile(), OTHER), ("", NONE), (None, NONE)],
    ids=lambda part: type(part).__name__,
)  # fmt: skip
def test_intervals_of_numbers(answer, place):
    assert AGES.bin_of(answer) == place


@pytest.mark.slow
@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**30), 10**30) | st.decimals(-99, 99))
def test_numbers_are_compared_exactly(answer):
    exact = Fraction(Decimal(str(answer)))
    assert AGES.bin_of(answer) == sum(exact >= Fraction(edge) for edge in AGES.intervals.edges)


@pytest.mark.parametrize(
    ("answer", "bins"),
    [(["apple"], [0]), ("fig", [2]), (["fig", "apple"], [0, 2]), (("fig", "fig"), [2]), ({"pear"}, [1]),
     (["kiwi"], [4]), (["kiwi", "nut", "fig"], [2, 4]), ([], [5]), (None, [5]), ("", [5]), (["", None], [5]),
     (["", "fig"], [2]), (iter(["fig"]), [2]), (np.array(["fig", "plum"]), [2, 3]), (5, [4]), (b"fig", [4]),
     (Hostile(), [4]), ([Hostile()], [4]), (["(none)"], [4]), ("apple,fig", [4]),
     (["apple", "pear", "fig", "plum"], [0, 1, 2, 3]), ([["fig"]], [4]), ({}, [4]), ({"fig": 1}, [4]), ([{}], [4]),
     ([[]], [4]), ([["fig"], "pear"], [1, 4]), ({}.keys(), [5]), ({"fig": 1}.keys(), [2])],
    ids=lambda part: type(part).__name__,
)  # fmt: skip
def test_bins_of_choices(answer, bins):
    assert FRUIT.bins_of(answer) == bins


def test_a_collection_is_no_text_even_if_its_text_is_listed():
    for odd in ({}, [], ["a"], {"a": 1}):
        listed = AnswerChoices([str(odd), "a", "b"], 2)
        assert listed.bins_of([odd]) == [3]
        assert listed.numbers.bin_of(odd) == 3


def failing():
    yield "apple"
    raise RuntimeError("sekrit-4711")


def test_choices_that_cannot_be_read_count_as_other():
    assert FRUIT.bins_of(failing()) == [4]


@pytest.mark.slow
@given(ANYTHING)
def test_every_answer_has_values(answer):
    assert 0 <= AGES.bin_of(answer) <= NONE
    row = FRUIT.row_of(answer)
    held = row[row != NO_VALUE]
    assert row.size == 2
    assert 1 <= held.size == np.unique(held).size
    assert 0 <= held.min() <= held.max() <= 5


@pytest.mark.parametrize("number", range(6))
def test_everybody_reports_the_same_number_of_values(number):
    """Also with one choice more than allowed: the shuffler must not see who made too many."""
    task, chosen = small_task(most=2, answers=tuple(FRUIT.values)).task, [*FRUIT.values, "kiwi"][:number]
    row = FRUIT.row_of(chosen)
    assert row.size == 2
    assert set(row.tolist()) - {NO_VALUE} <= set(FRUIT.bins_of(chosen))
    assert len(messages_of(task, chosen, rng=np.random.default_rng(1))) >= 2


def subsets(answers, answer, calls, seed, rows=None):
    """The number of each subset of the choices 0 to 3 that was reported, by a generator or by rows given."""
    rng = np.random.default_rng(seed)
    every = list(combinations(range(4), answers.most))
    drawn = (tuple(answers.row_of(answer, rng=rng).tolist()) if rows is None else rows(rng) for _ in range(calls))
    found = Counter(drawn)
    assert set(found) <= set(every)
    return np.repeat(np.arange(len(every)), [found[subset] for subset in every])


def test_of_too_many_choices_every_subset_is_equally_likely():
    """The negative control keeps the first choice always."""
    drawn = subsets(FRUIT, list(FRUIT.values), 1200, 1)
    assert_distribution(drawn, 0, np.full(6, 1 / 6))
    first = subsets(FRUIT, None, 1200, 1, rows=lambda rng: (0, int(rng.integers(1, 4))))
    assert_not_distribution(first, 0, np.full(6, 1 / 6))


def test_a_subset_is_chosen_by_the_operating_system(monkeypatch):
    from shuffledp import randomness

    asked = []
    monkeypatch.setattr(randomness, "secure_rng", lambda: asked.append(1) or np.random.default_rng(1))
    FRUIT.row_of(list(FRUIT.values))
    assert asked == [1]


@pytest.mark.slow
def test_a_number_has_one_node_on_each_level():
    task = small_task(protocol="ranges", edges="0:120:1").task
    tree, nodes = task.tree, set()
    assert (tree.leaves, task.protocol.bins) == (124, tree.nodes)
    assert tree.levels == task.values_per_person == task.protocol.values_per_person > 1
    for answer in (-3, 0, "42", 119.5, 120, "x", None):
        (row,) = task.values_of(answer)
        assert [int(node - start) for node, start in zip(row, tree.starts, strict=True)] == [
            task.bin_of(answer) // width for width in tree.widths
        ]
        nodes.add(tuple(row))
        sent = Counter(messages_of(task, answer, rng=np.random.default_rng(1)))
        assert all(sent[int(node)] >= 1 for node in row)
    assert len(nodes) == 7


def test_a_tree_of_one_level_is_a_histogram():
    task = small_task(protocol="ranges", edges="0").task
    assert (task.tree.levels, task.values_per_person, task.protocol.bins) == (1, 1, 4)
    assert [task.values_of(answer) for answer in (-1, 0, "x", None)] == [0, 1, 2, 3]


def test_labels_are_in_order_then_other_then_none():
    task = small_task(protocol="ranges", edges="0,18,65.5").task
    labels = ["below 0", "0 to below 18", "18 to below 65.5", "65.5 and above", "(other)", "(none)"]
    assert task.labels.decode(np.arange(6)).tolist() == labels
    assert task.is_other("x")
    assert not task.is_other(None)
    with pytest.raises(DataError, match="numbers in intervals"):
        _ = task.answer_numbers


def test_choices_are_filled_up_with_padding_bins():
    task = small_task(most=2).task
    protocol = task.protocol
    assert (protocol.bins, protocol.values_per_person, protocol.padding_bins) == (3 + 2 + 2, 2, 2)
    sent = Counter(messages_of(task, ["dark"], rng=np.random.default_rng(1)))
    assert sent[0] >= 1
    assert sent[5] >= 1
    assert task.is_other(["dark", "blue"])
    assert not task.is_other(["dark"])
    assert task.bin_of("light") == 1


def test_each_kind_has_its_protocols():
    assert possible_protocols(AGES) == ["ranges"]
    assert "hashed" not in possible_protocols(FRUIT)
    assert "ranges" not in possible_protocols(FRUIT)
    with pytest.raises(ParameterError, match=r"protocol must be .* for answers of kind choices, got 'hashed'"):
        small_task(most=2, protocol="hashed")
    with pytest.raises(ParameterError, match=r"too few|at least"):
        small_task(most=3, protocol="hist", users=20)


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        (AnswerEdges("0, 1", []), "one spelling '0,1'"),
        (AnswerEdges("0:100000:1", []), "at most 100,000 intervals"),
        (AnswerEdges("1,0", []), "cannot be used"),
        (AnswerEdges("0", ["0.9", "0.1"]), "increase"),
        (AnswerEdges("0", ["1.0"]), "below 1"),
        (AnswerChoices(["a", "b"], 3), "most must be"),
        (AnswerChoices(["a"], 2), "most must be"),
        (AnswerChoices(["a", "a"], 2), "there twice"),
        (AnswerChoices([str(at) for at in range(100_001)], 2), "at most 100,000 answers"),
    ],
)
def test_unusable_answers_are_refused(answers, says):
    with pytest.raises(TaskError, match=says):
        answers.check()


@pytest.mark.slow
def test_the_planner_makes_choices_without_padding_where_it_can():
    task = small_task(most=2, protocol=None, users=1000, answers=THEMES).task
    assert (task.protocol_used.name, task.padded) == ("dummy-poisson", False)

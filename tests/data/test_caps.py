"""The contribution cap: who has more values than count is marked, and all values of everybody are counted beside it."""

from collections import Counter
from contextlib import closing
from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from shuffledp import Edges, private_histogram
from shuffledp.data import Source, open_engine
from shuffledp.data.people import People, TrueCounts
from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.inputs import filled_up
from shuffledp.histogram.labels import Absent, MoreThan
from shuffledp.release.choose import PrivacySpec
from shuffledp.release.simulate import evaluate
from tests.oracles.held import Truthful, held_by, sent

ROWS = [
    # person, value, number
    ("1", "a", 1), ("1", "b", 2), ("1", "b", 3), ("1", None, 40), ("2", "a", 5), ("2", "a", 60), ("3", "c", 7),
    ("4", "b", 8), ("4", "c", 9), ("4", "d", 90), ("5", "a", 4), (None, "z", 50), ("6", None, None),
]  # fmt: skip
TABLE = {name: [row[at] for row in ROWS] for at, name in enumerate(("person", "value", "number"))}


def source(data=TABLE, column="value", **options):
    return Source.of(data, column=column, **{"user": "person", **options})


def with_and_without_cap(people, listed):
    """Return the capped and the uncapped count of every label, from the true counts of all labels."""
    capped, uncapped = {}, {}
    for part in people.truth(listed, np.arange(len(listed))):
        if part.values:
            names = [listed[at] for at in part.at]
            capped |= zip(names, part.people.tolist(), strict=True)
            uncapped |= zip(names, part.uncapped.tolist(), strict=True)
    return capped, uncapped


def labels_of(values):
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def test_values_that_count_for_nobody_are_not_in_a_simulation():
    """They are not in a release either: noise is added to values that somebody holds."""
    table = {"person": ["1"] * 50, "value": [f"v{at}" for at in range(50)]}
    with People(source(table, values_per_person=2)) as people:
        assert people.numbered().counts.size == 2 + people.padding_bins
        assert people.numbered_truth()[0].people.size == 50


def test_a_value_that_people_have_is_no_false_positive_though_the_cap_leaves_all_of_them_out():
    estimate = private_histogram(
        ["a", "b"] * 500, domain=["a", "b"], drop_missing=True, epsilon=1.0, delta=1e-6
    ).estimate
    found = evaluate(estimate, [TrueCounts(np.arange(2), np.array([1000, 0]), np.array([1000, 7]))])
    assert (found.occupied, found.found, found.false_positives) == (2, 2, 0)


@pytest.mark.parametrize("first", [0, 1])
def test_the_largest_error_without_the_cap_is_of_all_parts(first):
    estimate = private_histogram(
        ["a", "b"] * 500, domain=["a", "b"], drop_missing=True, epsilon=1.0, delta=1e-6
    ).estimate
    parts = [TrueCounts(np.array([at]), np.array([500]), np.array([500 + 9000 * (1 - at)])) for at in (0, 1)]
    found = evaluate(estimate, [parts[first], parts[1 - first]]).uncapped
    assert found.cap_error == 9000
    assert found.largest_error == abs(estimate.counts[0] - 9500)


@pytest.mark.parametrize("most", [1, 2, 3, 4])
@pytest.mark.parametrize("where", [None, "number < 50"])
def test_who_has_more_values_than_count_holds_a_marker(most, where):
    """The marker is one more bin of the person, the padding bins are one more too, and no value is counted for it."""
    sets = held_by(ROWS, keep=lambda row: where is None or (row[2] is not None and row[2] < 50))
    more = sum(len(held) > most for held in sets.values())
    with People(source(values_per_person=most, count_capped=True, where=where)) as people:
        each = most + 1
        drawn = people.draw(Truthful(users=people.number(count=True), bins=5, values_per_person=each))
        found = dict(zip(drawn.symbols.tolist(), drawn.counts.tolist(), strict=True))
    assert found[MoreThan(values=most)] == more
    padding = {Absent(most=few): sum(len(held) <= few for held in sets.values()) for few in range(each)}
    assert {label: count for label, count in found.items() if isinstance(label, Absent)} == padding
    assert sum(found.values()) == each * len(sets)
    values = {label: count for label, count in found.items() if not isinstance(label, Absent | MoreThan)}
    assert sum(values.values()) == sum(min(len(held), most) for held in sets.values())


@pytest.mark.parametrize("most", [1, 2])
def test_messages_and_sampled_counts_have_the_same_marker(most):
    """Of a list: five values outside it are one, so that who has no other has just one value."""
    rows = [*ROWS, *(("7", f"unknown {at}", 0) for at in range(5))]
    table = {name: [row[at] for row in rows] for at, name in enumerate(TABLE)}
    listed = [(row[0], row[1] if row[1] in ("a", "b", None) else "(other)") for row in rows]
    more = sum(len(held) > most for held in held_by(listed).values())
    with People(source(table, domain=["a", "b"], values_per_person=most, count_capped=True)) as people:
        assert people.domain.decode([4]).tolist() == [MoreThan(values=most)]
        assert (people.values.size, people.domain.size, people.padding_bins) == (4, 5, most + 1)
        protocol = Truthful(users=people.number(count=True), bins=people.domain.size, values_per_person=most + 1)
        drawn, made = people.draw(protocol), sent(people, protocol)
    assert made == drawn
    assert drawn.counts[4] == more
    assert drawn.total == 7 * (most + 1)


@pytest.mark.slow
def test_the_marker_does_not_depend_on_the_random_choice():
    table = {"person": np.repeat(np.arange(300), 3), "value": [f"v{at}" for at in range(900)]}
    table["value"][:300] = ["same"] * 300
    more = sum(len(held) > 2 for held in held_by(list(zip(*table.values(), strict=True))).values())
    for _ in range(3):
        with closing(open_engine(source(table, values_per_person=2, count_capped=True))) as opened:
            assert opened.holdings()[3] == more
    assert 0 < more < 300


def test_without_the_option_nobody_is_marked():
    with closing(open_engine(source(values_per_person=2))) as opened:
        assert max(opened.holdings()) == 2
    with People(source(values_per_person=2)) as people:
        assert people.domain is people.values


# privacy ------------------------------------------------------------------------------------------------------------

LISTED, NOISE = ["a", "b", "c"], {0: Fraction(1, 4), 1: Fraction(1, 2), 2: Fraction(1, 4)}


def rows_held(held, most):
    """Return the padded rows that a person with these values can hold, as the engine makes them."""
    people = 40  # each of at most 3 choices is missing with probability (2/3)^40 < 1e-7
    values = sorted(held) or [None]
    table = {"person": np.repeat(np.arange(people), len(values)), "value": values * people}
    options = {"domain": LISTED, "drop_missing": True, "values_per_person": most, "count_capped": True}
    with People(source(table, **options)) as opened:
        marker, bins = len(opened.values.decode(np.arange(opened.values.size))), opened.domain.size + most + 1
        (rows,) = opened._engine._bins(opened._encoder, people, marker=marker)
    whole = filled_up(rows, bins=bins, each=most + 1, padding_bins=most + 1)
    return {frozenset(row) for row in whole.tolist()}, bins


def delta_of(one, other, bins):
    """Return the exact delta at epsilon = log 2 of two mixtures of rows, with independent noise in every bin.

    Bins that no row has cancel: their noise is the same for both.
    """
    touched = sorted(set().union(*one, *other))

    def mass(rows, output):
        total = Fraction(0)
        for row in rows:
            weight = Fraction(1, len(rows))
            for at, seen in zip(touched, output, strict=True):
                weight *= NOISE.get(seen - (at in row), 0)
            total += weight
        return total

    outputs = product(range(4), repeat=len(touched))
    return sum(max(Fraction(0), mass(one, output) - 2 * mass(other, output)) for output in outputs)


@pytest.mark.slow
def test_neighbouring_people_differ_by_one_more_bin_than_values():
    """Every pair of sets of one person, at cap 1, with all random choices enumerated in fractions.

    No pair has a larger delta than two fixed rows of 2 different bins, which is what is accounted. Accounting 1 bin
    would not do: some pairs have a larger delta than two rows of 1 bin.
    """
    most = 1
    sets = [frozenset(held) for size in range(4) for held in combinations(LISTED, size)]
    rows = {}
    for held in sets:
        rows[held], bins = rows_held(held, most)
        assert all(len(row) == most + 1 for row in rows[held])
        assert len(rows[held]) == (comb(len(held), most) if len(held) > most else 1)
    found = [delta_of(rows[one], rows[other], bins) for one in sets for other in sets]
    accounted = [
        delta_of({frozenset(range(each))}, {frozenset(range(each, 2 * each))}, bins) for each in (most, most + 1)
    ]
    assert accounted[0] < max(found) <= accounted[1]


@pytest.mark.parametrize(("count", "each"), [(False, 3), (True, 4)])
def test_the_marker_is_accounted_as_one_more_value(count, each):
    asked = PrivacySpec(epsilon=1.0, delta=1e-6)
    with People(source(domain=["a"], values_per_person=3, count_capped=count)) as people:
        target = asked.target(people, users=6)
    assert (target.values_per_person, target.padding_bins) == (each, each)
    assert target.bins == 3 + count  # a, missing, (other)


# without the cap ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"values_per_person": 1, "count_capped": True}, {"values_per_person": 2}, {"where": "number < 50"}],
    ids=str,
)
def test_all_values_of_everybody_are_counted_beside_the_cap(options):
    """For any value: the number of different people who have each, also of values that nobody keeps."""
    sets = held_by(ROWS, keep=lambda row: "where" not in options or (row[2] is not None and row[2] < 50))
    everybody = Counter(value for held in sets.values() for value in held)
    with People(source(**options)) as people:
        people.number(count=True)
        capped, uncapped = with_and_without_cap(people, labels_of(list(everybody)))
        found, others = people.numbered_truth()
        numbered = people.numbered()
    assert uncapped == everybody
    assert sum(capped.values()) == sum(min(len(held), options.get("values_per_person", 1)) for held in sets.values())
    assert all(capped[value] <= uncapped[value] for value in everybody)
    assert sorted(zip(found.people.tolist(), found.uncapped.tolist(), strict=True)) == sorted(
        (capped[value], uncapped[value]) for value in everybody
    )
    assert numbered.total == found.people.sum() + others.people.sum()


@pytest.mark.parametrize("most", [None, 2])
def test_bins_of_everybody_count_once_without_the_cap(most):
    """Numbers of one interval are one value of their person, also without the cap."""
    options = {"domain": Edges([0, 10, 50]), **({} if most is None else {"values_per_person": most})}
    binned = [(row[0], None if row[2] is None else (row[2] >= 10) + (row[2] >= 50)) for row in ROWS]
    everybody = Counter(value for held in held_by(binned).values() for value in held)
    with People(source(column="number", **options)) as people:
        people.number(count=True)
        labels = people.values.decode(np.arange(people.values.size))
        values, _ = people.numbered_truth()
    # (below 0), 0 to 10, 10 to 50, 50 and above, missing
    assert values.uncapped.tolist() == [0, everybody[0], everybody[1], everybody[2], everybody[None]]
    assert (values.people <= values.uncapped).all()
    assert len(labels) == 5


def test_several_columns_without_the_cap():
    pairs = [(row[0], (row[1], row[2])) for row in ROWS]
    everybody = Counter(pair for held in held_by(pairs).values() for pair in held)
    with People(source(column=["value", "number"])) as people:
        people.number(count=True)
        _, uncapped = with_and_without_cap(people, labels_of(list(everybody)))
    assert uncapped == everybody


def test_a_value_outside_the_list_is_refused_before_the_release():
    table = {"person": [1] * 50, "value": ["a"] * 49 + ["unknown"]}
    with People(source(table, domain=["a"], drop_missing=True)) as people, pytest.raises(DataError, match="domain"):
        people.count_uncapped()
    with People(source(table, domain=["a"], drop_missing=True, other=True)) as people:
        people.count_uncapped()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"user": None, "count_capped": True}, "count_capped needs user"),
        ({"count_capped": 1}, "count_capped must be True or False, got int"),
        ({"values_per_person": 256, "count_capped": True}, "at most 255 with count_capped, got 256"),
        ({"count_capped": "yes"}, "count_capped must be True or False, got str"),
    ],
)
def test_wrong_options_are_refused(options, reason):
    with pytest.raises(ParameterError, match=reason):
        source(**options)

"""Multisets and domains: merging, huge and odd labels, and errors that show no value."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import DataError, Domain, Histogram, ParameterError, Tally

labels = st.one_of(st.integers(-5, 5), st.text(max_size=2), st.tuples(st.integers(0, 2), st.integers(0, 2)))


@pytest.mark.slow
@given(st.lists(labels), st.lists(labels))
def test_tallies_count_and_add_like_counters(left, right):
    both = Tally.of(left) + Tally.of(right)
    assert both.as_dict() == dict(Counter(left) + Counter(right))
    assert both.total == len(left) + len(right)


@pytest.mark.slow
@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_addition_is_associative_and_commutative(a, b, c):
    a, b, c = (Tally.of(np.array(x, dtype=np.int64)) for x in (a, b, c))
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a


def test_a_dense_and_a_sparse_tally_of_the_same_messages_are_equal():
    messages = np.array([3, 1, 3], dtype=np.uint8)
    assert Tally.of_bins(messages, bins=5) == Tally.of(messages)
    assert Tally.of(messages) != Tally.of(messages[:2])
    assert Tally.of(messages) != "a tally"


def test_partly_sampled_tallies_of_different_bins_do_not_add():
    drawn = [Tally.from_mapping(counts, complete=False) for counts in ({"x": 9}, {"y": 8})]
    with pytest.raises(DataError, match="cannot be added"):
        drawn[0] + drawn[1]
    assert (drawn[0] + drawn[0]).counts.tolist() == [18]


def test_malformed_tallies_are_refused():
    with pytest.raises(DataError, match="for each symbol of a flat array"):
        Tally(np.arange(3), np.arange(2))
    with pytest.raises(DataError, match="whole numbers"):
        Tally.from_mapping({"a": 1.5})
    with pytest.raises(TypeError):
        Tally.of([1]) + 1


def test_listed_domain_round_trip():
    domain = Domain.of(["red", "green", ("a", 1), 7])
    values = ["green", 7, ("a", 1), "green"]
    assert domain.encode(values).tolist() == [1, 3, 2, 1]
    assert domain.decode(domain.encode(values)).tolist() == values
    assert domain.size == 4
    assert "red" in domain
    assert "blue" not in domain


def test_range_domain_round_trip():
    domain = Domain.range(-2, 3)
    assert domain.encode([-2, 2]).tolist() == [0, 4]
    assert domain.decode([0, 4]).tolist() == [-2, 2]
    assert 2 in domain
    assert 3 not in domain
    assert Domain.range(4).size == 4


def test_implicit_domain_keeps_labels():
    domain = Domain.implicit(2 * math.factorial(1000))
    big = 2**200
    assert domain.encode(["x", (1, 2), big]).tolist() == ["x", (1, 2), big]
    assert domain.decode(domain.encode(["x", (1, 2)])).tolist() == ["x", (1, 2)]
    assert domain.size == 2 * math.factorial(1000)


@pytest.mark.parametrize("domain", [Domain.of(["red", "green"]), Domain.range(10)])
@pytest.mark.parametrize("values", [["secret-value"], [None], [12345], [["unhashable"]], np.array([0.5])])
def test_values_outside_the_domain_are_refused_without_showing_them(domain, values):
    with pytest.raises(DataError, match="not in the domain") as caught:
        domain.encode(values)
    assert "secret" not in str(caught.value)
    assert "12345" not in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Domain.of([]),
        lambda: Domain.of(["a", "a"]),
        lambda: Domain.range(3, 3),
        lambda: Domain.implicit(0),
        lambda: Domain.implicit(1e30),
    ],
)
def test_bad_domains_are_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_representations_show_no_labels():
    assert "red" not in repr(Domain.of(["red"]))
    assert repr(Domain.range(3)) == "Domain.range(0, 3)"
    assert "bit" in repr(Domain.implicit(2**300))


def test_labels_survive_the_whole_path():
    domain = Domain.of(["cat", "dog", "emu"])
    protocol = Histogram.calibrate(users=3000, bins=domain.size, epsilon=1, delta=1e-6)
    values = domain.encode(["dog"] * 2500 + ["cat"] * 500)
    estimate = protocol.estimate(protocol.tally(protocol.randomize(values)), domain=domain)
    assert set(estimate.labels) == {"cat", "dog"}
    assert estimate["dog"] == pytest.approx(2500, abs=40)
    assert estimate["emu"] == 0
    with pytest.raises(DataError, match="must be in the domain of 3 possible values"):
        estimate["fox"]


def test_a_label_that_is_listed_twice_is_named():
    with pytest.raises(ParameterError, match="light occurs more than once"):
        Domain.of(["dark", "light", "system", "light"])

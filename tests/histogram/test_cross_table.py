"""Margins and tables of histograms of pairs: their bounds follow from those of the cells, whatever is hidden."""

import csv
import io
import itertools
import json
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import DataError, Domain, Estimate, Histogram, ParameterError, Release, SparseHistogram
from shuffledp.accounting.curve import Guarantee
from shuffledp.formatting import shown
from shuffledp.histogram.cross_table import columns_of, cross_table, margin
from shuffledp.histogram.facts import NoiseFacts, NoiseKind, ProtocolFacts, Trusted
from shuffledp.histogram.intervals import Intervals
from shuffledp.histogram.labels import Absent

COUNTRIES, AGES = ["DE", "FR", None], ["young", "old"]
PAIRS = Domain.product([Domain.of(COUNTRIES), Domain.of(AGES)])


def estimate_of(counts, low, high, *, symbols=None, people, unreported=0, domain=PAIRS, padding_bins=0, bins=None):
    """An estimate with the given bounds, as any protocol could make it."""
    symbols = np.arange(len(counts)) if symbols is None else symbols
    bounds = Intervals(np.array(low, dtype=np.int64), np.array(high, dtype=np.int64), unreported)
    return Estimate(
        symbols=np.asarray(symbols),
        counts=np.array(counts, dtype=float),
        per_bin=bounds,
        simultaneous=bounds,
        people=people,
        bins=bins or domain.size,
        beta=0.05,
        estimator="truncated",
        guarantee=None,
        about=lambda: ProtocolFacts(
            guarantee=Guarantee(epsilon=1, delta=1e-6, basis="assumed"),
            trusted=Trusted.CURATOR,
            users=people,
            honest_users=None,
            false_positives=False,
            noise=NoiseFacts(NoiseKind.OTHER),
        ),
        domain=domain,
        padding_bins=padding_bins,
    )


def triples(rows):
    return [(row.label, row.count, row.low, row.high) for row in rows]


def test_a_margin_is_the_sum_of_its_cells_within_what_the_number_of_people_allows():
    estimate = estimate_of(
        [10, 20, 30, 25, 9, 6], [8, 18, 28, 23, 7, 4], [12, 22, 32, 27, 11, 8], people=100, symbols=range(6)
    )
    assert triples(margin(estimate, 0)) == [("DE", 30, 26, 34), ("FR", 55, 51, 59), (None, 15, 11, 19)]
    assert triples(margin(estimate, 1)) == [("young", 49, 43, 55), ("old", 51, 45, 57)]
    assert [row.label for row in margin(estimate, 1, 0)] == list(itertools.product(AGES, COUNTRIES))


def test_pairs_that_were_not_reported_count_with_what_they_can_have():
    estimate = estimate_of([60, 30], [55, 25], [65, 35], symbols=[0, 3], people=100, unreported=4)
    # DE has one cell of at most 65 people and a hidden one of at most 4
    assert triples(margin(estimate, 0)) == [("DE", 60, 55, 69), ("FR", 30, 25, 39), (None, 0, 0, 8)]


def test_without_a_list_any_number_of_pairs_can_be_hidden():
    estimate = estimate_of(
        [60, 30], [55, 25], [65, 35], symbols=np.fromiter([("DE", 1), ("FR", 2)], object, 2), people=100, unreported=4,
        domain=Domain.implicit(2**64),
    )  # fmt: skip
    assert columns_of(estimate) == 2
    assert triples(margin(estimate, 0)) == [("DE", 60, 55, 75), ("FR", 30, 25, 45)]
    nothing_hidden = replace(estimate, simultaneous=replace(estimate.simultaneous, unreported_high=0))
    # at most 35 people are elsewhere, so at least 65 are here; the estimate stays in its interval
    assert triples(margin(nothing_hidden, 0)) == [("DE", 60, 60, 65), ("FR", 30, 30, 35)]
    precise = replace(nothing_hidden, counts=np.array([66.0, 34.0]))
    assert triples(margin(precise, 0)) == [("DE", 66, 65, 66), ("FR", 34, 34, 35)]


def test_people_without_a_pair_are_a_row_of_their_own_and_may_be_hidden_too():
    seen = estimate_of(
        [10, 20, 30, 25, 9, 6, 50], [8] * 7, [60] * 7, people=150, domain=PAIRS.with_absent(1), padding_bins=1, bins=7
    )
    assert triples(margin(seen, 1))[-1] == (Absent(most=0), 50, 8, 60)
    assert [row.label for row in cross_table(seen).row_sums] == COUNTRIES
    hidden = estimate_of([60, 30], [10, 5], [65, 35], symbols=[0, 3], people=100, unreported=4,
                         domain=PAIRS.with_absent(1), padding_bins=1, bins=7)  # fmt: skip
    # of others, three pairs and those without one are hidden: together they have at most 35 + 4 * 4 people
    assert triples(margin(hidden, 0))[0] == ("DE", 60, 49, 69)


@pytest.mark.slow
@settings(max_examples=200)
@given(st.data())
def test_whatever_the_truth_is_all_margins_hold_where_all_cells_do(data):
    sizes = data.draw(st.tuples(*[st.integers(1, 4)] * 2), label="sizes")
    listed, padding_bin = data.draw(st.booleans()), data.draw(st.integers(0, 1))
    cells = sizes[0] * sizes[1] + padding_bin
    truth = np.array(data.draw(st.lists(st.integers(0, 9), min_size=cells, max_size=cells)))
    errors = data.draw(st.lists(st.integers(0, 3), min_size=truth.size * 2, max_size=truth.size * 2))
    low, high = truth - np.array(errors[: truth.size]), truth + np.array(errors[truth.size :])
    unreported = data.draw(st.integers(0, 4))
    must = truth > unreported  # all others may be hidden
    seen = np.array(data.draw(st.lists(st.booleans(), min_size=truth.size, max_size=truth.size))) | must
    product = Domain.product([Domain.range(size) for size in sizes])
    domain = product.with_absent(padding_bin) if padding_bin else product
    labels = domain.decode(np.arange(truth.size))
    estimate = estimate_of(
        truth[seen] + data.draw(st.integers(-2, 2)), low[seen], high[seen], people=int(truth.sum()),
        unreported=unreported, domain=domain if listed else Domain.implicit(2**40), bins=cells if listed else 2**40,
        symbols=np.flatnonzero(seen) if listed else labels[seen], padding_bins=padding_bin,
    )  # fmt: skip
    if columns_of(estimate) < 2:
        return
    for axis in (0, 1):
        for row in margin(estimate, axis):
            true = sum(
                count
                for label, count in zip(labels.tolist(), truth.tolist(), strict=True)
                if (label[axis] if isinstance(label, tuple) else label) == row.label
            )
            assert row.low <= true <= row.high
            assert row.low <= max(0, row.count) <= row.high  # a sum of estimates can be negative


def test_margins_of_real_releases_hold_and_are_no_wider_than_all_people():
    protocol = Histogram.calibrate(users=6000, bins=6, epsilon=1, delta=1e-6)
    counts = [3000, 1000, 500, 500, 0, 1000]
    # each run fails with probability at most 1e-9
    for seed in range(5):
        rng = np.random.default_rng(seed)
        found = protocol.estimate(protocol.sample_tally(counts, rng=rng), domain=PAIRS, beta=1e-9)
        for row, true in zip(margin(found, 0), (4000, 1000, 1000), strict=True):
            assert row.low <= true <= row.high <= 6000


def test_what_has_no_margins():
    protocol = Histogram.calibrate(users=1000, bins=6, epsilon=1, delta=1e-6)
    flat = protocol.estimate(protocol.sample_tally([200, 200, 200, 200, 100, 100]))
    with pytest.raises(DataError, match="got one column"):
        margin(flat, 0)
    with pytest.raises(DataError, match="two columns"):
        cross_table(flat)
    pairs = replace(flat, domain=PAIRS)
    for wrong in ((), (2,), (-1,), (True,), ("country",)):
        with pytest.raises(ParameterError, match="numbers from 0 to 1"):
            margin(pairs, *wrong)
    with pytest.raises(DataError, match="count twice"):
        margin(replace(pairs, values_per_person=2), 0)
    three = Domain.product([Domain.range(2), Domain.range(3), Domain.range(1)])
    assert [row.label for row in margin(replace(flat, domain=three), 0, 2)] == [(0, 0), (1, 0)]
    with pytest.raises(DataError, match="two columns"):
        cross_table(replace(flat, domain=three))


def test_a_table_has_the_first_column_in_rows_and_the_second_in_columns():
    estimate = estimate_of([60, 30], [55, 25], [65, 35], symbols=[0, 3], people=100, unreported=4)
    table = cross_table(estimate)
    assert (table.rows, table.columns) == (tuple(COUNTRIES), tuple(AGES))
    np.testing.assert_array_equal(table.counts, [[60, np.nan], [np.nan, 30], [np.nan, np.nan]])
    assert table.low.tolist() == [[55, 0], [0, 25], [0, 0]]
    assert table.high.tolist() == [[65, 4], [4, 35], [4, 4]]
    assert [row.label for row in table.column_sums] == AGES
    small = cross_table(estimate, most_rows=2, most_columns=1)
    assert (small.rows, small.columns, small.counts.shape) == (("DE", "FR"), ("young",), (2, 1))


def pairs_with_dates():
    labels = [("DE", date(2026, 1, 1)), (None, date(2026, 2, 1)), ("=1+1", date(2026, 3, 1))]
    return estimate_of([5, 4, 3], [5, 4, 3], [5, 4, 3], people=12, symbols=range(3), domain=Domain.of(labels)), labels


def test_pairs_in_files():
    estimate, labels = pairs_with_dates()
    table = list(csv.DictReader(io.StringIO(estimate.to_csv())))
    assert [(row["label_1"], row["label_2"]) for row in table] == [
        ("DE", "2026-01-01"), ("", "2026-02-01"), ("'=1+1", "2026-03-01"),
    ]  # fmt: skip
    assert [row["label"] for row in json.loads(estimate.to_json())["histogram"]] == [
        ["DE", "2026-01-01"], [None, "2026-02-01"], ["=1+1", "2026-03-01"],
    ]  # fmt: skip
    for columns in (estimate.to_arrow().to_pydict(), estimate.to_polars().to_dict(as_series=False)):
        assert list(zip(columns["label_1"], columns["label_2"], strict=True)) == labels
    assert list(estimate.to_pandas().columns[:3]) == ["label_1", "label_2", "count"]


def test_pairs_are_shown_and_found():
    estimate, labels = pairs_with_dates()
    assert shown(labels[0]) == "DE \N{MULTIPLICATION SIGN} 2026-01-01"
    assert shown((None, "")) == "(missing) \N{MULTIPLICATION SIGN} (empty)"
    assert estimate[("DE", date(2026, 1, 1))] == 5
    assert ("DE", date(2026, 1, 2)) not in estimate
    assert "DE \N{MULTIPLICATION SIGN} 2026-01-01" in str(estimate)


def test_a_stored_release_of_pairs_comes_back():
    from shuffledp import private_histogram

    release = private_histogram(["a"] * 3000 + ["b"] * 2000, epsilon=1, delta=1e-6)
    protocol = SparseHistogram.calibrate(users=5000, bins=2**64, epsilon=1, delta=1e-6)
    counts = {("DE", date(2026, 1, 1)): 3000, ("FR", None): 2000}
    estimate = protocol.estimate(protocol.sample_tally(counts), domain=Domain.implicit(2**64))
    pairs = replace(release, estimate=estimate, protocol=protocol)
    again = Release.from_json(pairs.to_json())
    assert sorted(map(str, again.estimate.labels.tolist())) == sorted(map(str, counts))
    assert again.estimate.labels.tolist() == pairs.estimate.labels[np.argsort(-pairs.estimate.counts)].tolist()


def test_the_grand_total_is_bounded_by_those_without_a_pair():
    seen = estimate_of(
        [10, 20, 30, 25, 9, 6, 50], [8] * 7, [60] * 7, people=150, domain=PAIRS.with_absent(1), padding_bins=1, bins=7
    )
    assert triples([cross_table(seen).total]) == [("total", 100, 90, 142)]
    hidden = estimate_of([60, 38], [10, 5], [65, 40], symbols=[0, 3], people=100, unreported=4,
                         domain=PAIRS.with_absent(1), padding_bins=1, bins=7)  # fmt: skip
    assert triples([cross_table(hidden).total]) == [("total", 98, 96, 100)]
    everyone = estimate_of([60, 30], [55, 25], [65, 35], symbols=[0, 3], people=100, unreported=4)
    assert triples([cross_table(everyone).total]) == [("total", 90, 90, 100)], "all 100 people have a pair"


@pytest.mark.slow
@pytest.mark.parametrize("where", [False, True])
def test_intervals_of_totals_hold_where_many_pairs_are_hidden(where):
    """Of a row, half of the people are in pairs of three people each, which are never shown.

    The intervals of all totals hold at once with probability 0.95: more than 27 of 200 releases fail with probability
    below 1e-6, even if each failed with probability 0.05.
    """
    domain, absent = Domain.implicit(2**64), 300 if where else 0
    truth = {("a", "x"): 2000, ("a", "y"): 500, ("b", "x"): 900}
    truth |= {("a", f"rare {at}"): 3 for at in range(700)}
    people = sum(truth.values()) + absent
    counts = {**truth, **({Absent(most=0): absent} if where else {})}
    protocol = SparseHistogram.calibrate(users=people, bins=2**64, epsilon=1, delta=1e-6, padding_bins=int(where))
    failed = missed = 0
    for seed in range(200):
        tally = protocol.sample_tally(counts, rng=np.random.default_rng(seed))
        estimate = protocol.estimate(tally, domain=domain.with_absent(1) if where else domain)
        table = cross_table(estimate)
        sums = {row.label: row for row in (*table.row_sums, *table.column_sums, table.total)}
        true = {"a": 4600, "b": 900, "x": 2900, "y": 500, "total": people - absent}
        failed += any(not sums[name].low <= number <= sums[name].high for name, number in true.items())
        high = dict(zip(estimate.keys(), estimate.simultaneous.high.tolist(), strict=True))
        missed += high.get(("a", "x"), 0) + high.get(("a", "y"), 0) < 4600
    assert failed <= 27
    assert missed == 200, "bounds of the shown pairs alone would miss the truth"


def test_a_total_below_zero_has_an_interval_of_possible_numbers():
    estimate = estimate_of([60, 30, -9, 4, -7, -8], [55, 25, -14, 0, -12, -13], [65, 35, 1, 9, 1, 1], people=100)
    missing = margin(estimate, 0)[2]
    assert (missing.count, missing.low, missing.high) == (-15, 0, 2)

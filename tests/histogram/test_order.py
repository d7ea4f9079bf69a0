"""Numbers, dates and times have an order; it follows from the released labels alone."""

from collections import Counter
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest

from shuffledp import Domain, private_histogram
from shuffledp.histogram.labels import Absent
from shuffledp.histogram.order import increasing, regular_places
from shuffledp.histogram.tally import as_symbols


def sorted_labels(labels):
    order = increasing(as_symbols(labels))
    return None if order is None else [labels[at] for at in order.tolist()]


@pytest.mark.parametrize(
    "labels",
    [
        [1, 2, 10],
        [-1.5, 0, 2, Decimal("2.1"), float("inf")],
        ["-3", "9", "10", "1e2", None, "(other)"],
        ["2026-01-31", "2026-02-01 10:00", "2026-02-01T10:00:01+00:00", Absent(most=0)],
        ["2025-12", "2026-01"],
        [date(2025, 1, 1), datetime(2025, 1, 1, 1), datetime(2025, 1, 1, 2, tzinfo=UTC), None],
        ["08:30", "09:00:01", time(10)],
        [timedelta(1), timedelta(2)],
    ],
)
def test_numbers_and_times_are_sorted(labels):
    for shuffled in (labels, labels[::-1], labels[1:] + labels[:1]):
        found = sorted_labels(shuffled)
        known = [label for label in labels if label not in (None, "(other)")]
        assert [label for label in found if label in known][: len(known)] == known
        assert set(found) == set(labels)


@pytest.mark.parametrize(
    "labels",
    [
        [],
        ["39"],
        ["39", None],
        ["39", "forty"],
        ["39", "2026-01-01"],
        [True, False],
        ["true", "false"],
        [("a", 1), ("b", 2)],
        ["2026-02-30", "2026-02-28"],
        ["\N{ARABIC-INDIC DIGIT ONE}", "\N{ARABIC-INDIC DIGIT TWO}"],
        ["1,000", "2"],
        ["0001-01-01T00:00+12:00", "2026-01-01"],
        [datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12))), datetime(2026, 1, 1)],
    ],
)
def test_other_labels_have_no_order(labels):
    assert sorted_labels(labels) is None


def test_places_of_a_regular_grid_show_gaps():
    assert regular_places([17, 18, 20], most=100).tolist() == [0, 1, 3]
    assert regular_places(["2026-01-01", "2026-01-02", "2026-01-05"], most=100).tolist() == [0, 1, 4]
    assert regular_places([0.1, 0.2, 0.5], most=100).tolist() == [0, 1, 4]
    for labels in ([1, 2, 1000], [1, 1.5, 2.2], ["a", "b"], [5], [3, 3], ["08:00", "09:00"], [1, 10**400]):
        assert regular_places(labels, most=100) is None


def ages(counts):
    return private_histogram(Counter({str(age): number for age, number in counts.items()}), epsilon=1, delta=1e-6)


def test_ages_of_a_text_file_are_shown_and_written_in_order():
    release = ages({9: 300, 100: 900, 10: 500, 39: 700})
    assert release.estimate.in_order
    labels = ["9", "10", "39", "100"]
    assert [row.label for row in release.estimate.rows_to_show()] == labels
    assert release.to_pandas()["label"].tolist() == labels
    assert [row.label for row in release.top()] == ["100", "39", "10", "9"]
    positions = [str(release).index(f"\n{label} ") for label in labels]
    assert positions == sorted(positions)


def test_with_a_limit_the_largest_are_shown_in_order():
    release = ages({age: 300 + 100 * (age % 7) for age in range(20, 90)})
    rows = release.estimate.rows_to_show(5)
    assert [int(row.label) for row in rows] == sorted(int(row.label) for row in rows)
    assert {row.label for row in rows} == {row.label for row in release.top(5)}
    assert len(release.estimate.rows_to_show()) == 62
    assert "the 5 largest values of 70, in order" in release.estimate.to_text(5)
    assert "█" in release.estimate.to_text(5).splitlines()[3], "a chart of all values"


@pytest.mark.slow
def test_numbers_of_a_list_are_shown_in_order_too():
    release = private_histogram(
        np.repeat([3, 1, 2], [900, 500, 700]), domain=[3, 1, 2], drop_missing=True, epsilon=1, delta=1e-6
    )
    assert [row.label for row in release.estimate.rows_to_show()] == [1, 2, 3]
    assert Domain.range(5).in_order is False
    named = private_histogram(np.repeat(["c", "a"], [900, 500]), epsilon=1, delta=1e-6)
    assert not named.estimate.in_order


def test_times_with_a_zone_are_sorted_by_what_they_are_in_utc():
    labels = np.array(["2026-01-01T00:30Z", "2026-01-01T02:00+02:00", "2025-12-31T23:45-01:00"], dtype=object)
    assert increasing(labels).tolist() == [1, 0, 2]

"""Labels are found in any spelling that reads alike; a label that a histogram cannot have is an error."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest

from shuffledp import Domain, LabelError, private_histogram
from shuffledp.histogram.labels import Absent

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}


def histogram(values, **options):
    return private_histogram([value for value in values for _ in range(500)], **GUARANTEE, **options).estimate


def pairs(**options):
    rows = [{"sex": sex, "job": job} for sex in ("Male", "Female") for job in ("Sales", "Tech") for _ in range(500)]
    return private_histogram(rows, column=["sex", "job"], **GUARANTEE, **options).estimate


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize(("wrong", "reason"), [
    ("Male", r"label must have 2 parts such as \('\w+', 'Sales'\), got one value"),
    (0, "label must have 2 parts"),
    (("Male",), "got 1 part"),
    (("Male", "Tech", "x"), "got 3 parts"),
    (("Male", 3), "part 2 of label must be"),
])  # fmt: skip
def test_a_label_of_a_cross_table_has_a_part_for_each_column(wrong, reason, listed):
    """`estimate["Male"]` was 0.0, with an interval."""
    domain = {"sex": ["Male", "Female"], "job": ["Sales", "Tech", "Farm"]} if listed else None
    estimate = pairs(domain=domain, drop_missing=True)
    for look_up in (estimate.__getitem__, estimate.interval, estimate.frequency):
        with pytest.raises(LabelError, match=reason):
            look_up(wrong)
    assert wrong not in estimate
    assert estimate.get(wrong) is None
    assert estimate["Male", "Sales"] > 400
    assert estimate[("Male", "Farm")] < 100


def test_another_text_is_another_label_though_both_read_alike():
    estimate = histogram(["39", "40.0"])
    assert estimate["39"] > 400
    assert estimate["40"] == estimate["39.0"] == 0


def test_missing_is_no_label_of_a_list_without_it():
    estimate = histogram(["a", "b"], domain=["a", "b"], drop_missing=True)
    with pytest.raises(LabelError, match="must be in the domain of 2 possible values"):
        estimate[None]


def test_a_wrong_part_of_a_listed_cross_table_names_near_values():
    estimate = pairs(domain={"sex": ["Male", "Female"], "job": ["Sales", "Tech"]}, drop_missing=True)
    with pytest.raises(LabelError, match="part 2 of label must be in the domain of 2 possible values; the nearest"):
        estimate["Male", "Sale"]


@pytest.mark.parametrize(
    ("labels", "alike", "unreported"),
    [
        (["39", "40"], [39, 39.0, np.int64(39), Decimal(39)], [12, "12"]),  # a CSV file
        ([39, 40], ["39", "39.0", 39.0], [12, "12"]),  # a pandas table
        ([True, False], ["true", "True", True], []),
        (["true", "false"], [True], ["x"]),
        ([date(2026, 1, 31), date(2026, 2, 1)], ["2026-01-31", datetime(2026, 1, 31)], ["2026-01-30"]),
        (["2026-01-31", "2026-02-01"], [date(2026, 1, 31), np.datetime64("2026-01-31")], [date(2026, 1, 30)]),
    ],
)
def test_labels_that_read_alike_are_one_label(labels, alike, unreported):
    estimate = histogram(labels)
    for label in alike:
        assert estimate[label] == estimate[labels[0]] > 400
        assert estimate.interval(label) == estimate.interval(labels[0])
        assert label in estimate
    for label in unreported:
        assert estimate[label] == 0
        assert estimate.interval(label) == (0, estimate.simultaneous.unreported_high)
        assert label not in estimate


@pytest.mark.parametrize(
    ("labels", "wrong"),
    [
        (["SMITH", "JONES"], [0, 1, True, date(2026, 1, 1), ("SMITH",), slice(0, 2), ["SMITH"], {}]),
        (["39", "40"], [True, date(2026, 1, 1)]),
        ([39, 40], ["SMITH", date(2026, 1, 1), ("39",)]),
        (["7", "SMITH"], [0]),
    ],
)
def test_a_label_of_another_kind_is_an_error(labels, wrong):
    """`estimate[0]`, a position, was 0.0."""
    estimate = histogram(labels)
    for label in wrong:
        with pytest.raises(LabelError, match="label must be"):
            estimate[label]
        assert label not in estimate


def test_a_label_outside_a_list_is_an_error_with_the_nearest_labels():
    estimate = histogram(["light", "dark", "system"], domain=["light", "dark", "system"], drop_missing=True)
    with pytest.raises(LabelError, match="domain of 3 possible values; the nearest are 'light'") as raised:
        estimate["ligth"]
    assert isinstance(raised.value, KeyError)
    assert str(raised.value).startswith("label must"), "without the quotes of a KeyError"
    assert "ligth" not in str(raised.value), "it may be a person's value"
    with pytest.raises(LabelError, match="for example 'light', 'dark', 'system'"):
        estimate[0]


@pytest.mark.slow
def test_a_label_that_reads_like_two_labels_is_an_error():
    estimate = histogram(["1.0", "1.00", "2"])
    with pytest.raises(LabelError, match=r"reads like '1.0' and '1.00'"):
        estimate[1]
    assert estimate["1.0"] > 400
    assert histogram(["1", "1.0"])[1] == pytest.approx(500, abs=60), "the same text wins"


@pytest.mark.slow
def test_a_month_is_not_its_first_day_and_none_is_no_text():
    estimate = histogram(["2026-01", "2026-02"])
    assert estimate[date(2026, 1, 1)] == 0
    assert histogram(["None", "x"])[None] == 0


@pytest.mark.slow
def test_people_without_a_value_are_found_by_their_text_too():
    rows = [{"app": "ab"[at % 2], "x": at % 3} for at in range(3000)]
    estimate = private_histogram(rows, column="app", where="x > 0", **GUARANTEE).estimate
    assert estimate["(no value)"] == estimate[Absent(most=0)] > 800


def test_ranges_too_large_to_list_are_searched_without_listing_them():
    from shuffledp import Histogram

    protocol = Histogram.calibrate(users=2000, bins=2**40, epsilon=1, delta=1e-6)
    estimate = protocol.estimate(protocol.sample_tally({5: 2000}), domain=Domain.range(2**40))
    assert estimate["5"] == estimate[5] > 1900
    assert estimate["6"] == estimate[6] == 0
    for wrong in (-1, 2**40, "x"):
        with pytest.raises(LabelError, match="possible value"):
            estimate[wrong]

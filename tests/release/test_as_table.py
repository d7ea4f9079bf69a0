"""A release behaves like a table: lookups, length, iteration, and tables of other libraries that can be sorted."""

import csv
import dataclasses
import io
import json
from collections import Counter
from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from shuffledp import LabelError, Release, plan, private_histogram
from shuffledp.cli.release_output import publish
from shuffledp.histogram.labels import Absent
from shuffledp.protocols.catalogue import from_record, to_record

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}


@pytest.fixture(scope="module")
def release():
    return private_histogram(Counter({"SMITH": 900, "JONES": 500, None: 300}), **GUARANTEE)


def test_a_release_is_looked_up_counted_and_iterated_like_its_histogram(release):
    estimate = release.estimate
    assert release["SMITH"] == estimate["SMITH"] > 800
    assert len(release) == len(estimate) == 3
    assert list(release) == list(estimate) == estimate.keys()
    assert set(release) == {"SMITH", "JONES", None}
    assert "SMITH" in release
    assert "x" not in release
    assert release.people == 1700
    assert release.interval("SMITH") == estimate.interval("SMITH")
    assert release.interval("SMITH", simultaneous=False) == estimate.interval("SMITH", simultaneous=False)
    assert release.top(1) == estimate.top(1)
    assert release.to_csv() == estimate.to_csv()
    assert release.to_csv(raw=True) == estimate.to_csv(raw=True)
    assert release.to_pandas().equals(estimate.to_pandas())
    assert release.to_polars().equals(estimate.to_polars())
    assert release.to_arrow().equals(estimate.to_arrow())
    with pytest.raises(LabelError):
        release[0]


def test_an_estimate_has_the_methods_of_a_dictionary(release):
    estimate = release.estimate
    assert dict(estimate.items()) == {label: estimate[label] for label in estimate}
    assert estimate.values() == estimate.counts.tolist()
    assert estimate.get("SMITH") == estimate["SMITH"]
    assert estimate.get("unreported") is None
    assert estimate.get("unreported", 0.0) == 0.0
    assert estimate.get(3) is None


@pytest.mark.slow
def test_tables_have_text_for_people_with_fewer_values():
    """They had objects of our own class, which no table compares, sorts or writes."""
    rows = [{"app": "ab"[at % 2], "x": at % 3} for at in range(3000)]
    frame = private_histogram(rows, column="app", where="x > 0", **GUARANTEE).to_pandas()
    assert frame.sort_values("label")["label"].tolist() == ["(no value)", "a", "b"]
    assert (frame["label"] == "(no value)").sum() == 1
    frame.drop(columns=[]).to_parquet(io.BytesIO())


@pytest.mark.parametrize(
    ("labels", "kinds"),
    [
        (["a", 1, 2.5, None], {str}),
        ([1, 2.5], {float}),
        ([date(2026, 1, 1), "x"], {str}),
        ([Decimal("0.1"), Decimal("0.2")], {Decimal}),
        ([True, False], {bool}),
        ([1, 2], {int}),
    ],
)
def test_labels_of_a_table_have_one_type_and_can_be_sorted(labels, kinds):
    frame = private_histogram([label for label in labels for _ in range(500)], **GUARANTEE).to_pandas()
    assert len(frame) == len(labels)
    assert {type(label) for label in frame["label"].tolist() if not pd.isna(label)} == kinds
    assert frame.sort_values("label")["label"].notna().sum() == sum(label is not None for label in labels)
    assert len(frame.sort_values("count")) == len(labels)


def negative():
    release = private_histogram(["a"] * 1000, domain=["a", "b", "c"], drop_missing=True, **GUARANTEE)
    estimate = release.estimate
    bounds = replace(estimate.simultaneous, low=np.array([980, -7, 0]), high=np.array([1003, 12, 20]))
    alone = replace(bounds, high=np.array([1002, 3, 15]))
    counts = np.array([1002.5, -6.4, 3.0])
    return replace(release, estimate=replace(estimate, counts=counts, simultaneous=bounds, per_bin=alone))


@pytest.mark.slow
def test_intervals_are_possible_counts_wherever_they_are_shown(capsys):
    """The estimate stays unbiased, so it can be negative; its interval starts at 0."""
    release = negative()
    assert release["b"] == -6.4
    assert release.interval("b") == (0, 12)
    assert release.interval("a") == (980, 1000), "at most all people"
    assert release.interval("b", simultaneous=False) == (0, 3)
    assert [(row.low, row.high) for row in release.top()] == [(980, 1000), (0, 20), (0, 12)]
    frame = release.to_pandas()
    assert frame[["low", "high", "low_alone", "high_alone"]].to_numpy().min() == 0
    assert frame[["low", "high", "low_alone", "high_alone"]].to_numpy().max() == 1000
    assert [row["low"] for row in csv.DictReader(io.StringIO(release.to_csv()))] == ["980", "0", "0"]
    publish(release, out=[], top=None, as_json=False)
    terminal = capsys.readouterr().out
    for text in (terminal, str(release), release.to_html(), release._repr_html_()):
        assert "-6" in text
        assert "0 to 12" in text
        assert "-7 to" not in text
        assert "below 0 is noise around a small count" in text
    again = Release.from_json(release.to_json())
    assert again.estimate.largest_distance == release.estimate.largest_distance
    assert again.to_pandas().equals(frame)


def test_a_release_without_a_list_of_values_can_be_printed(capsys):
    """The number of possible values has 19,729 digits, and Python refuses to print more than 4,300."""
    release = private_histogram(["a"] * 1000, **GUARANTEE)
    print(release.estimate.possible, release.estimate.bins)
    assert capsys.readouterr().out == "about 2^65536 about 2^65536\n"
    assert f"{release.estimate.possible:,}" == "about 2^65536"
    assert release.estimate.possible == 2**65536
    for record in (release, release.estimate, release.protocol, plan(users=1000, bins=None, **GUARANTEE)):
        assert "about 2^65536" in repr(dataclasses.asdict(record))


@pytest.mark.slow
def test_json_has_no_kilobytes_of_zeros():
    rows = [{"person": at // 2, "app": "ab"[at % 2]} for at in range(4000)]
    release = private_histogram(rows, column="app", user="person", values_per_person=2, **GUARANTEE)
    text = release.to_json()
    assert len(text) < 5000
    assert json.loads(text)["parameters"]["bins"] == {"integer": "2^65536+2"}
    assert Release.from_json(text).protocol == release.protocol
    older = json.loads(text)
    older["parameters"]["bins"] = {"integer": hex(2**65536 + 2)}
    assert Release.from_json(json.dumps(older)).protocol == release.protocol
    record = to_record(release.protocol)
    for wrong in ("2^65536+x", "2^65536+-2", "2^9999999+1", "2^+1", "x"):
        with pytest.raises(ValueError, match="cannot be read"):
            from_record({**record, "bins": {"integer": wrong}})


def test_a_plan_prints_a_table():
    text = str(plan(users=100_000, bins=1000, **GUARANTEE))
    lines = text.splitlines()
    assert lines[0] == "100,000 people, 1,000 possible values, epsilon 1, delta 1e-6"
    assert lines[2].split("  ")[0] == "protocol"
    assert {line.split()[0] for line in lines[3:9]} >= {"hist", "sparse", "dummy"}
    assert lines[-1].startswith("Recommended: dummy.")
    assert max(map(len, lines[2:-1])) <= 100
    assert "needs at least 148 honest people" in str(plan(users=100, bins=1000, **GUARANTEE))
    assert "any value" in str(plan(users=1000, bins=None, **GUARANTEE))


@pytest.mark.slow
def test_absent_labels_keep_their_kind_in_json():
    rows = [{"app": "ab"[at % 2], "x": at % 3} for at in range(3000)]
    release = private_histogram(rows, column="app", where="x > 0", **GUARANTEE)
    assert Absent(most=0) in set(Release.from_json(release.to_json()))


@pytest.mark.slow
def test_what_a_release_takes_five_lines_to_say(capsys):
    """Result, guarantee and error, below the table; everything else is asked for."""
    rows = {"sex": ["m", "f"] * 1500, "age": [str(20 + at % 30) for at in range(3000)]}
    releases = [
        private_histogram(rows, column="sex", **GUARANTEE),
        private_histogram(rows, column="sex", domain=["m", "f"], **GUARANTEE),
        private_histogram(rows, column=["sex", "age"], **GUARANTEE),
        private_histogram(rows, column="age", **GUARANTEE),
        private_histogram(rows, column="age", domain=list(map(str, range(20, 50))), ranges=True, **GUARANTEE),
    ]
    for release in releases:
        publish(release, out=[], top=None, as_json=False, explain=False)
        lines = capsys.readouterr().out.splitlines()
        first = next(at for at, line in enumerate(lines) if line.startswith("Guarantee: "))
        assert len(lines) - first <= 5
        assert lines[-1].endswith("Details: --explain")

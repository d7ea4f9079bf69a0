"""A release as JSON and back, and what is refused."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pytest

from shuffledp import Edges, Release, private_histogram
from shuffledp.errors import DataError, ShuffledpError
from shuffledp.histogram.cross_table import margin

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}
VALUES = ["a"] * 600 + ["b"] * 300 + [None] * 200 + ["rare"]


def same(one, other):
    """Everything that a reader can ask for, to the last digit."""
    assert other.to_json() == one.to_json()
    assert str(other) == str(one)
    assert other.explain() == one.explain()
    assert other.protocol == one.protocol
    assert sorted(map(str, other.estimate)) == sorted(map(str, one.estimate))
    for label in one.estimate:
        assert other.estimate[label] == one.estimate[label]
        for simultaneous in (True, False):
            ends = one.estimate.interval(label, simultaneous=simultaneous)
            assert other.estimate.interval(label, simultaneous=simultaneous) == ends
    assert other.privacy.guarantee == one.privacy.guarantee
    assert other.privacy.delta(0.3) == one.privacy.delta(0.3)
    assert other.privacy.epsilon(1e-9) == one.privacy.epsilon(1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"protocol": "sparse", "beta": 0.011},
        {"domain": ["a", "b", "c"], "other": True, "estimator": "unbiased"},
        {"domain": ["a", "b", "rare"], "protocol": "hist"},
        {"domain": ["a", "b", "rare"], "protocol": "public-coin"},
        {"domain": ["a", "b", "rare"], "protocol": "dummy", "messages": True},
        {"evaluate": True},
        {"epsilon": 0.1 + 0.2, "delta": 1e-7 / 3},
    ],
    ids=str,
)
def test_a_release_comes_back(options, tmp_path):
    release = private_histogram(VALUES, **{**GUARANTEE, **options})
    same(release, Release.from_json(release.to_json()))
    path = release.save(tmp_path / "r.json")
    same(release, Release.from_json(path))
    same(release, Release.from_json(str(path)))
    again = Release.from_json(path)
    assert again.estimate["a"] == release.estimate["a"]
    assert again.made == release.made
    assert again.to_html() == release.to_html()


PAIRS = [{"sex": "fm"[at % 2], "age": at % 70, "x": at % 3} for at in range(6000)] + [{"sex": "f", "x": 1}] * 400


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"protocol": "dummy"},
        {"protocol": "hist"},
        {"protocol": "hist", "where": "x > 0"},
        {"protocol": "dummy", "where": "x > 0", "consistent": True},
        {"trust": "curator"},
        {"domain": [[date(2026, 1, 1), "m", "f"], Edges("0,18,65")], "other": True},
        {"domain": None},
    ],
    ids=str,
)
def test_a_cross_table_comes_back_in_its_order(options):
    domain = {"sex": ["m", "f"], "age": Edges("0,18,40,65")}
    release = private_histogram(PAIRS, column=["sex", "age"], **{"domain": domain, **GUARANTEE, **options})
    again = Release.from_json(release.to_json())
    same(release, again)
    assert again.to_html() == release.to_html()
    if options.get("domain", domain) is not None:
        assert [row.label for row in margin(again.estimate, 1)] == [row.label for row in margin(release.estimate, 1)]
        with pytest.raises(DataError, match="part 2 of label must be in the domain"):
            again.estimate["m", "typo"]


@pytest.mark.slow
def test_cells_that_are_none_are_noticed():
    domain = {"sex": ["m", "f"], "age": Edges("0,18,40,65")}
    release = private_histogram(PAIRS, column=["sex", "age"], where="x > 0", domain=domain, **GUARANTEE)
    for damage, reason in (
        (lambda whole: whole["labels_of_columns"].pop(), "another number"),
        (lambda whole: whole["histogram"][0].update(label=["typo", "below 0"]), "not in the domain"),
        (lambda whole: whole["histogram"].append(whole["histogram"][0]), "not cells"),
        (lambda whole: whole.update(labels_of_columns=3), "damaged"),
    ):
        damage(whole := json.loads(release.to_json()))
        with pytest.raises(DataError, match=reason):
            Release.from_json(json.dumps(whole))


def test_only_a_cross_table_has_labels_of_columns():
    assert "labels_of_columns" not in json.loads(private_histogram(VALUES, **GUARANTEE).to_json())


def test_an_empty_release_comes_back():
    release = private_histogram(["a"], **GUARANTEE)
    again = Release.from_json(release.to_json())
    same(release, again)
    assert again.estimate["anything"] == 0
    assert again.estimate.interval("anything") == release.estimate.interval("anything")


@pytest.mark.parametrize(
    "labels",
    [
        [1, 2],
        [1.5, 2.5],
        [date(2026, 1, 1), date(2026, 1, 2)],
        [datetime(2026, 1, 1, 12, 30), datetime(2026, 1, 2)],
        [Decimal("1.10"), Decimal("2.20")],
        ["1", "2026-01-01"],
    ],
    ids=str,
)
def test_labels_come_back_with_their_kind(labels):
    import dataclasses

    from shuffledp import Domain, Histogram

    protocol = Histogram.calibrate(users=2000, bins=2**64, **GUARANTEE)
    estimate = protocol.estimate(protocol.sample_tally(dict.fromkeys(labels, 1000)), domain=Domain.implicit(2**64))
    release = dataclasses.replace(private_histogram(VALUES, **GUARANTEE), estimate=estimate, protocol=protocol)
    again = Release.from_json(release.to_json())
    assert {(type(label), label) for label in again.estimate} == {(type(label), label) for label in estimate}


def test_truth_values_come_back_as_such():
    release = private_histogram([True] * 1000 + [False] * 900, **GUARANTEE)
    assert sorted(map(repr, Release.from_json(release.to_json()).estimate)) == ["False", "True"]


@pytest.mark.slow
def test_what_does_not_come_back_is_documented():
    """The docstring names three things: the list of a domain, odd labels, the true counts."""
    listed = private_histogram(VALUES, **GUARANTEE, domain=["a", "b", "rare"], protocol="hist")
    with pytest.raises(DataError, match="must be in the domain"):
        listed.estimate["typo"]
    assert Release.from_json(listed.to_json()).estimate["typo"] == 0
    every = private_histogram(VALUES, **GUARANTEE, domain=["a", "b", "rare"], estimator="unbiased")
    with pytest.raises(DataError, match="must be in the domain"):
        Release.from_json(every.to_json()).estimate["typo"]
    evaluated = private_histogram(VALUES, **GUARANTEE, evaluate=True)
    again = Release.from_json(evaluated.to_json()).evaluation
    assert again.largest_error == evaluated.evaluation.largest_error
    assert again.true_counts.size == 0
    assert "true_counts" not in evaluated.to_json()


def test_the_file_says_when_by_what_and_how_it_was_made():
    import shuffledp

    release = private_histogram(np.repeat([1, 2], 500), **GUARANTEE, protocol="sparse", drop_missing=True)
    stored = json.loads(release.to_json())
    assert stored["made"] in {datetime.now(UTC).date().isoformat(), release.made.isoformat()}
    assert stored["shuffledp_version"] == shuffledp.__version__
    assert stored["asked"] == {**GUARANTEE, "protocol": "sparse", "drop_missing": True}
    assert stored["parameters"]["class"] == "SparseHistogram"


def test_options_never_hold_data():
    release = private_histogram({"v": VALUES}, column="v", **GUARANTEE, domain=["a", "b", "rare", "secret-label"])
    assert release.asked == {**GUARANTEE, "column": "v", "domain": 5}
    assert "secret-label" not in json.dumps(dict(release.asked))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ("[1]", "not a release"),
        ("{}", "not a release"),
        ('{"shuffledp_release": 99, "shuffledp_version": "7.1"}', "format 99.*7.1"),
        ('{"shuffledp_release": 1}', "'parameters' is missing"),
        ("nowhere.json", "cannot read nowhere.json: No such file"),
        ("", "cannot read"),
    ],
)
def test_what_is_no_release_is_refused(text, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=reason):
        Release.from_json(text)


def test_every_damage_is_one_clear_error():
    """Whatever is left out or of another kind: an error of this package, without a label in it."""
    release = private_histogram(["a secret label"] * 1000, **GUARANTEE, evaluate=True)
    whole = json.loads(release.to_json())
    kept = {"asked", "explanation", "log2_bins", "bins"}  # of these, any value of the kind is taken
    kept |= {"curator_error", "bounded", "cap", "more_than_cap"}  # files of earlier versions have none
    kept |= {"guarantee_of_several_rows"}  # computed again from the parameters
    for name in set(whole) - kept:
        with pytest.raises(DataError, match=r"missing|not a release"):
            Release.from_json(json.dumps({key: value for key, value in whole.items() if key != name}))
    for name, value in [("people", 7), ("histogram", 3), ("histogram", [{}]), ("histogram", [{"label": 1}]),
                        ("beta", "x"), ("made", "yesterday"), ("made", 3), ("notes", 3), ("surely_seen", None),
                        ("guarantee", None), ("not_private_evaluation", {"a": 1}), ("parameters", {}),
                        ("unreported_high", "a lot"), ("asked", 3)]:  # fmt: skip
        with pytest.raises(ShuffledpError) as refused:
            Release.from_json(json.dumps({**whole, name: value}))
        assert "secret" not in str(refused.value)
    (broken := json.loads(release.to_json()))["histogram"][0]["low"] = "many"
    with pytest.raises(DataError, match="damaged"):
        Release.from_json(json.dumps(broken))


def test_a_changed_guarantee_is_noticed():
    whole = json.loads(private_histogram(VALUES, **GUARANTEE).to_json())
    whole["guarantee"]["epsilon"] = 0.1
    with pytest.raises(DataError, match="contradicts itself"):
        Release.from_json(json.dumps(whole))


def test_a_guarantee_that_the_parameters_do_not_keep_is_noticed():
    whole = json.loads(private_histogram(VALUES, **GUARANTEE, protocol="hist").to_json())
    whole["parameters"]["missing_probability"] = 2.0**-12
    with pytest.raises(DataError, match="contradicts itself: its protocol does not give its guarantee"):
        Release.from_json(json.dumps(whole))


@pytest.mark.parametrize("source", ["[" * 100_000, '{"a":' * 100_000, "\0", None, b"{}"])
def test_what_is_no_release_at_all_is_refused_in_words(source):
    with pytest.raises(DataError):
        Release.from_json(source)

"""Looking up values of a release, in memory and from files."""

from itertools import count

import numpy as np
import pytest

from shuffledp import Edges, LabelError, ParameterError, private_histogram
from shuffledp.errors import DataError
from shuffledp.release.release import Release

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}
SITES = [f"site{number}.example" for number in range(300)]
RNG = np.random.default_rng(12)
VISITS = {
    "person": np.repeat(np.arange(2000), 2),
    "site": RNG.choice(SITES[:50], 4000),
    "device": RNG.choice(["phone", "laptop"], 4000),
}


@pytest.fixture(scope="module")
def release():
    return private_histogram(VISITS, column="site", domain=SITES, protocol="hashed", messages=True, **GUARANTEE)


def test_a_list_has_the_same_estimates_and_narrower_intervals(release):
    found = release.lookup(["site3.example", "site299.example", "site3.example"])
    assert found.keys() == ["site3.example", "site299.example"]
    for label in found:
        assert found[label] == release[label]
        (low, high), (lowest, highest) = found.interval(label), release.interval(label)
        assert lowest <= low <= high < highest
    assert found.beta == release.estimate.beta
    assert found.guarantee == release.estimate.guarantee
    assert (
        release.lookup(["site3.example"], beta=1e-9).interval("site3.example")[1] > found.interval("site3.example")[1]
    )
    assert release.lookup(iter(SITES[:5])).keys() == SITES[:5]
    with pytest.raises(LabelError, match="domain of 2 possible values"):
        found["site4.example"]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_a_saved_release_gives_the_same(release, tmp_path, ending):
    stored = Release.from_json(release.save(tmp_path / f"release.{ending}"))
    assert stored.to_json() == release.to_json()
    one, other = release.lookup(SITES[:7]), stored.lookup(SITES[:7])
    assert one.rows() == other.rows()
    assert one.explain() == other.explain()


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_pairs_of_people_with_several_values(tmp_path, ending):
    """Also the people who have fewer or more values, whose labels are not values."""
    question = {"column": ["device", "site"], "domain": [["phone", "laptop"], SITES], "user": "person"}
    several = {"values_per_person": 2, "count_capped": True}
    release = private_histogram(VISITS, **question, **several, protocol="hashed", **GUARANTEE)
    stored = Release.from_json(release.save(tmp_path / f"release.{ending}"))
    assert stored.to_json() == release.to_json()
    others = [label for label in release if not isinstance(label, tuple)]
    assert len(others) == 4
    found = stored.lookup([("phone", "site1.example"), ("laptop", "site299.example"), *others])
    for label in found:
        assert found[label] == release[label]
    assert found.cap == release.estimate.cap


@pytest.mark.slow
def test_numbers_and_labels_that_read_alike():
    ages = {"age": RNG.integers(0, 90, 1000)}
    release = private_histogram(ages, column="age", domain=Edges([0, 18, 65]), protocol="hashed", **GUARANTEE)
    label = release.top(1)[0].label
    assert release.lookup([label])[label] == release[label]
    numbers = private_histogram(ages, column="age", domain=range(90), protocol="hashed", **GUARANTEE)
    assert numbers.lookup(["39", 40.0]).keys() == [39, 40]


@pytest.mark.parametrize(
    ("values", "error", "reason"),
    [
        ([], ParameterError, "values must be 1 to 1,000,000 values to look up, got 0"),
        (("site0.example" for _ in count()), ParameterError, "values to look up, got 1,000,001"),
        ("site0.example", ParameterError, "values must be a list of values, got one str"),
        (7, ParameterError, "values must be a list of values, got one int"),
        (["site0.exampel"], LabelError, "the nearest are 'site0.example'"),
        ([("phone", "site0.example")], LabelError, "domain"),
        ([[1]], LabelError, "must be one value"),
    ],
)
def test_lists_that_are_refused(release, values, error, reason):
    with pytest.raises(error, match=reason):
        release.lookup(values)


@pytest.mark.slow
def test_releases_without_the_messages_behind_them(release):
    with pytest.raises(ParameterError, match="beta"):
        release.lookup(["site0.example"], beta=2)
    question = {"column": "site", "domain": SITES, **GUARANTEE}
    adjusted = private_histogram(VISITS, **question, protocol="hashed", consistent=True)
    with pytest.raises(ParameterError, match="leave out consistent"):
        adjusted.lookup(["site0.example"])
    dummy = private_histogram(VISITS, **question, protocol="dummy")
    with pytest.raises(ParameterError, match="protocol hashed with a domain, got DummyHistogram"):
        dummy.lookup(["site0.example"])


def test_files_that_are_no_releases(release, tmp_path):
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "other.parquet")
    (tmp_path / "text.parquet").write_text("no table")
    for name, reason in {"other": "not a Parquet", "text": "not a Parquet", "missing": "No such file"}.items():
        with pytest.raises(DataError, match=reason):
            Release.from_json(tmp_path / f"{name}.parquet")


@pytest.mark.parametrize("domain", [range(2**40), range(0, 2**70, 3)])
def test_a_domain_that_cannot_be_listed_is_refused_at_once(domain):
    with pytest.raises(ParameterError, match="domain must list at most 67,108,864 values"):
        private_histogram([1, 2] * 100, domain=domain, protocol="hashed", messages=True, **GUARANTEE)


def test_a_domain_of_one_value():
    release = private_histogram(["x"] * 500, domain=["x"], drop_missing=True, protocol="hashed", **GUARANTEE)
    low, high = release.lookup(["x"], beta=1e-9).interval("x")
    assert low <= 500 <= high

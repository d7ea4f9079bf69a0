"""A protocol as plain values and back: nothing is lost, and a file makes nothing but protocols."""

import json
from dataclasses import replace

import pytest

from shuffledp.errors import DataError
from shuffledp.protocols import CATALOGUE, Histogram, SparseHistogram, Target
from shuffledp.protocols.catalogue import from_record, to_record

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}


@pytest.mark.slow
@pytest.mark.parametrize("name", CATALOGUE)
def test_every_protocol_comes_back_and_prints_in_a_line(name):
    protocol = CATALOGUE[name].make(Target(users=50_000, bins=16, **GUARANTEE))
    assert repr(protocol).startswith(f"{type(protocol).__name__}(users=50000, bins=16, ")
    assert len(repr(protocol)) < 700
    object.__setattr__(vast := replace(protocol), "bins", 2**65536)
    assert "bins=about 2^65536" in repr(vast)
    again = from_record(json.loads(json.dumps(to_record(protocol), allow_nan=False)))
    assert again == protocol
    assert type(again) is type(protocol)
    assert again.privacy.delta(0.7) == protocol.privacy.delta(0.7)


@pytest.mark.parametrize("bins", [2**64 - 1, 2**65536, 3**500], ids=["2^64-1", "2^65536", "3^500"])
def test_any_number_of_bins_comes_back(bins):
    protocol = SparseHistogram.calibrate(users=2000, bins=bins, **GUARANTEE)
    text = json.dumps(to_record(protocol), allow_nan=False)
    assert len(text) < 2000
    assert from_record(json.loads(text)) == protocol


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"class": "Popen"}, "'Popen' is no protocol"),
        ({"class": "Guarantee", "epsilon": 1, "delta": 1, "basis": ""}, "cannot be restored"),
        ({"users": -5}, "users"),
        ({"users": {"integer": "2^99999999"}}, "cannot be read"),
        ({"users": {"number": "many"}}, "cannot be read"),
        ({"unknown": 1}, "Histogram cannot be created"),
        ({"missing_probability": "x"}, "Histogram cannot be created"),
    ],
)
def test_what_is_no_protocol_is_refused(change, reason):
    record = to_record(Histogram.calibrate(users=2000, bins=4, **GUARANTEE))
    with pytest.raises(DataError, match=reason):
        from_record({**record, **change} if change.get("class") != "Guarantee" else change)
    for other in (None, 3, "text", [], [record]):
        with pytest.raises(DataError):
            from_record(other)


def test_values_that_no_file_can_hold_are_refused():
    odd = replace(Histogram.calibrate(users=2000, bins=4, **GUARANTEE))
    object.__setattr__(odd, "truncated", object())
    assert "text" in to_record(odd)["truncated"]
    with pytest.raises(DataError):
        from_record(to_record(odd))

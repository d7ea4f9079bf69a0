"""The repr of every record is one short line, even with 2^65536 bins or a million counts."""

from dataclasses import dataclass

import numpy as np
import pytest

from shuffledp import Domain, Tally, plan, private_histogram, simulate
from shuffledp.formatting import ShortRepr, short_repr
from shuffledp.protocols import BinarySum, RealSum, Target
from shuffledp.release.choose import PrivacySpec, choose
from shuffledp.release.compare import Measurement, trade_off

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}
EVERYTHING = 2**65536
LONGEST = 700


@pytest.fixture(scope="module")
def release():
    return private_histogram(["dark"] * 1200 + ["light"] * 800, **GUARANTEE, evaluate=True)


def test_a_release_and_its_parts_print_in_a_line(release):
    for record in (release, release.estimate, release.protocol, release.estimate.simultaneous, release.privacy):
        assert "\n" not in repr(record)
        assert len(repr(record)) < LONGEST
    assert repr(release).startswith("<Release of value: 2 values of 2,000 people, (1, 1e-6) private")
    assert "NOT PRIVATE" in repr(release)
    assert "about 2^65536" in repr(release.protocol)
    assert "dark: 1,2" in repr(release.estimate) or "dark: 1,1" in repr(release.estimate)


@pytest.mark.slow
def test_results_of_jobs_print_in_a_line():
    target = Target(users=1000, bins=EVERYTHING, **GUARANTEE)
    asked = plan(users=10**5, bins=10**4, **GUARANTEE)
    choice = choose(target, PrivacySpec(**GUARANTEE, protocol="sparse"), beta=0.05, listed=False)
    for record in (
        simulate(["a"] * 1000, **GUARANTEE, trials=20, seed=1),
        plan(users=1000, bins=EVERYTHING, **GUARANTEE),
        target,
        choice,
        trade_off(asked),
        Measurement(name="hist", title="t", model="shuffled", users=10, bins=EVERYTHING),
        Tally(np.arange(10**6), np.ones(10**6, dtype=np.int64)),
        Domain.range(EVERYTHING),
        Domain.implicit(EVERYTHING),
    ):
        assert "\n" not in repr(record)
        assert len(repr(record)) < LONGEST


def test_sums_print_in_a_line():
    for protocol in (
        BinarySum.calibrate(users=1000, **GUARANTEE),
        RealSum.calibrate(users=1000, **GUARANTEE),
    ):
        assert repr(protocol).startswith(f"{type(protocol).__name__}(users=1000, ")


def test_a_class_can_override_its_repr_for_subclasses():
    @dataclass(frozen=True)
    class Record(ShortRepr):
        number: int

    @dataclass(frozen=True)
    class Special(Record):
        def __repr__(self):
            return "special"

    @dataclass(frozen=True)
    class MoreSpecial(Special):
        extra: int = 1

    assert repr(Record(2**99)).endswith("Record(number=about 2^99)")
    assert repr(Special(1)) == repr(MoreSpecial(1)) == "special"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "True"),
        (None, "None"),
        (0.1, "0.1"),
        (2**64 - 1, str(2**64 - 1)),
        (2**20000, "about 2^20000"),
        ((1, 2), "(1, 2)"),
        (tuple(range(5)), "<5 parts>"),
        ({"a": 1}, "<1 entry>"),
        (np.zeros((2, 3)), "<6 numbers>"),
        (np.array(["a"], dtype=object), "<1 value>"),
        (int, "int"),
        ("x" * 100, "'" + "x" * 58 + "…"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_short_reprs_of_values(value, expected):
    assert short_repr(value) == expected

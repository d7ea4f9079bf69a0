"""The people who pass a condition, and shares among them: bounds by enumeration, and their coverage by simulation."""

import csv
import io
import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pyarrow as pa
import pytest
from scipy.stats import binom

from shuffledp import Release, private_histogram
from shuffledp.data import Source
from shuffledp.data.people import People
from shuffledp.explain.release import share_interval
from shuffledp.histogram.intervals import Passing, Share
from shuffledp.histogram.labels import Absent

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}
WHERE = "country = 'DE'"
PEOPLE = {("a", "DE"): 700, ("b", "DE"): 250, ("c", "DE"): 50, ("a", "FR"): 2000, ("d", "FR"): 1000}
TABLE = {
    "value": [value for (value, _), people in PEOPLE.items() for _ in range(people)],
    "country": [country for (_, country), people in PEOPLE.items() for _ in range(people)],
}


def test_the_bounds_are_the_smallest_and_the_largest_share():
    """Every number of people who pass and of holders that the intervals allow, and both ends are reached."""
    for pass_low, more, low, width in product(range(4), range(3), range(-2, 4), range(3)):
        passing, high = Passing(2.0, pass_low, pass_low + more), low + width
        found = passing.share(1.0, low=low, high=high)
        assert 0 <= found.low <= found.share <= found.high <= 1
        possible = [
            Fraction(held, everybody)
            for everybody in range(max(1, pass_low), pass_low + more + 1)
            for held in range(max(0, low), min(high, everybody) + 1)
        ]
        if not possible:  # intervals that contradict each other do not hold
            continue
        assert float(min(possible)) == found.low or pass_low + more == 0
        assert max(possible) <= Fraction(found.high).limit_denominator(100)
        if pass_low > 0:
            assert float(max(possible)) == found.high


@pytest.mark.parametrize(
    ("without", "low", "high", "expected"),
    [(30, 20, 40, (70, 60, 80)), (-5, -5, 7, (100, 93, 100)), (105, 90, 120, (0, 0, 10)), (0.5, 0, 3, (99.5, 97, 100))],
)
def test_who_passes_is_everybody_else(without, low, high, expected):
    found = Passing.of(people=100, without=without, low=low, high=high)
    assert (found.count, found.low, found.high) == expected


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"domain": ["a", "b", "c"]}], ids=["any value", "a list"])
@pytest.mark.parametrize("trust", ["shuffler", "curator"])
def test_all_shares_are_covered_at_once(options, trust):
    """A false failure has a probability below 1e-6: the intervals fail in more trials than their probability allows.

    Where all counts are covered, all shares are covered, too.
    """
    beta, trials, failed = 0.2, 200, 0
    asked = {"column": "value", "where": WHERE, **options}
    protocol = private_histogram(TABLE, **asked, **GUARANTEE, beta=beta, trust=trust).protocol
    held = {"a": 700, "b": 250, "c": 50}
    with People(Source.of(TABLE, **asked)) as people:
        people.number(count=True)
        tallies = [people.draw(protocol) for _ in range(trials)]
    for tally in tallies:
        found = protocol.estimate(tally, beta=beta, reports=protocol.users, domain=people.domain)
        found = replace(found, where=WHERE)
        shares = {label: found.share(label) for label in held}
        inside = all(shares[label].low <= people / 1000 <= shares[label].high for label, people in held.items())
        inside &= found.passing.low <= 1000 <= found.passing.high
        counts = [*held.items(), (Absent(most=0), 3000)]
        if all(found.interval(label)[0] <= people <= found.interval(label)[1] for label, people in counts):
            assert inside
        failed += not inside
    assert failed <= binom.isf(1e-6, trials, beta)


@pytest.fixture(scope="module")
def release():
    return private_histogram(TABLE, column="value", where=WHERE, **GUARANTEE)


@pytest.mark.slow
def test_the_condition_is_named_wherever_a_release_is_shown(release):
    assert release.estimate.where == WHERE
    assert str(release).startswith(f"value where {WHERE}: ")
    assert f" have a value where {WHERE}." in str(release)
    assert "value where country = &#39;DE&#39;" in release._repr_html_()
    assert release.plot().get_title() == f"value where {WHERE}"
    text = release.to_html().replace("&#39;", "'")
    assert f"<title>value where {WHERE}" in text
    assert f"<h1>value where {WHERE}" in text.replace("<bdi>", "").replace("</bdi>", "")
    assert text.count(f"where {WHERE}") >= 4  # title, heading, tile, chart


def test_files_have_the_condition_and_the_shares(release):
    rows = list(csv.DictReader(io.StringIO(release.estimate.to_csv())))
    passing = release.estimate.passing
    assert {row["where"] for row in rows} == {WHERE}
    assert {(float(row["passing"]), int(row["passing_low"]), int(row["passing_high"])) for row in rows} == {
        (passing.count, passing.low, passing.high)
    }
    first, last = rows[0], rows[-1]
    share = release.estimate.share(first["label"])
    assert [float(first[name]) for name in ("share", "share_low", "share_high")] == [share.share, share.low, share.high]
    assert share.low <= 0.7 <= share.high or not release.estimate.interval("a")[0] <= 700
    assert (last["label"], last["share"]) == ("(no value)", "")
    stored = json.loads(release.to_json())
    assert (stored["where"], stored["passing"]) == (WHERE, passing.count)
    again = Release.from_json(release.to_json())
    assert again.estimate.where == WHERE
    assert again.estimate.passing == passing
    table = release.estimate.to_arrow()
    assert table.schema.field("share").type == pa.float64()
    assert math.isnan(table["share"][-1].as_py())
    assert release.estimate.to_pandas().attrs["where"] == WHERE


def test_the_printed_interval_of_a_share_holds_what_it_holds():
    assert share_interval(Share(0.25, 0.12345, 0.45678)) == "25.0% (12.3 to 45.7%)"
    assert share_interval(Share(0.5, 0.29999, 0.70001)) == "50.0% (29.9 to 70.1%)"
    assert share_interval(Share(0.0, 0.0, 1.0)) == "0.0% (0.0 to 100.0%)"


def test_without_a_condition_nothing_is_added():
    estimate = private_histogram(TABLE["value"], **GUARANTEE).estimate
    assert (estimate.where, estimate.passing, estimate.share("a")) == (None, None, None)
    assert "share" not in estimate.to_columns()
    assert "where" not in estimate.facts()


@pytest.mark.slow
def test_sets_of_several_values_have_shares_of_people():
    """Shares of people can add up to more than 1; everybody who passes holds a value. It fails at most once in 10^6."""
    users = [number for number in range(1000) for _ in range(2)]
    table = {"u": users, "v": ["a", "b"] * 1000, "c": [1 if user < 600 else 0 for user in users]}
    asked = {"column": "v", "user": "u", "values_per_person": 2, "where": "c = 1"}
    estimate = private_histogram(table, **GUARANTEE, **asked, beta=1e-6).estimate
    assert estimate.passing.low <= 600 <= estimate.passing.high
    assert estimate.share("a").high == estimate.share("b").high == 1
    usual = private_histogram(table, **GUARANTEE, **asked).estimate
    assert usual.share("a").low > 0.8

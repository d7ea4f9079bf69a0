"""Every rendered figure about a guarantee agrees with the privacy curve: text, paragraphs, HTML and JSON.

A figure is read back from the text as a reader would, and the curve must give it. Figures are rounded up, so the only
tolerance is the one of `kept`, for a delta that is computed again.
"""

import json
import math
import re
from contextlib import suppress

import numpy as np
import pytest

from shuffledp import Edges, Ranges, private_histogram
from shuffledp.accounting.rounding import PROMISED_DELTA
from shuffledp.errors import ParameterError, TooFewUsersError
from shuffledp.explain.protocols import about, several_rows
from shuffledp.explain.release import lines
from shuffledp.explain.task import about as task_facts
from shuffledp.explain.task import details
from shuffledp.protocols import CATALOGUE, Target
from shuffledp.release.release import GroupPrivacy
from tests.collect.tasks import small_task

NUMBER = r"([\d.,]+(?:e-?\d+)?)"
PAIR = re.compile(rf"\({NUMBER}, {NUMBER}\)-differential privacy")
PRIVATE = re.compile(rf"\({NUMBER}, {NUMBER}\) private")
FACTOR = re.compile(rf"by at most {NUMBER}, plus at most {NUMBER}\.")
FACTS = re.compile(rf"epsilon {NUMBER}, delta {NUMBER} for the whole release")
LIKELY = re.compile(rf"(?:more than|up to)\s+{NUMBER} times (?:as|more) likely[^.]*?at most 1 in {NUMBER}")
ROWS = re.compile(
    rf"a person with (\d+) (?:rows|reports)[^;.]*? has epsilon (?:at most )?{NUMBER} (\(same delta\)|at delta {NUMBER})"
)


def number(text):
    """A figure as it is written; the full stop or the comma of a sentence is not a part of it."""
    return float(text.rstrip(".,").replace(",", ""))


def assert_holds(curve, epsilon, delta):
    assert curve.delta(epsilon) <= delta * (1 + PROMISED_DELTA)


def check_text(text, curve, *, delta, rows):
    """Check all figures of a text; return the kinds that were found. `rows` is the curve of several rows, or None."""
    found = set()
    for epsilon, own in [*PAIR.findall(text), *PRIVATE.findall(text), *FACTS.findall(text)]:
        assert_holds(curve, number(epsilon), number(own))
        found.add("pair")
    for factor, own in FACTOR.findall(text):
        assert_holds(curve, math.log(number(factor)), number(own))
        found.add("factor")
    for number_of_rows, epsilon, where, other in ROWS.findall(text):
        several = curve.for_rows(int(number_of_rows))
        assert_holds(several, number(epsilon), delta if where == "(same delta)" else number(other))
        found.add("rows")
    of_one = True
    for factor, chance in LIKELY.findall(text):
        assert_holds(curve if of_one or rows is None else rows, math.log(number(factor)), 1 / number(chance))
        of_one = False
        found.add("times")
    return found


def check_release(release):
    """Check the terminal, the paragraphs, the page, the summary and the JSON of a release."""
    curve, guarantee, group = release.protocol.privacy, release.estimate.guarantee, release.group_privacy
    rows = None if group is None else curve.for_rows(group.rows)
    per_row = {"rows"} if group is not None and math.isfinite(group.epsilon) else set()
    given = {"delta": guarantee.delta, "rows": rows}
    assert check_text("\n".join(lines(release)), curve, **given) == {"pair"} | per_row
    assert check_text(release.explain(), curve, **given) == {"pair", "factor"} | per_row
    assert check_text(str(release), curve, **given) == {"pair"}
    page = re.sub(r"<[^>]*>", "", release.to_html())
    assert check_text(page, curve, **given) >= {"pair", "factor", "times"} | per_row
    stored = json.loads(release.to_json())
    assert_holds(curve, stored["guarantee"]["epsilon"], stored["guarantee"]["delta"])
    if (several := stored["guarantee_of_several_rows"]) is not None and several["epsilon"] is not None:
        assert several["exact"] == curve.for_rows(several["rows"]).exact
        assert_holds(rows, several["epsilon"], several["delta"])
    assert (several is None) == (not release.per_row)


RELEASED = [name for name, entry in CATALOGUE.items() if entry.model != "local" and name != "blanket-published"]
"""The curve of that one takes seconds; `blanket` is of the same class."""

AMOUNTS = [(1500, 1.0, 1e-6), (400, 0.37, 3e-3), (2500, 4.123456, 1e-9)]
SLOW = ("blanket", "amplified", "shuffled-response", "shuffled-hadamard", "shuffled-unary", "shuffled-hashing")
"""Protocols whose curves take long; one release of each."""


@pytest.mark.slow
@pytest.mark.parametrize("name", RELEASED)
def test_releases_of_every_protocol(name):
    trust = "curator" if CATALOGUE[name].model == "central" else "shuffler"
    made = 0
    for users, epsilon, delta in AMOUNTS[:1] if name in SLOW else AMOUNTS:
        with suppress(ParameterError if CATALOGUE[name].published else TooFewUsersError):
            release = private_histogram(
                ["a", "b", "b", "c"] * (users // 4),
                epsilon=epsilon,
                delta=delta,
                protocol=name,
                trust=trust,
                domain=["a", "b", "c"],
                messages=name in SLOW and name != "blanket",
            )
            check_release(release)
            made += 1
    assert made or CATALOGUE[name].published


PEOPLE = {
    "who": [at // 2 for at in range(2000)],
    "what": [f"{at % 7}" for at in range(2000)],
    "age": [*range(100)] * 20,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"column": "what"},
        {"column": "what", "user": "who"},
        {"column": "what", "user": "who", "values_per_person": 2},
        {"column": "what", "where": "age < 50"},
        {"column": "what", "user": "who", "where": "age < 50"},
        {"column": "what", "trust": "curator"},
        {"column": "what", "user": "who", "values_per_person": 2, "trust": "curator"},
        {"column": "age", "domain": Edges("0:100:10"), "ranges": True},
        {"column": "age", "domain": Edges("0:100:10"), "ranges": True, "trust": "curator"},
        {"column": ["what", "age"], "domain": [[f"{at}" for at in range(7)], Edges("0:100:50")]},
    ],
    ids=str,
)
def test_releases_of_every_kind_of_question(options):
    check_release(private_histogram(PEOPLE, epsilon=1.5, delta=1e-5, **options))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hist", "sparse", "dummy-poisson", "shuffled-response"])
@pytest.mark.parametrize("honest", [1000, 800])
def test_guarantees_with_dishonest_and_missing_people(name, honest):
    protocol = CATALOGUE[name].make(Target(users=1000, bins=5, epsilon=1.0, delta=1e-5, honest_users=honest))
    for reports in (1000, 900, 800, 799, 30):
        ran = protocol.for_reports(reports)
        said = about(ran.facts())["Guarantee"]
        found = check_text(said, ran.privacy, delta=1e-5, rows=None)
        assert found == ({"pair", "factor"} if math.isfinite(ran.guarantee.epsilon) else set())
        assert found or said.startswith("No differential privacy at delta=1e-5")


@pytest.mark.slow
def test_estimates_of_ranges_with_missing_people():
    protocol = Ranges.calibrate(users=1500, bins=8, epsilon=1, delta=1e-5)
    for reports in (1500, 1400, 1100):
        ran = protocol.for_reports(reports)
        values = np.arange(reports) % 8
        tally = ran.tally(ran.randomize(values, rng=np.random.default_rng(0)))
        estimate = protocol.estimate(tally, reports=reports)
        assert check_text(estimate.explain(), ran.privacy, delta=1e-5, rows=None) == {"pair", "factor"}
        assert (estimate.guarantee.epsilon > 1) == (reports < 1500)


@pytest.mark.parametrize("options", [{}, {"epsilon": 8}, {"shufflers": 2}])
def test_tasks(options):
    task = small_task(**options).task
    said = " ".join(details(task)[title] for title in ("Guarantee", "For experts"))
    curve, claimed = task.protocol.privacy, task.guarantee
    found = check_text(said, curve, delta=claimed.delta, rows=None)
    assert found == {"rows", "times"}
    stored = task_facts(task)["guarantee"]
    assert stored["two_reports"] == task.privacy_of_reports(2)
    assert_holds(curve.for_rows(2), stored["two_reports"].epsilon, stored["two_reports"].delta)


def test_sentences_of_several_rows():
    exact = GroupPrivacy(rows=3, epsilon=3.4100012, delta=1e-6, exact=True)
    assert several_rows(exact, delta=1e-6) == "a person with 3 rows has epsilon 3.411 (same delta)"
    bound = GroupPrivacy(rows=2, epsilon=2.0, delta=1e-5, exact=False)
    assert several_rows(bound, delta=1e-6) == "a person with 2 rows has epsilon at most 2 at delta 1e-5"
    nothing = GroupPrivacy(rows=3, epsilon=math.inf, delta=1e-6, exact=True)
    assert several_rows(nothing, delta=1e-6) == "nothing is guaranteed to a person with 3 rows"


@pytest.mark.slow
def test_the_privacy_of_rows_of_a_release():
    release = private_histogram(["a"] * 2000, epsilon=1, delta=1e-6, protocol="hist")
    three = release.privacy.for_rows(3)
    assert three.exact
    assert (three.guarantee.epsilon, three.guarantee.delta) == (three.epsilon(1e-6), 1e-6)
    assert str(three) == f"{three.guarantee}, for datasets of equal size in which 3 rows of one person are replaced"
    assert release.privacy.for_rows(1) == release.privacy
    assert release.group_privacy == GroupPrivacy(rows=3, epsilon=three.epsilon(1e-6), delta=1e-6, exact=True)
    of_people = private_histogram({"who": [*range(2000)], "what": ["a"] * 2000}, column="what", user="who",
                                  epsilon=1, delta=1e-6)  # fmt: skip
    assert of_people.group_privacy is None


@pytest.mark.parametrize("values", [1, 3])
@pytest.mark.parametrize("name", ["hist", "sparse", "dummy", "dummy-poisson", "laplace", "stability"])
def test_a_guarantee_is_called_exact_only_if_its_curve_is(name, values):
    protocol = CATALOGUE[name].make(Target(users=2000, bins=9, epsilon=1.0, delta=1e-6, values_per_person=values))
    assert (protocol.guarantee.basis == "computed exactly") == protocol.privacy.exact


def test_the_explanation_in_json_has_the_privacy_of_several_rows():
    release = private_histogram(["a"] * 2000, epsilon=1, delta=1e-6)
    assert "This is per row: a person with 3 rows has epsilon" in json.loads(release.to_json())["explanation"]

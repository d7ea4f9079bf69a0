"""The number of shown values is the same everywhere, and people without a value are not one of them."""

import re
from dataclasses import replace

import pytest

from shuffledp import private_histogram
from shuffledp.cli.release_output import publish
from shuffledp.explain.page import bars_title, headline, page
from shuffledp.explain.release import estimate_paragraphs
from shuffledp.histogram.labels import Absent

pytestmark = pytest.mark.slow

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}


@pytest.fixture(scope="module")
def release():
    """3,000 people with one of 30 apps and the first, of up to 5; all 31 values, with (other), are shown."""
    apps = [f"app {at}" for at in range(30)]
    rows = [{"app": apps[at % 30], "who": at} for at in range(3000)]
    rows += [{"app": apps[0], "who": at} for at in range(3000)]
    return private_histogram(
        rows, column="app", user="who", values_per_person=5, domain=apps, protocol="dummy", drop_missing=True,
        **GUARANTEE,
    )  # fmt: skip


def test_the_number_of_values_is_the_same_everywhere(release, capsys):
    estimate = release.estimate
    absent = sum(isinstance(label, Absent) for label in estimate.labels.tolist())
    assert (estimate.values_shown, absent) == (31, len(estimate) - 31)
    assert absent > 0
    assert estimate.summary().startswith("31 values of 3,000 people")
    assert estimate_paragraphs(estimate)["Result"].startswith("31 values shown, of 31 possible")
    assert ("31", "values are shown") in headline(release)
    assert bars_title(release) == "The 25 most frequent of 31 values that are shown"
    text = page(release)
    assert "Table: 31 values<" in text
    assert f"{len(estimate)} values" not in text + release.to_json() + str(release)
    assert "and 16 more values" in str(release)
    publish(release, out=[], top=15, as_json=False)
    hidden = int(re.search(r"\.\.\. (\d+) more \.\.\.", capsys.readouterr().out)[1])
    assert hidden == 31 - 15 - 5  # the smallest five follow


def test_where_everything_is_drawn_the_title_counts_values_too():
    release = private_histogram(
        [{"app": "ab"[at % 2], "x": at % 5} for at in range(3000)], column="app", where="x > 0", **GUARANTEE
    )
    assert len(release.estimate) == 3
    assert bars_title(release) == "All 2 values that are shown, where x > 0"
    assert ("2", "values are shown") in headline(release)


def test_people_without_a_value_alone_are_no_value_that_is_shown(capsys):
    release = private_histogram([{"app": "a", "x": 0}] * 3000, column="app", where="x > 0", **GUARANTEE)
    assert len(release.estimate) == 1
    assert release.estimate.summary().startswith("0 values")
    assert bars_title(release) == "No value is frequent enough to be shown, where x > 0"
    assert "No value is frequent enough to be shown." in str(release)
    publish(release, out=[], top=15, as_json=False)
    assert "No value is frequent enough to be shown." in capsys.readouterr().out


def test_two_numbers_that_are_equal_are_both_there(release):
    """The numbers of values and people can be equal in a small release."""
    estimate = replace(release.estimate, people=31)
    texts = [text for number, text in headline(replace(release, estimate=estimate)) if number == "31"]
    assert texts == ["people took part", "values are shown"]

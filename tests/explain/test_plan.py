"""Plans as text: the recommendation, its reasons and warnings."""

from shuffledp import plan
from shuffledp.explain.plan import details, headline, reasons, recommendation, warnings

ASKED = {"epsilon": 1, "delta": 1e-6}


def test_a_recommendation_has_the_error_the_detection_limit_and_the_messages():
    found = plan(users=10**6, bins=10**5, **ASKED)
    assert headline(found) == "1,000,000 people, 100,000 possible values, epsilon 1, delta 1e-6"
    assert recommendation(found) == [
        "Recommended: dummy. Error at most 36 people (0.0036%), detection limit 71 people, 5.27 messages per person."
    ]
    assert str(found).splitlines()[-1:] == recommendation(found)
    assert recommendation(found, held=True) == [
        "Recommended: dummy. Error at most 36 people (0.0036%), detection limit 71 people."
    ]


def test_a_recommendation_has_two_lines_where_messages_matter():
    found = plan(users=2 * 10**5, bins=None, **ASKED)
    assert recommendation(found) == [
        "Recommended if people send messages: none. Every protocol sends more than 1,000 messages per person. More "
        "people, fewer possible values or a larger epsilon help.",
        "Recommended for local data: hist. Error at most 72 people (0.036%), detection limit 73 people.",
    ]
    assert reasons(found)["reason_for_held_data"] == (
        "Histogram (P^hist): the smallest error among protocols without false positives. It has no false positives."
    )


def test_details_name_protocols_that_are_not_possible():
    parts = details(plan(users=100, bins=20, **ASKED))
    assert list(parts) == [
        "If people send messages", "For local data", "For a trusted curator", "Errors", "Detection limit",
        "False positives", "Messages", "Not possible",
    ]  # fmt: skip
    assert parts["Not possible"].startswith("Histogram (P^hist) needs at least 148 honest people; ")


def test_warnings():
    assert list(warnings(users=10**6, delta=1e-7, error=10.0)) == []
    assert list(warnings(users=1000, delta=0.01, error=150.2)) == [
        "delta=0.01 is larger than 1 / people: it would allow publishing the value of one of the 1,000 people; choose "
        "a much smaller delta",
        "an error of up to 151 of 1,000 people says little: use more people",
    ]

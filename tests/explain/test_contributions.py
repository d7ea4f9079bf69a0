"""What intervals mean under a contribution cap is stated wherever they are shown, and depends on the options alone."""

import json
from dataclasses import replace

import numpy as np
import pytest

from shuffledp import Edges, Release, private_histogram
from shuffledp.cli.release_output import _true_counts
from shuffledp.data.people import TrueCounts
from shuffledp.explain.page import headline
from shuffledp.explain.protocols import cap_sentences, more_than_cap_sentences, uncapped_in_trials
from shuffledp.explain.release import evaluation_sentence, lines, note_sentences
from shuffledp.histogram.facts import Cap
from shuffledp.histogram.labels import MoreThan
from shuffledp.ledger import Ledger
from shuffledp.release.simulate import evaluate, simulate

GUARANTEE = {"epsilon": 3, "delta": 1e-6}
CAPPED = "Intervals cover these capped counts."
PEOPLE = 600


def table(each):
    """Return people who all have this number of the values v0, v1, ..."""
    return {
        "person": np.repeat(np.arange(PEOPLE), each).tolist(),
        "value": [f"v{at}" for at in range(each)] * PEOPLE,
        "age": [20 + at for at in range(each)] * PEOPLE,
    }


def shown(release):
    """Return everything that shows intervals, as text."""
    about = release.estimate.to_arrow().schema.metadata[b"shuffledp"].decode()
    return {
        "terminal": "\n".join(lines(release)),
        "text": str(release),
        "estimate": str(release.estimate),
        "notebook": release._repr_html_(),
        "report": release.to_html(),
        "tiles": str(headline(release)),
        "explanation": release.explain(),
        "JSON": release.to_json(),
        "Arrow": about,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"values_per_person": 2}, {"domain": ["v0", "v1"], "values_per_person": 3, "count_capped": True}]
)
def test_the_cap_is_stated_wherever_intervals_are_shown_whatever_people_have(options):
    """Nobody has more than one value, or everybody has more than count: the statement is the same."""
    one, many = (private_histogram(table(each), column="value", user="person", **GUARANTEE, **options)
                 for each in (1, 6))  # fmt: skip
    most = options.get("values_per_person", 1)
    (statement,) = cap_sentences(Cap(values=most))
    for release in (one, many):
        found = shown(release)
        assert "capped numbers" in found.pop("tiles")
        assert all(statement in text for text in found.values()), found
        assert "true capped numbers" in found["report"]
        stored = json.loads(found["JSON"])
        assert (stored["bounded"], stored["cap"]) == (True, most)
        frame = release.estimate.to_pandas()
        assert (frame.attrs["bounded"], frame.attrs["cap"]) == (True, most)
        head, first, *_ = release.estimate.to_csv().splitlines()
        row = dict(zip(head.split(","), first.split(","), strict=True))
        assert (row["bounded"], row["cap"]) == ("True", str(most))
        assert "is held by at most" not in found["report"]
        assert not any("not shown has at most" in text for text in found.values())


@pytest.mark.slow
def test_without_users_nothing_is_said_about_a_cap():
    release = private_histogram(table(1), column="value", **GUARANTEE)
    assert not any("capped" in text for name, text in shown(release).items() if name not in ("JSON", "Arrow"))
    stored = json.loads(release.to_json())
    assert (stored["bounded"], stored["cap"], stored["more_than_cap"]) == (False, None, None)
    assert release.estimate.to_pandas().attrs["bounded"] is False
    assert CAPPED not in release.to_json()


@pytest.mark.slow
def test_ranges_and_cross_tables_state_the_cap():
    ranges = private_histogram(table(4), column="age", user="person", domain=Edges([0, 22, 50]), quantiles=[0.5],
                               **GUARANTEE)  # fmt: skip
    pairs = private_histogram(table(4), column=["value", "age"], user="person", **GUARANTEE,
                              domain=[["v0", "v1", "v2", "v3"], Edges([0, 22, 50])])  # fmt: skip
    for release in (ranges, pairs):
        assert all(CAPPED in text for name, text in shown(release).items() if name != "tiles")
        assert CAPPED in "\n".join(lines(Release.from_json(release.to_json())))


def test_sentences():
    assert cap_sentences(None) == []
    assert cap_sentences(Cap(values=20)) == [
        "Counts include at most 20 values per person; people with more are counted for 20 of them, chosen at random. "
        "Intervals cover these capped counts."
    ]
    assert cap_sentences(Cap(values=1)) == [
        "Counts include one value per person; people with more are counted for one of them, chosen at random. "
        "Intervals cover these capped counts."
    ]
    assert uncapped_in_trials([]) == []


# people who have more values ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("domain", [None, ["v0", "v1", "v2", "v3"]])
@pytest.mark.parametrize("more", [0, 400])
def test_people_who_have_more_are_shown_with_their_interval(most, domain, more):
    """With confidence 1 - 1e-9 the interval holds the true number; it is no value, and comes back from JSON."""
    rows = table(most + 1)
    few = np.array(rows["person"]) >= more
    kept = ~(few & (np.arange(few.size) % (most + 1) >= most))  # the others have one value fewer
    rows = {name: np.array(values)[kept] for name, values in rows.items()}
    release = private_histogram(
        rows, column="value", user="person", values_per_person=most, count_capped=True, domain=domain, beta=1e-9,
        **GUARANTEE,
    )  # fmt: skip
    found = release.estimate.more_than_cap
    assert found.label == MoreThan(values=most)
    assert found.low <= more <= found.high
    assert release.protocol.values_per_person == most + 1
    assert f"for up to {most} values" in lines(release)[0] or most == 1
    assert release.estimate.possible == release.estimate.bins - (most + 2)
    assert (release.longest_value is None) == (domain is not None)
    (sentence,) = more_than_cap_sentences(release.estimate)
    values = "1 value" if most == 1 else f"{most} values"
    assert f"have more than {values}; their further values are not counted." in sentence
    assert ("About" in sentence) == (found.label in release.estimate)
    assert "About" in sentence or sentence.startswith(f"At most {found.high:,} people have")
    texts = {name: text for name, text in shown(release).items() if name != "tiles"}
    assert all(sentence in text for text in texts.values())
    again = Release.from_json(release.to_json())
    assert again.estimate.more_than_cap == found
    assert again.estimate.cap == release.estimate.cap
    assert json.loads(release.to_json())["more_than_cap"]["high"] == found.high
    assert release.estimate.values_shown <= (most + 1 if domain is None else 6)  # with missing and (other)
    if found.label in release.estimate:
        assert str(found.label) in release.estimate.to_csv()
        shown_last = [row.label for row in release.estimate.top()][release.estimate.values_shown :]
        assert found.label in shown_last


@pytest.mark.slow
def test_a_cross_table_with_people_who_have_more_comes_back_from_json():
    release = private_histogram(
        table(4), column=["value", "age"], user="person", values_per_person=2, count_capped=True,
        domain=[["v0", "v1", "v2", "v3"], Edges([0, 22, 50])], **GUARANTEE,
    )  # fmt: skip
    again = Release.from_json(release.to_json())
    assert set(again.estimate) == set(release.estimate)
    assert again.estimate.more_than_cap == release.estimate.more_than_cap
    assert all(again.estimate[label] == release.estimate[label] for label in release.estimate)


def test_a_release_of_an_earlier_version_has_its_cap_from_its_options():
    stored = json.loads(private_histogram(table(2), column="value", user="person", **GUARANTEE).to_json())
    for name in ("bounded", "cap", "more_than_cap"):
        del stored[name]
    assert Release.from_json(json.dumps(stored)).estimate.cap == Cap(values=1)


@pytest.mark.slow
def test_what_was_counted_is_noted_and_entered_in_the_ledger(tmp_path):
    options = {"column": "value", "user": "person", **GUARANTEE}
    ledger = Ledger.create(tmp_path / "people.ledger", epsilon=10, delta=1e-4, population="people of the test")
    release = private_histogram(table(3), count_capped=True, ledger=ledger, **options)
    assert ledger.entries[0].what == "value, and who has more"
    assert ledger.entries[0].made().values_per_person == 2
    assert any(note.startswith("One of the different values of each person counts") for note in note_sentences(release))
    several = private_histogram(table(3), values_per_person=2, **options)
    assert any(note.startswith("Up to 2 different values of each person count,") for note in note_sentences(several))


# evaluation ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("domain", [None, [f"v{at}" for at in range(12)]])
@pytest.mark.parametrize("most", [1, 3])
def test_an_evaluation_compares_with_all_values_and_names_the_part_of_the_cap(domain, most):
    """Every value has 600 people; the cap leaves about 600 * most / 12 of them."""
    release = private_histogram(
        table(12), column="value", user="person", values_per_person=most, domain=domain, evaluate=True, beta=1e-9,
        **GUARANTEE,
    )  # fmt: skip
    found = release.evaluation
    assert found.covered
    assert found.occupied == 12
    uncapped = found.uncapped
    assert uncapped.shown == release.estimate.values_shown
    assert uncapped.covered == max(uncapped.shown - 12, 0)  # those that nobody has: missing and (other)
    assert uncapped.largest_error == abs(uncapped.noise_error - uncapped.cap_error) > PEOPLE / 2
    assert PEOPLE / 2 < uncapped.cap_error <= PEOPLE
    sentence = evaluation_sentence(found)
    assert "compared with the true capped counts" in sentence
    assert f"Without the cap, {uncapped.covered} of" in sentence
    assert f"-{uncapped.cap_error} from the cap" in sentence
    (_, capped), (_, true) = _true_counts(release)
    values = [label for label in release.estimate if isinstance(label, str) and label.startswith("v")]
    assert all(true[label] == PEOPLE > capped[label] for label in values)
    again = Release.from_json(release.to_json()).evaluation
    assert again == found
    assert again.uncapped == uncapped


def test_without_users_an_evaluation_has_one_truth():
    release = private_histogram(table(2), column="value", evaluate=True, **GUARANTEE)
    assert release.evaluation.uncapped is None
    assert "capped" not in evaluation_sentence(release.evaluation)
    assert [name for name, _ in _true_counts(release)] == ["true"]


@pytest.mark.slow
def test_false_positives_are_the_shown_values_that_nobody_has():
    """Every listed value is shown, also with an estimate below 0; padding bins and the marker are not values."""
    domain = [f"v{at}" for at in range(40)]
    options = {"column": "value", "user": "person", "domain": domain, "drop_missing": True, "evaluate": True}
    release = private_histogram(table(2), values_per_person=4, count_capped=True, estimator="unbiased", **GUARANTEE,
                                **options)  # fmt: skip
    found = release.evaluation
    assert release.estimate.values_shown == 41  # and (other)
    assert (found.occupied, found.found, found.false_positives) == (2, 2, 39)
    assert min(release.estimate.counts) < 0


def test_a_shown_value_that_is_in_no_true_count_is_a_false_positive():
    release = private_histogram(["a"] * 500 + ["b"] * 500, **GUARANTEE)
    truth = [TrueCounts(np.array([0]), np.array([500]))]
    found = evaluate(release.estimate, truth)
    assert (found.found, found.false_positives) == (1, 1)
    assert found.uncapped is None
    nothing = evaluate(release.estimate, [TrueCounts(np.empty(0, int), np.empty(0, int), np.empty(0, int))])
    assert (nothing.uncapped.largest_error, nothing.uncapped.shown, nothing.uncapped.covered) == (0.0, 2, 0)


def test_the_largest_error_without_the_cap_can_be_that_of_a_hidden_value():
    release = private_histogram(["a"] * 500 + ["b"] * 500, **GUARANTEE)
    hidden = [TrueCounts(np.array([0, -1]), np.array([500, 3]), np.array([520, 700]))]
    found = evaluate(release.estimate, hidden).uncapped
    assert (found.largest_error, found.cap_error, found.noise_error) == (700.0, 697, -3.0)


@pytest.mark.slow
@pytest.mark.parametrize("count", [False, True])
@pytest.mark.parametrize("options", [{"protocol": "hist"}, {"protocol": "sparse"}, {"trust": "curator"}])
def test_intervals_cover_the_capped_counts_and_not_the_others(options, count):
    """At a binding cap, with confidence 1 - 1e-8 in each of 20 releases."""
    found = simulate(table(12), column="value", user="person", values_per_person=3, count_capped=count, trials=20,
                     seed=1, beta=1e-8, **GUARANTEE, **options)  # fmt: skip
    assert found.cap == Cap(values=3, counted=count)
    assert found.covered == 1.0
    assert all(trial.uncapped.covered == 0 < trial.uncapped.shown == 12 for trial in found.trials)
    assert all(trial.false_positives == 0 for trial in found.trials)
    text = str(found)
    assert "All intervals contained the true capped counts in 20 of 20 releases" in text
    assert "Without the cap, 0 of 240 intervals of shown values hold the true count" in text
    assert CAPPED in text
    assert replace(found, cap=None).cap is None

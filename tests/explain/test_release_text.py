"""The wording of releases and protocols: one snapshot for each kind of text, rendered from records."""

import json
from dataclasses import replace

import numpy as np
import pytest

from shuffledp import Histogram, Release, private_histogram
from shuffledp.accounting.curve import Guarantee
from shuffledp.explain.protocols import describe, noise_sentence, trust_sentence
from shuffledp.explain.release import evaluation_sentence, lines, note_sentences, paragraphs, possible_values
from shuffledp.histogram.facts import NoiseFacts, NoiseKind, ProtocolFacts, Trusted
from shuffledp.protocols import CATALOGUE, Target
from shuffledp.release.notes import NoteKind
from shuffledp.release.simulate import Evaluation

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}
FACTS = ProtocolFacts(
    guarantee=Guarantee(epsilon=1.0, delta=1e-6, basis="computed exactly"),
    trusted=Trusted.SHUFFLER,
    users=2000,
    honest_users=1800,
    false_positives=False,
    noise=NoiseFacts(NoiseKind.DUMMIES, {"mean": 60.25}),
)


@pytest.fixture(scope="module")
def release():
    made = private_histogram(["a"] * 1500 + ["b"] * 500, **GUARANTEE)
    bounds = replace(made.estimate.simultaneous, low=np.array([1480, 480]), high=np.array([1530, 525]))
    bounds = replace(bounds, unreported_high=70)
    estimate = replace(made.estimate, counts=np.array([1500.0, 500.0]), simultaneous=bounds)
    return replace(made, estimate=estimate, title="Histogram (P^hist)", curator_error=47.2, error=71.5)


def test_the_answer_is_four_lines(release):
    (guarantee, error, hidden, protocol) = lines(release)
    assert guarantee.startswith("Guarantee: (1, 1e-")
    assert "-differential privacy per row (each row counts as one person); a person with 3 rows has " in guarantee
    assert error == (
        "95% confidence, all values at once: shown counts are within ±30 people; any value not shown has at most 70."
    )
    assert hidden == (
        "A value not shown has too few people to be detected, or none. A value that nobody holds is never shown."
    )
    note = "Protocol: SparseHistogram (ours), best error, the smallest error among protocols without false positives."
    assert protocol == note
    assert lines(replace(release, notes=()))[-1] == "Protocol: Histogram (P^hist)."


def test_the_detection_limit_is_given_if_every_value_is_shown():
    release = private_histogram(["a"] * 1500 + ["b"] * 500, **GUARANTEE, domain=["a", "b", "c"], estimator="unbiased")
    _, error, hidden, protocol = lines(release)
    assert error.endswith(f" people. Detection limit: {release.detection_limit} people.")
    assert hidden == (
        "Every possible value is shown, including values that nobody holds. Counts near zero may be only noise."
    )
    assert protocol.endswith(", the smallest error, of those that fit.")


@pytest.mark.slow
def test_the_guarantee_is_per_person_only_where_people_are_identified():
    rows = {"v": ["a"] * 1000, "who": list(range(1000))}
    by_row, by_person = (private_histogram(rows, column="v", **GUARANTEE, **more) for more in ({}, {"user": "who"}))
    assert (by_row.per_row, by_person.per_row) == (True, False)
    assert lines(by_person)[0].endswith("-differential privacy per person.")
    assert "The guarantee is per row: a person with several rows is protected less" in by_row.explain()
    assert "that many releases" not in by_row.explain()
    assert NoteKind.ROWS in {note.kind for note in by_row.notes}
    assert NoteKind.ONE_ROW_PER_PERSON in {note.kind for note in by_person.notes}


def test_paragraphs_of_a_release(release):
    found = paragraphs(release)
    assert list(found) == [
        "Result", "Error bounds", "Guarantee", "Trust", "Noise", "How people were counted", "Tip", "Not protected",
    ]  # fmt: skip
    assert found["Result"] == "2 values shown, for 2,000 people; any other value is possible too."
    assert found["Error bounds"] == (
        "95% confidence, all values at once: shown counts are within ±30 people (1.5% of all); any value not shown has "
        "at most 70. A value that nobody holds is never shown."
    )
    assert found["Tip"] == (
        'if you are trusted with the raw data, trust="curator" gives the same guarantee with a smaller planned error '
        "(48 "
        "instead of 72 people)."
    )
    warned = paragraphs(replace(release, warnings=("few people", "late")))
    assert warned["Warning"] == "Few people. Late."
    assert "--" not in release.explain()


def test_a_protocol_before_a_release():
    assert describe(FACTS, people=2000, error=71.5, beta=0.05).split("\n\n") == [
        f"Guarantee: {FACTS.guarantee} (computed exactly). Replacing one person's value by any other value multiplies "
        "the probability of any result by at most 2.72, plus at most 1e-6.",
        "Trust: A shuffler and other people. The guarantee holds if a shuffler mixes all messages before anyone else "
        "sees them and does not reveal who sent which message, and if at least 1,800 of the 2,000 people follow the "
        "protocol, since they make the noise.",
        "Error bounds: 95% confidence, all values at once, for any data: counts are within ±72 people (3.6% of all); a "
        "value not shown counts as 0.",
        "Noise: In this protocol, each possible value receives 60.2 dummy messages on average.",
        "Not protected: The fact that a person took part, and the number of people. Facts that hold for many people "
        "together. People who take part in several releases, unless all of them are accounted for together.",
    ]
    unbounded = describe(replace(FACTS, false_positives=True), people=2000, error=float("inf"), beta=0.05)
    assert "for any data: counts are not bounded." in unbounded


@pytest.mark.parametrize("trusted", Trusted)
def test_everyone_who_can_be_trusted_has_a_sentence(trusted):
    expected = {
        Trusted.NOBODY: "Nobody: each message",
        Trusted.SHUFFLER: "A shuffler and other people",
        Trusted.CURATOR: "The curator, who saw",
        Trusted.DATA_HOLDER: "The party that holds the data, which saw",
    }
    assert trust_sentence(replace(FACTS, trusted=trusted)).startswith(expected[trusted])


@pytest.mark.parametrize("name", [name for name, entry in CATALOGUE.items() if not entry.published])
def test_every_protocol_has_facts_about_its_noise(name):
    facts = CATALOGUE[name].make(Target(users=600, bins=4, epsilon=1.1, delta=1e-4)).facts()
    assert facts.noise.kind is not NoiseKind.OTHER
    assert noise_sentence(facts.noise).endswith(".")
    assert facts.false_positives == CATALOGUE[name].false_positives
    assert noise_sentence(NoiseFacts(NoiseKind.OTHER)) == ""


def test_who_is_trusted_depends_on_who_sampled_the_tally():
    protocol = Histogram.calibrate(users=2000, bins=4, **GUARANTEE)
    assert (protocol.facts().trusted, protocol.facts(drawn=True).trusted) == (Trusted.SHUFFLER, Trusted.DATA_HOLDER)


def test_a_stored_release_keeps_its_sentences_and_the_names_of_its_keys(release):
    evaluated = replace(
        release,
        evaluation=Evaluation(
            largest_error=12.34, covered=True, per_bin_coverage=1.0, occupied=3, found=2, false_positives=1,
            true_counts=np.array([1500, 500]),
        ),
    )  # fmt: skip
    stored = json.loads(evaluated.to_json())
    assert stored["notes"] == note_sentences(evaluated)
    assert stored["not_private_evaluation"]["phantoms"] == 1
    assert stored["surely_seen"] == evaluated.detection_limit
    again = Release.from_json(evaluated.to_json())
    assert again.notes == tuple(stored["notes"])
    assert again.evaluation == evaluated.evaluation
    assert evaluation_sentence(again.evaluation) == (
        "compared with the true counts, the largest error is 12.3 people; all intervals hold at once: yes; 2 of 3 "
        "values present are shown; 1 false positive."
    )


def test_possible_values(release):
    assert possible_values(release) == "any value of up to 8,192 bytes"
    listed = private_histogram(["a"] * 2000, **GUARANTEE, domain=["a", "b"], drop_missing=True)
    assert possible_values(listed) == "2"

"""Releases of a trusted curator: which protocol, what is said, and what the default says about it beforehand."""

import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from shuffledp import ParameterError, Release, private_histogram
from shuffledp.explain.release import curator_tip, paragraphs
from shuffledp.protocols import CATALOGUE, LaplaceHistogram, StabilityHistogram, Target
from shuffledp.release.choose import PrivacySpec, choose, curator_error
from shuffledp.release.plan import plan
from shuffledp.release.plan_rows import Reason
from shuffledp.release.simulate import simulate

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6}
PEOPLE = Counter({"apple": 900, "pear": 500, "fig": 90, "kiwi": 2})
FRUIT = ["apple", "pear", "fig", "kiwi", "plum"]


def chosen(users=10**5, bins=100, values=1, listed=True, **asked):
    target = Target(users=users, bins=bins, values_per_person=values, **GUARANTEE)
    return choose(target, PrivacySpec(**GUARANTEE, **{"trust": "curator", **asked}), beta=0.05, listed=listed)


def test_without_a_list_only_values_that_people_hold_can_be_shown():
    assert chosen(bins=2**300, listed=False).name == "stability"
    with pytest.raises(ParameterError, match="give the domain"):
        chosen(bins=2**300, listed=False, protocol="laplace")


@pytest.mark.parametrize("bins", [2, 100, 10**5])
def test_with_a_list_the_smaller_error_is_taken(bins):
    target = Target(users=10**5, bins=bins, **GUARANTEE)
    errors = {name: CATALOGUE[name].make(target).error(0.05).simultaneous for name in ("stability", "laplace")}
    choice = chosen(bins=bins)
    assert choice.protocol.error(0.05).simultaneous == min(errors.values())
    assert choice.reason is Reason.SMALLEST_ERROR


@pytest.mark.parametrize(("estimator", "name"), [("truncated", "stability"), ("unbiased", "laplace")])
def test_an_estimator_can_be_requested(estimator, name):
    assert chosen(estimator=estimator).name == name
    assert chosen(protocol=name).reason is Reason.AS_ASKED


@pytest.mark.slow
@pytest.mark.parametrize("values", [2, 4])
@pytest.mark.parametrize("listed", [True, False])
def test_a_curator_is_never_worse_than_what_messages_would_give(values, listed):
    """For several values of a person a shuffled protocol can have less noise; a curator then draws its counts."""
    asked = {"users": 10**5, "bins": 1000, "values": values, "listed": listed}
    curated, shuffled = (
        chosen(**asked, trust=trust).protocol.error(0.05).simultaneous for trust in ("curator", "shuffler")
    )
    assert curated <= shuffled


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"trust": "nobody"}, "trust must be one of shuffler, curator; got 'nobody'"),
        ({"protocol": "hist"}, "hist is of the shuffled model; with trust=curator there are stability and laplace"),
        ({"protocol": "hadamard"}, "hadamard is of the local model; with trust=curator"),
        ({"protocol": "laplac"}, "did you mean laplace"),
        ({"protocol": "laplace", "trust": "shuffler"}, "laplace is of the central model.*trust=curator"),
        ({"estimator": "smallest"}, "estimator must be truncated or unbiased"),
    ],
)
def test_what_does_not_fit_is_refused(asked, reason):
    with pytest.raises(ParameterError, match=reason):
        chosen(**asked)


@pytest.mark.parametrize(("domain", "kind"), [(None, StabilityHistogram), (FRUIT, LaplaceHistogram)])
def test_a_release_of_a_curator(domain, kind):
    release = private_histogram(PEOPLE, **GUARANTEE, trust="curator", domain=domain)
    assert isinstance(release.protocol, kind)
    assert release.privacy.delta(1.0) <= 1e-6
    assert release.estimate["apple"] == pytest.approx(900, abs=release.protocol.error(1e-6).simultaneous)
    assert (release.curator_error, release.messages) == (None, None)
    told = release.explain()
    assert "The curator, who saw every value and added the noise" in told
    assert "there were no messages and no shuffler" in told
    assert "shuffled messages" not in told
    assert "Tip" not in paragraphs(release)
    assert release.asked["trust"] == "curator"
    assert "none: the curator is given the values" in release.to_html()


@pytest.mark.parametrize("domain", [None, FRUIT])
@pytest.mark.parametrize("trust", ["shuffler", "curator"])
def test_a_release_comes_back_from_json(domain, trust):
    release = private_histogram(PEOPLE, **GUARANTEE, trust=trust, domain=domain)
    back = Release.from_json(release.to_json())
    assert back.protocol == release.protocol
    assert back.curator_error == release.curator_error
    assert back.estimate.rows() == release.estimate.rows()
    assert back.explain() == release.explain()
    earlier = json.loads(release.to_json())
    del earlier["curator_error"]
    assert Release.from_json(json.dumps(earlier)).curator_error is None


@pytest.mark.slow
@pytest.mark.parametrize("domain", [None, FRUIT])
def test_the_default_says_what_a_curator_would_give(domain):
    release = private_histogram(PEOPLE, **GUARANTEE, domain=domain)
    curated = private_histogram(PEOPLE, **GUARANTEE, domain=domain, trust="curator")
    assert release.curator_error == curated.error < release.error
    assert release.smaller_curator_error == (curated.error, release.error, False)
    tip = paragraphs(release)["Tip"]
    assert f"({math.ceil(curated.error)} instead of {math.ceil(release.error)} people)" in tip
    assert json.loads(release.to_json())["curator_error"] == curated.error


def test_where_messages_are_made_there_is_no_tip():
    release = private_histogram(PEOPLE, **GUARANTEE, domain=FRUIT, messages=True)
    assert release.curator_error is None
    assert release.smaller_curator_error is None


@pytest.mark.slow
def test_what_a_curator_would_give_does_not_depend_on_the_data():
    """Equal for any two datasets with the same number of people; it is known before any value is read."""
    people = [Counter({"a": 1000}), Counter({f"v{number}": 1 for number in range(1000)})]
    errors = {private_histogram(data, **GUARANTEE).curator_error for data in people}
    target = Target(users=1000, bins=2 ** (8 * 8192), **GUARANTEE)
    assert errors == {curator_error(target, PrivacySpec(**GUARANTEE), beta=0.05, listed=False)}


def test_a_curator_who_gains_nothing_is_not_mentioned():
    release = private_histogram(PEOPLE, **GUARANTEE)
    for curator, error in ((None, 50), (50.0, 50.0), (60.0, 50.0), (49.5, 50.0), (math.inf, math.inf)):
        assert replace(release, curator_error=curator, error=error).smaller_curator_error is None
    smaller = replace(release, curator_error=48.2, error=50.3).smaller_curator_error
    assert curator_tip(smaller, option="`--trust curator`") == (
        "if you are trusted with the raw data, `--trust curator` gives the same guarantee with a smaller planned error "
        "(49 instead of 51 people)."
    )


@pytest.mark.slow
def test_the_estimator_that_is_asked_for_is_compared():
    release = private_histogram(PEOPLE, **GUARANTEE, domain=FRUIT, estimator="truncated")
    assert (
        release.curator_error
        == private_histogram(PEOPLE, **GUARANTEE, domain=FRUIT, estimator="truncated", trust="curator").error
    )


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"trust": "curator", "messages": True, "domain": FRUIT}, "messages must be False with trust='curator'"),
        ({"trust": "everybody"}, "trust must be one of shuffler, curator"),
        ({"trust": None}, "trust must be one of"),
    ],
)
def test_wrong_trust_is_an_error_before_anything_is_read(options, reason):
    with pytest.raises(ParameterError, match=reason):
        private_histogram("no-such-file.csv", column="a", **GUARANTEE, **options)


def test_releases_of_a_curator_are_simulated():
    found = simulate(PEOPLE, **GUARANTEE, trials=60, seed=5, trust="curator", domain=FRUIT)
    assert found.title == CATALOGUE["laplace"].title
    assert found.predicted_error == chosen(users=1492, bins=6).protocol.error(0.05).simultaneous
    # a trial that is off by more has probability 0.05: 14 of 60 happen with probability 2e-7
    assert sum(trial.largest_error > found.predicted_error for trial in found.trials) < 14
    with pytest.raises(ParameterError, match="trust"):
        simulate(PEOPLE, **GUARANTEE, trials=1, seed=5, trust="me")


@pytest.mark.parametrize("bins", [100, None])
def test_a_plan_says_what_a_curator_will_use(bins):
    answer = plan(users=10**5, bins=bins, **GUARANTEE)
    choice = chosen(bins=answer.bins, listed=answer.listed)
    assert choice.name == answer.recommended_for_curator
    assert answer.row(choice.name).simultaneous == choice.protocol.error(0.05).simultaneous
    assert {row.model for row in answer.curator} == {"central"}


@pytest.mark.slow
def test_noise_of_a_curator_is_fresh():
    counts = {tuple(private_histogram(PEOPLE, **GUARANTEE, trust="curator").estimate.counts) for _ in range(5)}
    assert len(counts) > 1
    assert np.isfinite([count for release in counts for count in release]).all()

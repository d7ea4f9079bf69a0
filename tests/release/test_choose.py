"""Which protocol a release uses, and that each one considered is calibrated once."""

import math
from collections import Counter

import pytest

from shuffledp import ParameterError, TooFewUsersError, private_histogram
from shuffledp.accounting import calibration
from shuffledp.data.people import EVERYTHING
from shuffledp.protocols import CATALOGUE, Target
from shuffledp.protocols.shuffled.sparse_noise import NoiseSearch
from shuffledp.release.choose import PrivacySpec, choose
from shuffledp.release.plan import plan_for
from shuffledp.release.plan_rows import Reason

TARGET = Target(users=2000, bins=3, epsilon=1.0, delta=1e-6)


def chosen(target=TARGET, *, listed=True, practical_messages=math.inf, **asked):
    """The choice where messages are made, if a number of them is practical, or else where none are."""
    makes = math.isfinite(practical_messages)
    spec = PrivacySpec(epsilon=target.epsilon, delta=target.delta, messages=makes, **asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shuffledp.release.choose.PRACTICAL_MESSAGES", practical_messages)
        return choose(target, spec, beta=0.05, listed=listed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "estimator", "name"),
    [
        ("hist", None, "hist"),
        ("hist", "truncated", "hist"),
        ("hist", "unbiased", "hist-unbiased"),
        ("hist-unbiased", None, "hist-unbiased"),
        ("sparse", None, "sparse"),
        ("sparse-best", "truncated", "sparse-best"),
        ("dummy", "unbiased", "dummy"),
        ("public-coin", "smallest", "public-coin"),
        ("blanket", None, "blanket"),
    ],
)
def test_what_is_asked_for_is_taken(protocol, estimator, name):
    choice = chosen(protocol=protocol, estimator=estimator)
    assert (choice.name, choice.reason) == (name, Reason.AS_ASKED)
    assert choice.protocol == CATALOGUE[name].make(TARGET) or name == "public-coin"  # whose coin is fresh


def test_advice_is_what_the_planner_says():
    choice = chosen()
    assert choice.protocol.error(0.05).simultaneous == min(
        entry.make(TARGET).error(0.05).simultaneous for entry in CATALOGUE.values() if entry.advised
    )
    assert (choice.reason, choice.limited) == (Reason.SMALLEST_ERROR, False)


def test_where_values_are_not_listed_nothing_is_invented():
    choice = chosen(Target(users=2000, bins=2**300, epsilon=1, delta=1e-6), listed=False)
    assert not choice.protocol.estimator.false_positives
    with pytest.raises(ParameterError, match="give the domain"):
        chosen(protocol="dummy", listed=False)


def test_an_estimator_can_be_requested_alone():
    assert chosen(estimator="truncated").protocol.estimator.name == "truncated"
    assert chosen(estimator="truncated").limited
    assert not chosen().limited


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"protocol": "histogram"}, "protocol must be one of .*hist"),
        ({"protocol": "hadamard"}, "hadamard is of the local model, which compare measures; .* hist, .*sparse"),
        ({"protocol": "laplace"}, "laplace is of the central model, which compare measures"),
        ({"protocol": "dummy", "estimator": "truncated"}, "estimator must be unbiased for dummy, got 'truncated'"),
        ({"protocol": "sparse", "estimator": "unbiased"}, "estimator must be truncated for sparse"),
        ({"estimator": "best"}, "estimator must be truncated or unbiased, got 'best'"),
    ],
)
def test_what_does_not_exist_is_refused(asked, reason):
    with pytest.raises(ParameterError, match=reason):
        chosen(**asked)


def test_published_parameters_are_not_exchanged_for_others():
    with pytest.raises(ParameterError, match="estimator must be truncated for hist-published"):
        chosen(protocol="hist-published", estimator="unbiased")


def test_messages_decide_between_equal_errors():
    target = Target(users=10**6, bins=10**5, epsilon=1.0, delta=1e-6)
    choice = chosen(target, estimator="truncated", practical_messages=1000.0)
    assert choice.protocol.messages_per_user.expected < 1000


def test_hashed_values_are_chosen_only_where_all_values_can_be_counted():
    """More values could be looked up, but a release shows all of them."""
    question = {"users": 10**5, "epsilon": 1.0, "delta": 1e-6}
    most = chosen(Target(bins=2**26, **question), practical_messages=1000)
    assert (most.name, most.reason) == ("hashed", Reason.FEW_MESSAGES)
    with pytest.raises(ParameterError, match="every protocol sends more than 1,000 messages"):
        chosen(Target(bins=2**26 + 1, **question), practical_messages=1000)


def test_too_few_people_are_an_error_that_says_how_many():
    with pytest.raises(TooFewUsersError, match="users must be at least 148 for DummyHistogram, got 50"):
        chosen(Target(users=50, bins=3, epsilon=1, delta=1e-6), estimator="unbiased")


@pytest.mark.slow
def test_a_release_calibrates_each_protocol_once(monkeypatch):
    """hist, its unbiased estimator and dummy share one calibration; both sparse ones are searched for once each."""
    calls = Counter()
    searched, smallest = NoiseSearch.excess, calibration.smallest_probability

    def counted(curve_of, **question):
        calls["binomial", tuple(question.items())] += 1
        return smallest(curve_of, **question)

    def distributions(self, distributions):
        calls["sparse", distributions] += 1
        return searched(self, distributions)

    monkeypatch.setattr(calibration, "smallest_probability", counted)
    monkeypatch.setattr(NoiseSearch, "excess", distributions)
    calibration.moved_bins_probability.cache_clear()
    NoiseSearch.at.cache_clear()
    release = private_histogram(["a"] * 1500 + ["b"] * 437, epsilon=0.83, delta=1e-6, domain=["a", "b"])
    assert release.title == release.notes[0].facts["title"]
    assert [times for kind, times in calls.items() if kind[0] == "binomial"] == [1]
    assert {times for kind, times in calls.items() if kind[0] == "sparse"} == {1}


@pytest.mark.slow
@pytest.mark.parametrize("practical", [math.inf, 1000.0, 6.0])
@pytest.mark.parametrize(
    ("users", "bits", "listed"),
    [(10**6, 17, True), (2000, 1, True), (1000, 12, True), (60, 2, True), (10**5, 70, False), (10**5, 65536, False)],
)
def test_a_plan_says_what_a_release_will_use(users, bits, listed, practical):
    """One decision for the same numbers, and for the same reason."""
    target = Target(users=users, bins=2**bits, epsilon=1, delta=1e-6)
    advice = plan_for(target, beta=0.05, practical_messages=practical)
    if math.isinf(practical):
        told = (advice.recommended, advice.reason)
        assert told == (advice.recommended_for_held_data, advice.reason_for_held_data)
    if advice.recommended is None:
        assert advice.reason is Reason.TOO_MANY_MESSAGES
        with pytest.raises(ParameterError, match=f"every protocol sends more than {practical:,.4g} messages"):
            chosen(target, listed=listed, practical_messages=practical)
    else:
        choice = chosen(target, listed=listed, practical_messages=practical)
        assert choice.name == advice.recommended
        assert choice.protocol.messages_per_user.expected <= practical


@pytest.mark.slow
def test_an_unlisted_release_is_planned_by_any_large_number_of_values():
    """Which of them is taken does not depend on how large the universe is."""
    plans = [plan_for(Target(users=2 * 10**5, bins=bins, epsilon=1, delta=1e-6), beta=0.05, practical_messages=1000)
             for bins in (2**20, 2**70, 2**1025, EVERYTHING)]  # fmt: skip
    assert len({plan.recommended_for_held_data for plan in plans}) == 1


@pytest.mark.parametrize(("wrong", "meant"), [("histogram", "hist"), ("sparse_best", "sparse-best")])
def test_a_misspelt_name_is_guessed(wrong, meant):
    with pytest.raises(ParameterError, match=rf"got '{wrong}': did you mean {meant}\?$"):
        chosen(protocol=wrong)
    with pytest.raises(ParameterError, match=r"got 'xyz'$"):
        chosen(protocol="xyz")

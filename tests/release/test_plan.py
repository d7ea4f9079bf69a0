"""The planner: its rows are what the protocols say, its advice follows its rules, its inverses invert."""

import pytest

from shuffledp import DummyHistogram, Histogram, ParameterError, SparseHistogram, plan
from shuffledp.explain.plan import reasons, recommendation
from shuffledp.protocols import CATALOGUE, HashedHistogram, LaplaceHistogram, StabilityHistogram
from shuffledp.release.plan import epsilon_needed, most_bins, users_needed
from shuffledp.release.plan_rows import FEWER, Problem, Reason

ADVISED = [name for name, entry in CATALOGUE.items() if entry.advised]
ASKED = {"users": 10**5, "bins": 10**4, "epsilon": 1.0, "delta": 1e-6}


def test_rows_are_what_the_protocols_say():
    answer = plan(**ASKED)
    for name, protocol in (
        ("hist", Histogram.calibrate(**ASKED)),
        ("hist-unbiased", Histogram.calibrate(**ASKED, truncated=False)),
        ("sparse", SparseHistogram.calibrate(**ASKED)),
        ("dummy", DummyHistogram.calibrate(**ASKED)),
        ("hashed", HashedHistogram.calibrate(**ASKED)),
    ):
        row, error = answer.row(name), protocol.error(0.05)
        assert answer.protocols[name] == protocol
        assert (row.simultaneous, row.per_bin) == (error.simultaneous, error.per_bin)
        assert row.simultaneous_share == error.simultaneous / 10**5
        assert (row.messages, row.most_messages) == protocol.messages_per_user
        assert row.bytes_per_person == pytest.approx(row.messages * protocol.bits_per_message / 8)
        assert row.false_positive_bins == protocol.estimator.false_positives
    assert {row.name for row in answer.rows} == {*ADVISED, FEWER}
    assert answer.row("sparse-best").simultaneous < answer.row("sparse").simultaneous


def test_honest_users_make_more_noise():
    assert plan(**ASKED, honest_users=50_000).row("sparse").simultaneous > plan(**ASKED).row("sparse").simultaneous


def test_impossible_protocols_say_what_they_need():
    answer = plan(**{**ASKED, "users": 100, "bins": 20})
    hist = answer.row("hist")
    assert (hist.problem, hist.needed_users) == (Problem.TOO_FEW_USERS, 148)
    assert not answer.row("sparse").problem
    assert answer.recommended.startswith("sparse")


@pytest.mark.slow
def test_honest_users_count_everywhere():
    """If the table misses a target, it does not claim to need less than the request."""
    honest = {"users": 10**6, "bins": 10**4, "delta": 1e-6, "honest_users": 2 * 10**5}
    assert epsilon_needed("dummy", error=60, **honest) > 1
    assert plan(epsilon=1, **honest).row("dummy").simultaneous > 60
    alone = users_needed("sparse", share=1e-3, bins=100, epsilon=1, delta=1e-6)
    assert users_needed("sparse", share=1e-3, bins=100, epsilon=1, delta=1e-6, honest_share=0.5) > 1.5 * alone
    assert most_bins("sparse", messages=9, users=10**6, epsilon=1, delta=1e-6, honest_users=5 * 10**5) < most_bins(
        "sparse", messages=9, users=10**6, epsilon=1, delta=1e-6
    )


def test_a_useless_result_is_called_so():
    (line,) = recommendation(plan(users=60, bins=10, epsilon=1, delta=1e-6))
    assert line.endswith("This error says little: more people are needed.")


@pytest.mark.parametrize("users", [1, 2, 5])
def test_very_few_people(users):
    assert len(plan(users=users, bins=1, epsilon=1, delta=1e-6).rows) == len(ADVISED) + 1


def test_advice():
    dense = plan(users=10**6, bins=1000, epsilon=1, delta=1e-6)
    assert dense.recommended == min(dense.rows, key=lambda r: (r.simultaneous, r.messages)).name
    empty = plan(users=10**5, bins=3 * 10**5, epsilon=1, delta=1e-6)
    assert empty.recommended == "sparse"
    assert empty.reason is Reason.FEWEST_MESSAGES_NO_FALSE_POSITIVES
    huge = plan(users=10**5, bins=2**64, epsilon=1, delta=1e-6)
    assert huge.recommended is None
    assert huge.reason is Reason.TOO_MANY_MESSAGES


@pytest.mark.slow
def test_counts_above_the_detection_limit_are_shown():
    answer = plan(**ASKED).row("sparse")
    protocol = SparseHistogram.calibrate(**ASKED)
    count = int(answer.detection_limit)
    many = 10**5 // count
    counts = dict.fromkeys(range(many), count) | {many: 10**5 - many * count}
    missed = sum(
        any(j not in estimate for j in range(many))
        for estimate in (protocol.estimate(protocol.sample_tally(counts)) for _ in range(200))
    )
    assert missed <= 0.05 * 200 + 12  # four standard deviations above beta


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hist", "sparse", "dummy"])
def test_users_needed_is_the_smallest_number(name):
    question = {"bins": 1000, "epsilon": 1.0, "delta": 1e-6}
    users = users_needed(name, share=0.002, **question)

    def share(n):
        return plan(users=n, **question).row(name).simultaneous_share

    assert share(users) <= 0.002 < share(users - 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hist", "sparse", "dummy"])
def test_epsilon_needed_is_nearly_the_smallest(name):
    question = {"users": 10**5, "bins": 1000, "delta": 1e-6}
    epsilon = epsilon_needed(name, error=90, **question)
    assert plan(epsilon=epsilon, **question).row(name).simultaneous <= 90
    assert plan(epsilon=0.97 * epsilon, **question).row(name).simultaneous > 90


def test_most_bins_fill_the_budget():
    bins = most_bins("sparse", messages=10, users=10**6, epsilon=1, delta=1e-6)
    assert plan(users=10**6, bins=bins, epsilon=1, delta=1e-6).row("sparse").messages <= 10
    assert plan(users=10**6, bins=bins + 100, epsilon=1, delta=1e-6).row("sparse").messages > 10


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: plan(users=0, bins=2, epsilon=1, delta=1e-6), "users"),
        (lambda: plan(users=10, bins=2, epsilon=1, delta=1e-6, beta=2), "beta"),
        (lambda: users_needed("best", share=0.1, bins=2, epsilon=1, delta=1e-6), "protocol must be one of"),
        (lambda: users_needed("hist", share=2, bins=2, epsilon=1, delta=1e-6), "share"),
        (lambda: users_needed("hist", share=1e-15, bins=2, epsilon=1, delta=1e-6), "more than"),
        (lambda: epsilon_needed("hist", error=2, users=1000, bins=5, delta=1e-6), "not possible"),
        (lambda: most_bins("hist", messages=1, users=1000, epsilon=1, delta=1e-6), "too few for any bin"),
    ],
)
def test_bad_questions(call, reason):
    with pytest.raises(ParameterError, match=reason):
        call()


SETS = {"users": 10**5, "bins": 500, "epsilon": 1.0, "delta": 1e-6, "values_per_person": 3}


@pytest.mark.slow
def test_rows_for_several_values_are_what_the_protocols_say():
    answer = plan(**SETS, earlier=True)
    for name, protocol in (
        ("hist", Histogram.calibrate(**SETS)),
        ("dummy", DummyHistogram.calibrate(**SETS)),
        ("laplace", LaplaceHistogram.calibrate(**SETS)),
        ("stability", StabilityHistogram.calibrate(**SETS)),
    ):
        row = answer.row(name)
        assert answer.protocols[name] == protocol
        assert (row.simultaneous, row.messages) == (
            protocol.error(0.05).simultaneous,
            protocol.messages_per_user.expected,
        )
    assert answer.values_per_person == 3
    for row in answer.rows:
        assert bool(row.problem) == (row.name not in {*ADVISED, FEWER})  # earlier ones count one value
        assert not row.problem or "exactly one value of each person" in row.detail


@pytest.mark.slow
def test_people_and_epsilon_needed_for_several_values():
    question = {"bins": 500, "delta": 1e-6, "values_per_person": 3}
    users = users_needed("dummy", share=0.005, epsilon=1.0, **question)
    shares = [plan(users=n, epsilon=1.0, **question).row("dummy").simultaneous_share for n in (users, users - 1)]
    assert shares[0] <= 0.005 < shares[1]
    assert users > users_needed("dummy", share=0.005, epsilon=1.0, bins=500, delta=1e-6)
    epsilon = epsilon_needed("dummy", error=60, users=10**5, **question)
    assert plan(users=10**5, epsilon=epsilon, **question).row("dummy").simultaneous <= 60


@pytest.mark.parametrize("kind", [DummyHistogram, Histogram])
def test_most_values_for_people_who_hold_several(kind):
    question = {"users": 10**6, "epsilon": 1.0, "delta": 1e-6, "values_per_person": 3}
    name = "dummy" if kind is DummyHistogram else "hist"
    bins = most_bins(name, messages=40, **question)
    found = [kind.calibrate(bins=number, **question).messages_per_user.expected for number in (bins, bins + 10)]
    assert found[0] <= 40 < found[1]
    with pytest.raises(ParameterError, match="too few for any bin"):
        most_bins(name, messages=3, **question)


def test_what_a_curator_would_give_stands_beside():
    answer = plan(**ASKED)
    assert [row.name for row in answer.curator] == ["stability", "laplace"]
    assert {row.model for row in answer.rows} == {"shuffled"}
    best = min(answer.curator, key=lambda row: row.simultaneous)
    assert answer.recommended_for_curator == best.name
    assert best.simultaneous < answer.row(answer.recommended_for_held_data).simultaneous


@pytest.mark.parametrize("earlier", [False, True])
def test_without_a_list_what_shows_every_value_is_not_possible(earlier):
    answer = plan(users=10**5, bins=None, epsilon=1, delta=1e-6, earlier=earlier)
    for row in (*answer.rows, *answer.curator):
        assert (row.problem is Problem.NEEDS_LIST) == row.false_positive_bins
    assert not answer.listed
    assert (answer.recommended, answer.recommended_for_curator) == (None, "stability")
    assert not answer.row(answer.recommended_for_held_data).false_positive_bins


@pytest.mark.parametrize("most", [4.0, 12.0, 20.0, 100.0, 1000.0])
@pytest.mark.parametrize(("users", "bins"), [(10**6, 10**6), (10**5, 10**6), (10**5, 2**30), (1000, 100)])
def test_messages_that_are_allowed_limit_the_advice_everywhere(users, bins, most):
    answer = plan(users=users, bins=bins, epsilon=1, delta=1e-6, practical_messages=most)
    if answer.recommended is None:
        assert all(row.problem or row.messages > most for row in answer.rows)
    else:
        assert answer.row(answer.recommended).messages <= most
    assert answer.recommended_for_held_data is not None  # nobody sends anything there


@pytest.mark.slow
def test_hashed_values_are_recommended_where_messages_matter():
    crowd = {"users": 10**6, "epsilon": 1.0, "delta": 1e-6}
    same = plan(**crowd, bins=10**6)  # dummy would send 44
    assert (same.recommended, same.reason) == ("hashed", Reason.FEW_MESSAGES)
    assert same.recommended_for_held_data == "dummy"
    hashed, dummy = same.row("hashed"), same.row("dummy")
    assert hashed.messages == pytest.approx(5, rel=1e-3)
    assert hashed.simultaneous == pytest.approx(43.8, rel=0.01)
    assert hashed.bytes_per_person < dummy.bytes_per_person / 3
    many = plan(users=10**5, bins=10**6, epsilon=1, delta=1e-6)  # sparse would send 1,452, dummy 428
    assert many.recommended == "hashed"
    assert "most of the 1,000,000 possible values are held by nobody" in reasons(many)["reason"]
    assert plan(**crowd, bins=1000).recommended == "dummy"  # which sends hardly more than a person's value
    assert plan(**crowd, bins=4 * 10**5).recommended == "dummy"  # fewer messages, but not fewer bytes: 18 of 19 bits
    several = plan(**crowd, bins=10**6, practical_messages=20, values_per_person=2)
    assert several.recommended == "hashed"
    assert several.row("hashed").messages == pytest.approx(10, rel=1e-3)


@pytest.mark.parametrize("most", [1.2, 2.0, 3.0, 4.99])
def test_fewer_dummies_keep_a_limit_on_messages(most):
    answer = plan(users=10**6, bins=10**6, epsilon=1, delta=1e-6, practical_messages=most)
    row = answer.row("hashed")
    assert answer.recommended == "hashed"
    assert 1 + 0.98 * (most - 1) < row.messages <= most
    assert answer.protocols["hashed"].messages_per_user.expected == row.messages
    dummies = row.messages - 1
    assert answer.protocols["hashed"].estimator.variance() == pytest.approx(42.66 * (1 + 1 / dummies), rel=0.01)


def test_no_hashed_values_without_a_list_or_with_too_many_values():
    assert plan(users=10**6, bins=None, epsilon=1, delta=1e-6).row("hashed").problem is Problem.NEEDS_LIST
    huge = plan(users=10**6, bins=2**63, epsilon=1, delta=1e-6).row("hashed")
    assert huge.problem is Problem.NOT_POSSIBLE
    assert "values must be 1 to" in huge.detail

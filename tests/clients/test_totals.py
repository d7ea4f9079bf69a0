"""The total of many answers in the JavaScript client: never below the truth, and equal to the Python package."""

import json
import shutil
from fractions import Fraction

import pytest
from scripts.budget_vectors import computed, total_of

from shuffledp.collect.task.public_file import exact_text
from shuffledp.noise import Binomial
from shuffledp.noise.compound_poisson import SIZE_GRID
from tests.accounting.test_total import exact_delta
from tests.clients.running import VECTORS, failed, in_node
from tests.clients.scripts import CLIENT
from tests.node import run_node

EPSILONS = ("0", "0.1", "0.7", "1.5", "4")


def totals(vectors):
    """Return what the client computes for each list of spendings."""
    script = CLIENT.joinpath("test", "totals.mjs")
    return json.loads(run_node(str(script), given=json.dumps(vectors).encode()))


def coins(trials, probability, **fields):
    """Return the record of an answer with binomial noise."""
    return {
        "question": "Which one?",
        "day": "2026-11-18",
        "protocol": {"name": "hist", "parameters": {"missing_probability": exact_text(probability)}},
        "guarantee": {"epsilon": "1", "delta": "1e-6"},
        "users": max(2, trials),
        "honest_users": trials,
        "values": 4,
        "values_per_person": 1,
        "most_messages": 100,
        **fields,
    }


def answers(*answered, limit=("1", "1e-6")):
    """Return spendings with their numbers, as in the vectors."""
    return {
        "name": "these answers",
        "spendings": [{"spending": spending, "times": times} for spending, times in answered],
        "delta_at": dict.fromkeys(EPSILONS),
        "epsilon_at": {"1e-6": None},
        "by_results": {"limit": list(limit)},
    }


SMALL = [
    [(4, 0.25, 1), (3, 0.5, 1)],
    [(4, 0.25, 2), (2, 0.375, 1)],
    [(5, 30 / 64, 1), (3, 0.5, 1), (2, 0.375, 1)],
    [(3, 0.25, 3)],
]


@pytest.mark.slow
def test_totals_are_never_below_all_outcomes_in_fractions():
    found = totals([answers(*[(coins(n, p), times) for n, p, times in chosen]) for chosen in SMALL])
    for chosen, total in zip(SMALL, found, strict=True):
        noises = [Binomial(trials=n, probability=p) for n, p, times in chosen for _ in range(times)]
        for epsilon, delta in total["delta_at"].items():
            truth = exact_delta(noises, float(epsilon))
            assert truth <= Fraction(delta) <= truth * Fraction(101, 100)


@pytest.mark.slow
def test_an_answer_that_is_added_last_counts():
    """Totals before and after an answer share their work; in one process, with numbers and noises that change."""
    chosen = [
        [(4, 0.25, 1), (3, 0.5, 1), (2, 0.375, 1)],
        [(4, 0.25, 2), (3, 0.5, 1), (2, 0.375, 1)],
        [(4, 0.25, 1), (3, 0.5, 1), (3, 0.5, 1)],
        [(4, 0.25, 3), (4, 0.25, 1)],
        [(3, 0.5, 2), (2, 0.375, 1)],
    ]
    found = totals([{**answers(*[(coins(n, p), times) for n, p, times in each]), "last": 1} for each in chosen])
    for each, total in zip(chosen, found, strict=True):
        noises = [Binomial(trials=n, probability=p) for n, p, times in each for _ in range(times)]
        for epsilon, delta in total["delta_at"].items():
            truth = exact_delta(noises, float(epsilon))
            assert truth <= Fraction(delta) <= truth * Fraction(101, 100)


@pytest.mark.slow
def test_more_answers_never_lower_the_total():
    one = coins(40_000, 0.25)
    found = totals([answers((one, number), (coins(30_000, 0.5), 1)) for number in range(1, 20)])
    for epsilon in EPSILONS[:3]:
        deltas = [total["delta_at"][epsilon] for total in found]
        assert deltas == sorted(deltas)
        assert len(set(deltas)) == len(deltas)


@pytest.mark.slow
def test_limits_that_people_exceed_raise_the_total():
    """The probability that some person samples again is the same in each answer, and their product counts."""
    dummies = {"dummies": {"rate": "40", "size_weights": [SIZE_GRID]}}
    free_one = coins(20, 0.5, values=12, protocol={"name": "dummy-poisson", "parameters": dummies}, most_messages=200)
    likely = {**free_one, "most_messages": 42}
    unlimited, limited = totals([answers((free_one, 3)), answers((likely, 3))])
    ratios = {limited["delta_at"][at] / unlimited["delta_at"][at] for at in EPSILONS[:3]}
    assert max(ratios) == pytest.approx(min(ratios), rel=1e-9)
    assert max(ratios) > 1.1
    (alone,) = totals([answers((likely, 1))])
    (free,) = totals([answers((free_one, 1))])
    assert max(ratios) == pytest.approx((alone["delta_at"]["0"] / free["delta_at"]["0"]) ** 3, rel=1e-9)


@pytest.mark.slow
def test_python_and_javascript_agree_on_limits_that_people_exceed():
    """Padded reports add e^epsilon times the probability of sampling again; the others do not."""
    half = SIZE_GRID // 2
    clusters = {"rate": "30", "size_weights": [half, half]}
    sparse = {"name": "sparse", "parameters": {"pairs": clusters, "lone": clusters}}
    single = {"name": "dummy-poisson", "parameters": {"dummies": {"rate": "60", "size_weights": [SIZE_GRID]}}}
    cases = [
        answers((coins(3000, 0.25, values=40, most_messages=most), times), limit=("3", "1e-3"))
        for most, times in ((36, 1), (37, 3), (38, 2), (39, 5), (41, 2))
    ]
    cases += [
        answers((coins(500, 0.5, protocol=noise, most_messages=most), 2), limit=("3", "1e-3"))
        for noise in (sparse, single)
        for most in (8, 10, 14, 18)
    ]
    for case, found in zip(cases, totals(cases), strict=True):
        expected = computed(case)
        assert found["epsilon_at"]["1e-6"] == pytest.approx(expected["epsilon_at"]["1e-6"], rel=1e-8), case
        assert found["reached"] == pytest.approx(expected["by_results"]["reached"], rel=1e-9), case
        total, cost = total_of((each["spending"], each["times"]) for each in case["spendings"])
        for epsilon in EPSILONS:
            assert found["delta_at"][epsilon] == pytest.approx(cost.delta(total.delta, float(epsilon)), rel=1e-9), case
        assert (cost.hidden > 0) == (case["spendings"][0]["spending"]["protocol"] != single and cost.kept < 1)


@pytest.mark.slow
def test_a_wrong_expectation_fails(tmp_path):
    """The negative control: with one wrong figure in each of three totals, exactly those checks fail."""
    folder = tmp_path / "vectors"
    shutil.copytree(VECTORS, folder)
    vectors = json.loads((folder / "budgets.json").read_text(encoding="utf-8"))
    by_name = {vector["name"]: vector for vector in vectors}
    by_name["365 daily rounds"]["delta_at"]["0.25"] *= 1 + 1e-8
    by_name["52 weekly rounds"]["epsilon_at"]["1e-6"] *= 1 - 1e-8
    by_name["20 different tasks"]["by_results"]["reached"] *= 1 + 1e-8
    (folder / "budgets.json").write_text(json.dumps(vectors), encoding="utf-8")
    wrong = {f"budgets.json: {name}" for name in ("365 daily rounds", "52 weekly rounds", "20 different tasks")}
    assert set(failed(in_node("budgets.js", folder))) == wrong


@pytest.mark.slow
def test_python_and_javascript_compute_the_same_for_other_limits():
    cases = [
        answers((coins(4000, 0.25), 3), (coins(900, 0.5, values_per_person=2), 2), limit=limit)
        for limit in (("0.5", "1e-9"), ("3", "1e-5"), ("10", "0.01"))
    ]
    for case, found in zip(cases, totals(cases), strict=True):
        assert found["reached"] == pytest.approx(computed(case)["by_results"]["reached"], rel=1e-9)

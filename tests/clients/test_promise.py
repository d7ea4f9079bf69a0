"""The privacy curve of the JavaScript client: never below the truth, and equal to the Python package."""

import json
import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from scripts.promise_vectors import computed, protocol_of

from shuffledp.accounting.rounding import PRIVACY_LOSS
from shuffledp.collect.task.guarantee import CODECS
from shuffledp.collect.task.public_file import decimal_text, exact_text, read_exact
from shuffledp.noise import Binomial
from shuffledp.noise.binomial import round_up_to_grid
from shuffledp.noise.compound_poisson import SIZE_GRID, gamma_sizes
from shuffledp.protocols.shuffled_histogram import chance_of_more
from tests.clients.scripts import CLIENT
from tests.collect.test_vectors import read
from tests.node import run_node
from tests.oracles.exact import assert_tight_upper_bound, distribution_table, exact_exp, high_precision_delta

NAMES = {"binomial": ("hist", "hist-unbiased", "dummy"), "clusters": ("sparse", "sparse-best")}


def asked(name, noise, *, users, honest=None, values=5, most=50, claim=("1", "1e-6"), epsilons=(1.0,)):
    """Return a claim as in the vectors."""
    return {
        "protocol": {"name": name, "parameters": noise},
        "users": users,
        "honest_users": honest or users,
        "values": values,
        "guarantee": {"epsilon": claim[0], "delta": claim[1]},
        "most_messages": most,
        "epsilons": list(epsilons),
    }


def coins(probability, *, name="hist", **rest):
    field = "dummy_probability" if name == "dummy" else "missing_probability"
    return asked(name, {field: exact_text(probability)}, **rest)


def cluster_distribution(rate, weights):
    return {"rate": exact_text(rate), "size_weights": list(weights)}


def poisson(rate, **rest):
    return asked("dummy-poisson", {"dummies": cluster_distribution(rate, [SIZE_GRID])}, **rest)


def hashed(rate, *, levels=1, buckets=1009, **rest):
    """Return a claim of hashed values, of texts if there are several levels."""
    noise = {"buckets": buckets, "dummies": cluster_distribution(rate, [SIZE_GRID])}
    return asked("hashed", noise, **rest) | ({"levels": levels, "pieces": 5} if levels > 1 else {})


def clusters(pairs, lone, *, name="sparse", **rest):
    return asked(name, {"pairs": cluster_distribution(*pairs), "lone": cluster_distribution(*lone)}, **rest)


def in_node(promises):
    """Return what the client computes for each case."""
    script = CLIENT.joinpath("test", "deltas.mjs")
    return json.loads(run_node(str(script), given=json.dumps(promises).encode()))


def moved(distribution, epsilon):
    """Return delta of two counts that move in opposite directions, over all outcomes, in fractions."""
    bound = exact_exp(epsilon)
    table = {k: Fraction(0) for k in range(-2, len(distribution) + 2)} | distribution
    outcomes = product(range(len(distribution) + 1), range(-1, len(distribution)))
    return sum(max(table[k] * table[m] - bound * table[k - 1] * table[m + 1], Fraction(0)) for k, m in outcomes)


@pytest.mark.slow
def test_coins_are_never_below_all_outcomes_in_fractions():
    cases = [
        coins(p, users=users, honest=honest, epsilons=[0.0, 0.01, 0.7, 1.9, 6.0], name=name)
        for users, honest in ((2, 2), (2, 1), (3, 3), (9, 5), (12, 11))
        for p, name in zip((0.5, 0.25, round_up_to_grid(0.1)), NAMES["binomial"], strict=True)
    ]
    for case, found in zip(cases, in_node(cases), strict=True):
        (probability,) = case["protocol"]["parameters"].values()
        noise = Binomial(trials=case["honest_users"], probability=read_exact(probability, name="probability"))
        assert found["exact"]
        for epsilon, delta in zip(case["epsilons"], found["deltas"], strict=True):
            assert_tight_upper_bound(delta, min(Fraction(1), moved(distribution_table(noise), epsilon)))


@pytest.mark.slow
def test_margins_are_more_than_twice_the_rounding():
    """Compared with 40 digits, rounding uses less than half of the margin."""
    sizes = [(10**6, 42.65, 1.0), (10**6, 2648.1, 0.1), (10**9, 1535.0, 0.01), (10**9, 1535.0, 0.2), (300, 150.0, 0.8)]
    rates = [(42.65, 1.0), (2641.2, 0.1), (9000.0, 0.05), (11.0, 3.0)]
    cases = [coins(round_up_to_grid(mean / users), users=users, epsilons=[e]) for users, mean, e in sizes]
    cases += [poisson(rate, users=10**6, epsilons=[e]) for rate, e in rates]
    for case, found in zip(cases, in_node(cases), strict=True):
        noise = protocol_of(case, case["guarantee"]).noise
        truth = high_precision_delta(noise.window, ratio_of(noise), case["epsilons"][0])
        (delta,) = found["deltas"]
        assert mpmath.mpf(delta) >= truth * (1 + mpmath.mpf(PRIVACY_LOSS) / 2)
        assert delta == pytest.approx(float(truth), rel=1e-9)


def ratio_of(noise):
    """Return F(k) / f(k - 1) with the requested digits."""
    if isinstance(noise, Binomial):
        return lambda k: (
            mpmath.mpf(noise.probability) / (1 - mpmath.mpf(noise.probability)) * (noise.trials - k + 1) / k
        )
    return lambda k: mpmath.mpf(noise.rate) / k


def probabilities(rate, weights, size):
    """Return a compound Poisson distribution by its definition: the number of clusters, and the sum of their sizes."""
    total, chance, sizes = np.zeros(size), math.exp(-rate), np.array([0, *weights]) / SIZE_GRID
    together = np.eye(1, size)[0]
    for number in range(1, 200):
        total += chance * together
        together = np.convolve(together, sizes)[:size]
        chance *= rate / number
    return total


@pytest.mark.slow
def test_clusters_are_never_below_all_outcomes():
    """The exact delta of four counts over all outcomes; the client's bound is above it by less than a thousandth."""
    half, size, epsilons = SIZE_GRID // 2, 36, (0.3, 1.0, 2.5)
    distributions = [
        ((4.0, (half, half)), (6.0, (SIZE_GRID,))),
        ((3.0, (half, 0, half)), (5.0, (half // 2, half + half // 2))),
        ((5.0, (SIZE_GRID,)), (5.0, (SIZE_GRID,))),
    ]
    cases = [
        clusters(pairs, lone, users=9, honest=6, claim=("1", "1e-5"), epsilons=epsilons, name=name)
        for pairs, lone in distributions
        for name in NAMES["clusters"]
    ]
    for case, found in zip(cases, in_node(cases), strict=True):
        noise = case["protocol"]["parameters"]
        outcomes = [np.ones(1), np.ones(1)]
        for one in (noise["pairs"], noise["lone"]):
            pmf = probabilities(
                float(Fraction(read_exact(one["rate"], name="rate")) * 6 / 9), one["size_weights"], size
            )
            before, after = np.append(0.0, pmf), np.append(pmf, 0.0)
            for order in ((before, after), (after, before)):
                outcomes = [np.multiply.outer(part, by).ravel() for part, by in zip(outcomes, order, strict=True)]
        for epsilon, delta in zip(epsilons, found["deltas"], strict=True):
            truth = float(np.maximum(outcomes[0] - math.exp(epsilon) * outcomes[1], 0).sum())
            assert truth * (1 - 1e-12) <= delta <= truth * 1.001
        assert not found["exact"]


def test_one_hashed_value_has_the_curve_of_dummies():
    """For one value, the number of consistent messages is that of a bin with Poisson dummies."""
    epsilons = (0.0, 0.1, 1.0, 3.0)
    cases = [
        make(rate, users=1000, honest=700, epsilons=epsilons) for rate in (0.1, 7.0, 60.0) for make in (poisson, hashed)
    ]
    found = in_node(cases)
    assert [each["deltas"] for each in found[::2]] == [each["deltas"] for each in found[1::2]]
    assert [each["exact"] for each in found] == [True, False] * 3


@pytest.mark.slow
@pytest.mark.parametrize(("levels", "rate", "size", "left_out"), [(2, 6.0, 34, 1e-12), (3, 0.9, 12, 1e-8)])
def test_levels_are_never_below_all_outcomes(levels, rate, size, left_out):
    """The exact delta of all counts of all levels over all outcomes, but for counts of `size` or more."""
    epsilons = (0.3, 1.0, 2.5)
    (found,) = in_node([hashed(1.5 * rate, levels=levels, users=9, honest=6, epsilons=epsilons)])
    pmf = np.array([math.exp(-rate) * rate**k / math.factorial(k) for k in range(size)])
    before, after = np.append(0.0, pmf), np.append(pmf, 0.0)
    outcomes = [np.ones(1), np.ones(1)]
    for order in ((before, after), (after, before)) * levels:
        outcomes = [np.multiply.outer(part, by).ravel() for part, by in zip(outcomes, order, strict=True)]
    for epsilon, delta in zip(epsilons, found["deltas"], strict=True):
        truth = float(np.maximum(outcomes[0] - math.exp(epsilon) * outcomes[1], 0).sum())
        assert truth * (1 - left_out) <= delta <= truth * 1.001
    assert not found["exact"]


def varied():
    """Return tasks of all kinds: 2 to 10^9 people, little to much noise, few to all people honest."""
    rng = np.random.default_rng(15)
    for at in range(64):
        users = int(10 ** rng.uniform(0.4, 9))
        honest = max(1, round(users * rng.choice([1.0, 0.9, 0.3])))
        epsilon = float(10 ** rng.uniform(-2, 1))
        rest = {
            "users": users,
            "honest": honest,
            "values": int(10 ** rng.uniform(0.5, 4)),
            "most": int(10 ** rng.uniform(0, 4)),
            "claim": (
                decimal_text(round(max(epsilon, 0.05), 3)),
                decimal_text(float(f"{10 ** rng.uniform(-12, -1):.3g}")),
            ),
            "epsilons": [0.0, epsilon / 2, epsilon, 10.0],
        }
        mean = float(10 ** rng.uniform(-3, 3.7))
        if at >= 48:
            levels = int(rng.choice([1, 2, 3, 8, 16, 64]))
            yield hashed(max(mean, 0.1), levels=levels, **rest)
        elif at % 3 == 0:
            name = NAMES["binomial"][at // 3 % 3]
            yield coins(round_up_to_grid(min(0.5, mean / users)), name=name, **rest)
        elif at % 3 == 1:
            yield poisson(mean, **rest)
        else:
            pairs, lone = gamma_sizes(mean=max(1.0, 3 / epsilon / 2), shape=4.0), gamma_sizes(mean=2.0, shape=20.0)
            rates = (rng.uniform(0.5, 80), float(rng.choice([0.1, 30.0, 60.0, 1300.0])))
            yield clusters((rates[0], pairs), (rates[1], lone), name=NAMES["clusters"][at // 3 % 2], **rest)


@pytest.mark.slow
def test_python_and_javascript_compute_the_same():
    cases = list(varied())
    for case, found in zip(cases, in_node(cases), strict=True):
        protocol = protocol_of(case, case["guarantee"])
        expected = [protocol.privacy.delta(epsilon) for epsilon in case["epsilons"]]
        assert found["deltas"] == pytest.approx(expected, rel=1e-9, abs=1e-25), case
        assert found["chance"] == pytest.approx(chance_of_more(protocol, case["most_messages"]), rel=1e-9), case
        assert found["exact"] is protocol.privacy.exact


SUMS = """
const { dot, sumsFrom, total } = await import(process.argv[1]);
const [many, ones] = [new Float64Array(2 ** 20).fill(0.1), new Float64Array(2 ** 20).fill(1)];
console.log(JSON.stringify([total(many), sumsFrom(many)[0], dot(many, 0, ones, 0, many.length)]));
"""


def test_sums_of_a_million_terms_lose_nothing():
    """The sum of 2^20 equal numbers is exact; naive summation has an error of 1e-11."""
    script = CLIENT / "src" / "curve" / "sums.js"
    together, from_the_end, product_of = json.loads(run_node("--input-type=module", "-e", SUMS, script.as_uri()))
    assert together == from_the_end == 0.1 * 2**20
    assert product_of == pytest.approx(together, rel=1e-13)


@pytest.mark.slow
def test_what_windows_leave_out_counts_as_revealed():
    """If everything else is far smaller, delta is at least one tail of 2^-100."""
    half = SIZE_GRID // 2
    cases = [
        coins(0.25, users=10**6, epsilons=[10.0]),
        poisson(10_000.0, users=10**6, epsilons=[10.0]),
        clusters((900.0, (half, half)), (900.0, (half, 0, half)), users=10**6, claim=("1", "1e-20"), epsilons=[10.0]),
    ]
    for found in in_node(cases):
        assert 2.0**-100 <= found["deltas"][0] <= 1e-22


@pytest.mark.slow
def test_the_verdicts_are_the_same_in_the_same_words():
    """Also for claims on both sides of the boundary."""
    names = ("a few hundred people", "few values", "texts on three levels", "two choices", "three levels")
    vectors = [vector for vector in read("promises.json") if vector["name"].endswith(names)]
    assert {vector["protocol"]["name"] for vector in vectors} == set(CODECS)
    cases = [{**vector, **verdict} for vector in vectors for verdict in vector["verdicts"]]
    assert in_node(cases) == [{name: case[name] for name in ("refused", "strength")} for case in cases]


NOT_A_NUMBER = """
import { asked, judged } from "./promise.js";
const task = asked(JSON.parse(process.argv[1]));
const claims = [{ epsilon: NaN }, { delta: NaN }, { epsilon: NaN, delta: NaN }, {}];
const limits = [undefined, undefined, undefined, ["NaN", "0.01"], ["1", "NaN"]];
const said = limits.map((limit, at) => {
  return judged({ ...task, guarantee: { ...task.guarantee, ...claims[Math.min(at, 3)] } }, limit).refused ?? "kept";
});
process.stdout.write(JSON.stringify(said));
"""


def test_a_guarantee_that_is_not_a_number_is_refused():
    """In each of the three comparisons: most messages, the claim, and what a person allows."""
    script = NOT_A_NUMBER.replace("./promise.js", CLIENT.joinpath("test", "promise.js").as_uri())
    said = json.loads(run_node("--input-type=module", "-e", script, json.dumps(coins(0.25, users=1000))))
    reasons = ("which is weaker", "is too small", "is too small", "that is allowed here", "that is allowed here")
    for text, reason in zip(said, reasons, strict=True):
        assert reason in text


@pytest.mark.slow
def test_the_chance_of_more_messages_is_never_below_the_truth():
    """For reports with a known distribution of messages: one for the answer, plus binomial or Poisson noise."""
    people, values, rate = 1000, 12, 40.0
    limits = range(1, values + 3)
    cases = [
        coins(0.25, name=name, users=people, values=values, most=most) for name in ("hist", "dummy") for most in limits
    ]
    cases += [poisson(rate, users=people, values=values, most=most) for most in limits]
    cases += [hashed(rate, buckets=13, levels=2, users=people, most=most) for most in range(2, 15)]
    mean, both = values * rate / people, 2 * 13 * rate / people
    number = {
        "hist": [Binomial(trials=values, probability=0.25).pmf_fraction(values - k) for k in range(values + 1)],
        "dummy": [Binomial(trials=values, probability=0.25).pmf_fraction(k) for k in range(values + 1)],
        "dummy-poisson": [math.exp(-mean) * mean**k / math.factorial(k) for k in range(100)],
        "hashed": [0.0, *(math.exp(-both) * both**k / math.factorial(k) for k in range(100))],
    }
    for case, found in zip(cases, in_node(cases), strict=True):
        truth = people * sum(number[case["protocol"]["name"]][case["most_messages"] :])
        assert min(1, truth) <= found["chance"] <= 30 * float(truth)


@pytest.mark.slow
def test_the_vectors_are_what_python_computes():
    for vector in read("promises.json"):
        again = json.loads(json.dumps(computed(vector)))
        for field in ("delta_at", "chance_of_more"):
            assert again.pop(field) == pytest.approx(vector.pop(field), rel=1e-9, abs=1e-25), vector["name"]
        assert again == vector


def test_the_vectors_have_every_verdict_of_every_protocol():
    """Kept claims, and claims refused for each of the three reasons."""
    words = ("is too small", "which is weaker", "that is allowed here")
    found = {
        (vector["protocol"]["name"], word)
        for vector in read("promises.json")
        for verdict in vector["verdicts"]
        for word in (*words, None)
        if (verdict["refused"] is None if word is None else word in (verdict["refused"] or ""))
    }
    assert found == set(product(CODECS, (*words, None)))

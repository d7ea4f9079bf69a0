"""A million randomizations by the JavaScript client, one person at a time, against the accounted distributions.

The noise of every bin must have its distribution, and all bins together must be independent. Each comparison fails on a
correct client with probability at most 1e-6 (tests/oracles/goodness.py). The randomness of browsers and Node cannot be
seeded, so runs differ.
"""

import json
from itertools import product
from math import prod

import numpy as np
import pytest
from scipy.stats import poisson

from shuffledp.collect.task.public_file import exact_text, read_exact
from shuffledp.noise.binomial import round_up_to_grid
from tests.clients.scripts import CLIENT, run_script
from tests.collect.task.test_number_of_messages import noisy_task
from tests.node import run_node
from tests.oracles.goodness import REJECTED_UNSEEDED, distribution_p_value, p_value

PEOPLE = {
    "hist": 300_000,
    "hist-unbiased": 200_000,
    "dummy": 200_000,
    "dummy-poisson": 200_000,
    "sparse": 50_000,
    "sparse-best": 50_000,
}
"""A million in all; reports of the last two are the longest."""

CONTROL = 40_000
PLACES = 5
NOBODY = 255
"""What stands behind the messages of a report that is shorter than the longest."""


def reports_of(plain, people):
    """Return the messages of people with each answer in turn, a row per person; each row is from one call."""
    each = [{"task": plain, "place": place, "people": people // PLACES} for place in range(PLACES)]
    drawn = run_node(str(CLIENT / "test" / "draws.mjs"), given=json.dumps(each).encode())
    return np.frombuffer(drawn, np.uint8).reshape(PLACES, people // PLACES, plain["most_messages"])


def scaled(plain, factor):
    """Return a task with its probabilities and rates multiplied by a factor."""
    parameters = {}
    for name, written in plain["protocol"]["parameters"].items():
        if isinstance(written, int):
            parameters[name] = written
        elif isinstance(written, str):
            parameters[name] = exact_text(round_up_to_grid(factor * read_exact(written, name=name)))
        else:
            parameters[name] = written | {"rate": exact_text(factor * read_exact(written["rate"], name=name))}
    return plain | {"protocol": plain["protocol"] | {"parameters": parameters}}


def own_message(task, place):
    return task.protocol.kinds * place


def noise_of(task, reports):
    """Return the noise of each kind without own messages, a row per person."""
    rows = []
    for place, sent in enumerate(reports):
        counts = np.stack([(sent == message).sum(axis=1) for message in range(task.alphabet)], axis=1)
        counts[:, own_message(task, place)] -= 1
        rows.append(counts)
    noise = np.concatenate(rows)
    if task.protocol.kinds == 2:  # a pair is one of both kinds
        noise[:, 1::2] -= noise[:, 0::2]
    return noise


def distributions_of(task):
    """Return the distribution of one person's noise of each kind, in the order of `noise_of`."""
    plain = json.loads(task.canonical)["protocol"]
    name, noise, bins = plain["name"], plain["parameters"], task.protocol.bins
    if name in ("hist", "hist-unbiased"):
        missing = read_exact(noise["missing_probability"], name=name)
        return [np.array([missing, 1 - missing])] * bins
    if name == "dummy":
        chance = read_exact(noise["dummy_probability"], name=name)
        return [np.array([1 - chance, chance])] * bins
    if name in ("dummy-poisson", "ranges"):
        rate = read_exact(noise["dummies"]["rate"], name=name) / task.users
        return [poisson.pmf(np.arange(task.most_messages), rate)] * bins
    protocol = task.protocol
    return [distribution.share(1, of=task.users).window.pmf for distribution in (protocol.pairs, protocol.lone)] * bins


def together(noise, distributions):
    """Return the p-value of the hypothesis that the presence of each kind is independent."""
    cells = (noise > 0) @ (1 << np.arange(len(distributions)))
    any_of = [1 - distribution[0] / distribution.sum() for distribution in distributions]
    chances = [
        prod(chance if there else 1 - chance for chance, there in zip(any_of, reversed(which), strict=True))
        for which in product([False, True], repeat=len(distributions))
    ]
    return p_value(np.bincount(cells, minlength=len(chances)), np.array(chances))


def p_values(task, reports):
    noise, distributions = noise_of(task, reports), distributions_of(task)
    return [
        *(distribution_p_value(noise[:, kind], 0, distribution) for kind, distribution in enumerate(distributions)),
        together(noise, distributions),
    ]


def own_places(task, reports):
    """Return p-values of the position of own messages, in reports of the most frequent length with one such message."""
    lengths = (reports != NOBODY).sum(axis=2)
    usual = np.bincount(lengths[lengths > 1]).argmax()
    found = []
    for place, sent in enumerate(reports):
        own = sent == own_message(task, place)
        ranks = own[(own.sum(axis=1) == 1) & (lengths[place] == usual)].argmax(axis=1)
        found.append(distribution_p_value(ranks, 0, np.full(usual, 1 / usual)))
    return found


def test_there_are_a_million_randomizations():
    assert sum(PEOPLE.values()) == 10**6


@pytest.mark.slow
@pytest.mark.parametrize("name", PEOPLE)
def test_messages_have_the_accounted_law(name):
    task = noisy_task(name)
    reports = reports_of(json.loads(task.canonical), PEOPLE[name])
    assert reports[reports != NOBODY].max() < task.symbols
    assert ((reports != NOBODY).all()) == task.padded
    assert min(p_values(task, reports)) > REJECTED_UNSEEDED
    assert min(own_places(task, reports)) > REJECTED_UNSEEDED


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.7, 1.3])
@pytest.mark.parametrize("name", PEOPLE)
def test_too_little_and_too_much_noise_is_noticed(name, factor):
    """The negative controls: the same client with other parameters."""
    task = noisy_task(name)
    reports = reports_of(scaled(json.loads(task.canonical), factor), CONTROL)
    assert max(p_values(task, reports)) < REJECTED_UNSEEDED


DRAW_MUCH = """
import { ClusterSampler } from "./src/cluster_sampler.js";
import { readNumber } from "./src/exact.js";
import { SIZE_GRID } from "./src/parameters.js";
import { SYSTEM } from "./src/randomness.js";
for (const mean of asked.means) {
  const clusters = new ClusterSampler({ rate: readNumber(mean, "rate"), sizeWeights: [SIZE_GRID] }, 10, 10);
  results[mean] = Array.from({ length: asked.people }, () => clusters.draw(10_000, SYSTEM).length);
}
"""


@pytest.mark.slow
def test_a_large_mean_has_the_distribution_of_a_sum():
    """A Poisson number with a large mean is sampled as a sum; a mean that is 5% smaller is the negative control."""
    drawn = run_script(DRAW_MUCH, {"means": ["99", "101", "250"], "people": 10_000})
    for mean, numbers in drawn.items():
        distribution, less = (poisson.pmf(np.arange(600), factor * int(mean)) for factor in (1, 0.95))
        assert distribution_p_value(np.array(numbers), 0, distribution) > REJECTED_UNSEEDED
        assert distribution_p_value(np.array(numbers), 0, less) < REJECTED_UNSEEDED


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hist", "dummy-poisson"])
def test_messages_in_order_are_noticed(name):
    task = noisy_task(name)
    reports = np.sort(reports_of(json.loads(task.canonical), CONTROL), axis=2)
    assert min(own_places(task, reports)) < REJECTED_UNSEEDED


def test_noise_that_is_the_same_everywhere_is_noticed():
    """Each bin alone has the right distribution; only the joint test can notice it."""
    task = noisy_task("dummy")
    (distribution,) = {tuple(distribution) for distribution in distributions_of(task)}
    rng = np.random.default_rng(4)
    noise = np.repeat(rng.choice(2, p=distribution, size=(CONTROL, 1)), PLACES, axis=1)
    assert distribution_p_value(noise[:, 0], 0, np.array(distribution)) > REJECTED_UNSEEDED
    assert together(noise, distributions_of(task)) < REJECTED_UNSEEDED

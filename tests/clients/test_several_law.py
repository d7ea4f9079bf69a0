"""People with several values in the JavaScript client: each value is sent, and the noise has its distribution.

The randomness of Node cannot be seeded, so runs differ. Each comparison fails on a correct client with probability at
most 1e-6 (tests/oracles/goodness.py).
"""

import json
from itertools import combinations

import numpy as np
import pytest

from shuffledp.collect.task import read_task
from tests.clients.scripts import CLIENT, run_script
from tests.clients.test_law import distributions_of, scaled, together
from tests.collect.tasks import small_task
from tests.node import run_node
from tests.oracles.goodness import REJECTED_UNSEEDED, distribution_p_value, p_value

PROTOCOLS = ("hist", "dummy", "dummy-poisson", "sparse", "ranges")
PEOPLE = 8_000
"""For each of the answers."""

CHOICES = (["dark", "light"], ["system"], None)
NUMBERS = ("-3", 0, "abc")


def task_of(name):
    """A task with few people, who each send several messages: two choices of three, or a tree of two levels."""
    more = {"edges": "0"} if name == "ranges" else {"most": 2}
    task = small_task(protocol=name, users=500, delta=1e-3, epsilon=1.0, **more).task
    if name != "ranges":
        return task
    plain = json.loads(task.canonical)
    plain["protocol"]["parameters"]["branching"] = 2
    return read_task(json.dumps({**plain, "most_messages": 2 * task.most_messages}).encode())


def values_of(task, answer):
    """The values of an answer, by the rules of the wire format."""
    if task.tree is not None:
        return task.tree.paths(np.array([task.bin_of(answer)]))[0].tolist()
    bins = task.answers.bins_of(answer)
    return bins + [task.answers.size + 2 + at for at in range(task.answers.most - len(bins))]


def reports_of(plain, answers, people=PEOPLE):
    """Return the messages of people with each of these values, a row per person."""
    each = [{"task": plain, "place": values, "people": people} for values in answers]
    drawn = run_node(str(CLIENT / "test" / "draws.mjs"), given=json.dumps(each).encode())
    return np.frombuffer(drawn, np.uint8).reshape(len(answers), people, plain["most_messages"])


def noise_of(task, answers, reports):
    """Return the noise of each kind without the person's own messages; negative where an own message is missing."""
    kinds, rows = task.protocol.kinds, []
    for values, sent in zip(answers, reports, strict=True):
        counts = np.stack([(sent == message).sum(axis=1) for message in range(task.alphabet)], axis=1)
        counts[:, [kinds * value for value in values]] -= 1
        rows.append(counts)
    noise = np.concatenate(rows)
    if kinds == 2:  # a pair is one of both kinds
        noise[:, 1::2] -= noise[:, 0::2]
    return noise


def p_values(task, answers, reports):
    noise, distributions = noise_of(task, answers, reports), distributions_of(task)
    return [
        *(distribution_p_value(noise[:, kind], 0, distribution) for kind, distribution in enumerate(distributions)),
        together(noise, distributions),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_all_values_are_sent_with_the_accounted_noise(name):
    task = task_of(name)
    answers = [values_of(task, answer) for answer in (NUMBERS if name == "ranges" else CHOICES)]
    assert task.values_per_person == 2
    reports = reports_of(json.loads(task.canonical), answers)
    assert ((reports != 255).all()) == task.padded
    assert min(p_values(task, answers, reports)) > REJECTED_UNSEEDED


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hist", "dummy-poisson", "ranges"])
def test_other_noise_is_noticed(name):
    """The negative control: the same client with less noise, and with a value that is not sent."""
    task = task_of(name)
    answers = [values_of(task, answer) for answer in (NUMBERS if name == "ranges" else CHOICES)]
    less = reports_of(scaled(json.loads(task.canonical), 0.7), answers)
    assert min(p_values(task, answers, less)) < REJECTED_UNSEEDED
    sent = reports_of(json.loads(task.canonical), answers, people=200)
    swapped = [answers[1], answers[0], answers[2]]
    assert min(p_values(task, swapped, sent)) < REJECTED_UNSEEDED


SUBSETS = """
import { readTask } from "./src/task.js";
const task = await readTask(JSON.stringify(asked.task));
results.rows = await Promise.all(Array.from({ length: asked.people }, () => task.valuesOf(asked.answer)));
"""


@pytest.mark.slow
def test_every_subset_of_too_many_choices_is_equally_likely():
    task = small_task(protocol="dummy-poisson", answers=("a", "b", "c", "d"), most=2).task
    asked = {"task": json.loads(task.canonical), "people": 6000, "answer": ["d", "b", "a", "x", "c", "y"]}
    rows = [tuple(sorted(row)) for row in run_script(SUBSETS, asked)["rows"]]
    subsets = list(combinations(range(5), 2))
    observed = np.array([rows.count(subset) for subset in subsets])
    assert observed.sum() == len(rows)
    assert p_value(observed, np.full(len(subsets), 1 / len(subsets))) > REJECTED_UNSEEDED

"""Reports of single clients follow the distribution of `sample_tally`, and the order of messages is random.

False failure rate at most 1e-6 per statistical assertion: the chi-square bound is for 1e-7, since sums are only nearly
normal. A negative control is missed with probability 1e-5. Randomness is cryptographic, so runs differ.
"""

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from scipy.stats import chi2

from shuffledp.collect.client.making import messages_of, new_report
from shuffledp.collect.task.report import open_report
from shuffledp.errors import ShuffledpError
from shuffledp.noise import CompoundPoisson
from shuffledp.noise.binomial import round_up_to_grid
from shuffledp.protocols.shuffled.histogram import Histogram
from tests.collect.tasks import small_task

ANSWERS = ["dark"] * 10 + ["light"] * 4 + ["system"] * 3 + ["purple"] * 2 + [None]
COUNTS = np.array([10, 4, 3, 2, 1])
BATCHES = 50
"""Noise scaled by 0.7 or 1.3 moves each of five sums over these batches by 4.8 standard deviations."""

DRAWS = 2_000
"""Samples of the distribution: enough to know mean and covariance far better than a sum over BATCHES."""

RATE = 1e-7


def opened(kept, report):
    """The messages of a report in order, opened by both servers."""
    found = open_report(kept.task, report, kept.keys[0])
    messages, refused = kept.layer(1).open_block(found.onions)
    assert refused == 0
    width = kept.task.symbol_bytes
    return [int.from_bytes(messages[at : at + width]) for at in range(0, len(messages), width)]


def distance(total, protocol):
    """The squared Mahalanobis distance of the sum over all batches from the distribution of the tally."""
    rng = np.random.default_rng(5)
    draws = np.array([protocol.sample_tally(COUNTS, rng=rng).counts.ravel() for _ in range(DRAWS)])
    apart = total - BATCHES * draws.mean(axis=0)
    spread = (BATCHES + BATCHES**2 / DRAWS) * np.cov(draws.T)  # of the sum, and of the mean of the samples
    return float(apart @ np.linalg.solve(spread, apart)), chi2.isf(RATE, apart.size)


def with_noise(protocol, factor):
    if isinstance(protocol, Histogram):
        missing = round_up_to_grid(factor * protocol.missing_probability)
        return replace(protocol, missing_probability=missing, guarantee=None)
    noise = CompoundPoisson(rate=factor * protocol.noise.rate, size_weights=protocol.noise.size_weights)
    return replace(protocol, noise=noise, guarantee=None)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dummy-poisson", "hist"])
def test_reports_of_single_people_follow_the_distribution_of_the_tally(name):
    kept = small_task(users=len(ANSWERS), epsilon=4.0, delta=1e-3, protocol=name)
    protocol = kept.task.protocol
    reports = [opened(kept, new_report(kept.task, answer)) for _ in range(BATCHES) for answer in ANSWERS]
    assert ({len(symbols) for symbols in reports} == {kept.task.most_messages}) == kept.task.padded
    symbols = np.concatenate(reports)
    assert symbols.max() < kept.task.symbols
    total = protocol.tally(symbols[symbols < kept.task.alphabet]).counts.ravel()
    found, bound = distance(total, protocol)
    assert found < bound
    for factor in (0.7, 1.3):  # the negative controls
        found, bound = distance(total, with_noise(protocol, factor))
        assert found > bound


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dummy-poisson", "hist"])
def test_the_order_of_messages_is_independent_of_the_answer(name):
    """The position of a person's own message is uniform: the mean rank is within 5.5 standard deviations."""
    task = small_task(protocol=name).task
    (own,) = set(range(task.alphabet)).intersection(*({*messages_of(task, "dark")} for _ in range(200)))
    ranks = []
    while len(ranks) < 400:
        messages = messages_of(task, "dark")
        if messages.count(own) == 1 and len(messages) > 1:
            ranks.append(messages.index(own) / (len(messages) - 1))
    deviation = np.sqrt(1 / 4)  # upper bound for numbers between 0 and 1
    assert abs(np.mean(ranks) - 0.5) < 5.5 * deviation / np.sqrt(len(ranks))


def test_a_report_keeps_that_order(monkeypatch):
    kept, made = small_task(), []
    monkeypatch.setattr(
        "shuffledp.collect.client.making.messages_of",
        lambda task, answer: made.append(messages_of(task, answer)) or made[-1],
    )
    report = new_report(kept.task, "dark")
    assert opened(kept, report) == made[0]


def test_too_many_messages_are_sampled_again():
    """With a limit that people often exceed, which no checked task has."""
    task = small_task().task
    numbers = [len(messages_of(task, "dark")) for _ in range(100)]
    usual = int(np.median(numbers))
    assert max(numbers) > usual
    capped = msgspec.structs.replace(task, most_messages=usual)
    assert {len(messages_of(capped, "dark")) <= usual for _ in range(100)} == {True}


def test_reports_are_padded():
    task = small_task(protocol="hist").task
    for answer in ANSWERS:
        messages = messages_of(task, answer)
        assert len(messages) == task.most_messages
        assert {symbol for symbol in messages if symbol >= task.alphabet} <= {task.nothing}
        assert task.bin_of(answer) in messages
    whole = msgspec.structs.replace(task, most_messages=1000)
    assert messages_of(whole, "dark").count(task.nothing) >= 1000 - task.most_messages


@pytest.mark.slow
def test_padding_is_anywhere_in_a_report():
    """The mean rank is within 5.5 standard deviations of the middle."""
    task, ranks = small_task(protocol="hist").task, []
    while len(ranks) < 400:
        messages = messages_of(task, "dark")
        if messages.count(task.nothing) == 1:
            ranks.append(messages.index(task.nothing) / (len(messages) - 1))
    deviation = np.sqrt(1 / 4)  # upper bound for numbers between 0 and 1
    assert abs(np.mean(ranks) - 0.5) < 5.5 * deviation / np.sqrt(len(ranks))


def test_a_limit_that_everybody_exceeds_is_an_error():
    """Each of 42 values has noise with probability at least one half."""
    task = small_task(protocol="hist", answers=tuple(map(str, range(40)))).task
    with pytest.raises(ShuffledpError, match="not checked"):
        messages_of(msgspec.structs.replace(task, most_messages=1), "dark")

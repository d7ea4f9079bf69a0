"""Without a generator, all noise is new in each call: nothing is sampled from a fixed seed.

Each test states the probability that a correct sampler gives the same number in all draws.
"""

import numpy as np
import pytest

from shuffledp import private_histogram, shuffle
from shuffledp.protocols import CATALOGUE, RealSum, Target
from shuffledp.protocols.shuffled.blanket import BlanketSum
from shuffledp.protocols.shuffled.public_coin import fresh_coin

COUNTS = np.array([35, 35, 35, 35])
VALUES = np.repeat(np.arange(COUNTS.size), COUNTS)
TARGET = Target(users=int(COUNTS.sum()), bins=COUNTS.size, epsilon=0.9, delta=1e-3)
DRAWS = 14
"""The likeliest value of a number has a probability of at most 0.25 (laplace) for four numbers and 0.16 for 560 cells
(public-coin): all draws of some number are equal with a probability below 4 * 0.25^13 = 6e-8."""
MADE = [name for name, entry in CATALOGUE.items() if not entry.published]
SENDING = [name for name in MADE if CATALOGUE[name].model != "central"]


@pytest.mark.parametrize("name", MADE)
def test_every_number_of_an_unseeded_draw_varies(name):
    """For each kind of message, because a fixed seed for one kind would be hidden by the other."""
    protocol = CATALOGUE[name].make(TARGET)
    drawn = [protocol.sample_tally(COUNTS) for _ in range(DRAWS)]
    numbers = np.array([tally.counts.reshape(len(tally), -1) for tally in drawn])
    assert numbers.std(axis=0).min() > 0
    if numbers.shape[2] == 2:  # pairs and lone messages of a bin are drawn apart
        assert (numbers[:, :, 0] - numbers[:, :, 1]).std(axis=0).min() > 0


@pytest.mark.parametrize("name", SENDING)
def test_unseeded_messages_vary(name):
    protocol = CATALOGUE[name].make(TARGET)
    tallies = {tuple(protocol.tally(protocol.randomize(VALUES)).counts.ravel().tolist()) for _ in range(4)}
    assert len(tallies) > 1


@pytest.mark.slow
def test_unseeded_bits_vary():
    protocol = BlanketSum.calibrate(users=2000, epsilon=0.5, delta=1e-6)
    assert len({protocol.randomize(np.zeros(2000, dtype=int)).tobytes() for _ in range(4)}) == 4
    assert len({protocol.sample_tally(1000).total for _ in range(DRAWS)}) > 1


def test_every_bit_of_a_public_coin_varies():
    """A bit is the same in 60 coins with probability 64 * 2^-59."""
    coins = [fresh_coin() for _ in range(60)]
    assert all(len({coin >> bit & 1 for coin in coins}) == 2 for bit in range(64))


def test_two_shuffles_differ():
    """Two shuffles of 40 messages are equal with probability 1 / 40!."""
    messages = np.arange(40)
    assert shuffle(messages).tolist() != shuffle(messages).tolist()
    assert shuffle(list(messages)).tolist() != shuffle(list(messages)).tolist()


def test_every_share_of_a_sum_varies():
    protocol = RealSum.calibrate(users=100, epsilon=1, delta=1e-6)
    first, second = (protocol.randomize(0.5) for _ in range(2))
    assert first.size == protocol.shares
    assert (first != second).all()  # equal somewhere with a probability below shares / 2^modulus_bits
    assert len({protocol.sample_tally([0.5] * 100).total for _ in range(DRAWS)}) > 1


@pytest.mark.slow
def test_the_choice_of_a_row_varies():
    """100 people with two values each; two equal choices have probability 2^-100."""
    table = {"name": np.repeat(np.arange(100), 2), "value": np.arange(200)}
    options = {"column": "value", "user": "name", "domain": range(200), "protocol": "hist", "estimator": "unbiased"}
    chosen = [
        private_histogram(table, epsilon=50, delta=0.01, evaluate=True, **options).evaluation.true_counts.tolist()
        for _ in range(2)
    ]
    assert sum(chosen[0]) == 100
    assert chosen[0] != chosen[1]

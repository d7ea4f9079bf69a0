"""Messages of hashed histograms fit into one machine integer, whatever the numbers of people, levels and pieces."""

import numpy as np
import pytest

from shuffledp.histogram.hash_family import MOST_MESSAGES
from shuffledp.histogram.text_code import TextCode
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.protocols.target import Target


@pytest.mark.slow
@pytest.mark.parametrize("users", [790, 5000, 10**9, 10**11])
@pytest.mark.parametrize("levels", [2, 16, 64])
def test_messages_of_all_levels_are_different_numbers(users, levels):
    """With 71 buckets (790 people, 16 levels) all coefficients would fit on one level, and not on 16."""
    code = TextCode(levels=levels, longest=64, alphabet="abcdefghijklmnopqrstuvwxyz")
    target = Target(users=users, bins=code.values, epsilon=4, delta=1e-6, padding_bins=0)
    protocol = HashedHistogram.for_levels(target, levels=levels, pieces=code.symbols)
    assert protocol.alphabet <= MOST_MESSAGES
    messages = protocol.randomize(code.values_of("a"), rng=np.random.default_rng(1))
    found = np.unique(messages[:levels] // protocol.family.messages)
    assert found.tolist() == list(range(levels))
    assert messages.max() < protocol.alphabet

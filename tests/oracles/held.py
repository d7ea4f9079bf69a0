"""Sets of values per person, counted in plain Python, and a protocol that publishes the truth."""

from collections import Counter
from types import SimpleNamespace

import numpy as np

from shuffledp.histogram.inputs import filled_up
from shuffledp.histogram.tally import Tally
from shuffledp.protocols import MessageCount


def counted(engine, encode=None):
    """Return the number of people per value, or per bin."""
    found = Counter()
    for labels, people in engine.counts(encode):
        listed = labels.to_pylist() if hasattr(labels, "to_pylist") else labels.tolist()
        spelled = (tuple(one.values()) if isinstance(one, dict) else one for one in listed)
        for label, number in zip(spelled, people.tolist(), strict=True):
            found[label] += number
    return found


def held_by(rows, *, keep=lambda row: True):
    """Return the set of values of each person, from rows (person, value, ...); rows without a person are left out."""
    sets = {row[0]: set() for row in rows if row[0] is not None}
    for row in rows:
        if row[0] is not None and keep(row):
            sets[row[0]].add(row[1])
    return sets


class Truthful:
    """A protocol without noise, whose messages are the padded sets themselves."""

    numbered_messages = samples_exactly = True
    estimator = SimpleNamespace(statistic=lambda tally: tally)

    def __init__(self, *, users, bins, values_per_person):
        self.users, self.bins, self.values_per_person = users, bins + values_per_person, values_per_person
        self.padding_bins = values_per_person
        self.messages_per_user = MessageCount(expected=float(values_per_person), maximum=float(values_per_person))

    def randomize(self, values, *, rng=None):
        """Return all bins and padding bins; `filled_up` refuses a bin that a person holds twice."""
        each, padding_bins = self.values_per_person, self.padding_bins
        return filled_up(values, bins=self.bins, each=each, padding_bins=padding_bins).ravel()

    def tally(self, messages):
        """Return the number of people per bin and padding bin."""
        if isinstance(messages, Tally):
            return messages.dense(bins=self.bins)
        return Tally.of_bins(np.asarray(messages), bins=self.bins)

    def sample_tally(self, counts, *, part=False):
        """Return the true counts."""
        return counts if isinstance(counts, Tally) else Tally(np.arange(len(counts)), np.asarray(counts))


def sent(people, protocol):
    """Return the tally of messages of a protocol, which need not be complete."""
    return people._engine.tally(protocol, people._encoder)

"""People and their sets, counted by hand, which engines must find; and a protocol that publishes the truth."""

from collections import Counter
from types import SimpleNamespace

import numpy as np

from shuffledp.histogram.inputs import filled_up
from shuffledp.histogram.tally import Tally
from shuffledp.protocols import MessageCount


def counted(engine, encode=None):
    """How many people hold each value, or bin."""
    found = Counter()
    for labels, people in engine.counts(encode):
        listed = labels.to_pylist() if hasattr(labels, "to_pylist") else labels.tolist()
        spelled = (tuple(one.values()) if isinstance(one, dict) else one for one in listed)
        for label, number in zip(spelled, people.tolist(), strict=True):
            found[label] += number
    return found


def held_by(rows, *, keep=lambda row: True):
    """Everyone's different values, from rows (person, value, ...); rows of nobody are left out."""
    sets = {row[0]: set() for row in rows if row[0] is not None}
    for row in rows:
        if row[0] is not None and keep(row):
            sets[row[0]].add(row[1])
    return sets


class Truthful:
    """What engines and releases ask of a protocol, of one whose messages are the filled up sets themselves."""

    numbered_messages = samples_exactly = True
    estimator = SimpleNamespace(statistic=lambda tally: tally)

    def __init__(self, *, users, bins, values_per_person):
        self.users, self.bins, self.values_per_person = users, bins + values_per_person, values_per_person
        self.padding_bins = values_per_person
        self.messages_per_user = MessageCount(expected=float(values_per_person), maximum=float(values_per_person))

    def randomize(self, values, *, rng=None):
        """Everyone's bins and padding bins; `filled_up` refuses a bin that occurs twice in a row."""
        each, padding_bins = self.values_per_person, self.padding_bins
        return filled_up(values, bins=self.bins, each=each, padding_bins=padding_bins).ravel()

    def tally(self, messages):
        """How many people hold each bin and padding bin."""
        if isinstance(messages, Tally):
            return messages.dense(bins=self.bins)
        return Tally.of_bins(np.asarray(messages), bins=self.bins)

    def sample_tally(self, counts, *, part=False):
        """The truth."""
        return counts if isinstance(counts, Tally) else Tally(np.arange(len(counts)), np.asarray(counts))


def sent(people, protocol):
    """The tally of messages of a protocol that need not be a whole one."""
    return people._engine.tally(protocol, people._encoder)

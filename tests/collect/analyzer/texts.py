"""A task for texts with few pieces, some of them hostile, and the tallies of its batches."""

from functools import cache

import numpy as np

from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.task import Place
from shuffledp.collect.task.new_task import new_task
from tests.collect.tasks import CLOSES, OPENS, Kept, text_answers

SCRIPT = "<script>alert(1)</script>"
FORMULA = '=hyperlink("http://evil.test","x")'
LONG = "x" * 200
RIGHT_TO_LEFT = "\u05e9\u05dc\u05d5\u05dd"
HOSTILE = (
    SCRIPT,
    FORMULA,
    "@sum(1)",
    "-2+3",
    "+4",
    "\"'&<b>",
    LONG,
    RIGHT_TO_LEFT,
    "(other)",
    "(hidden)",
    "[bold red]",
)
PLAIN = ("news.test", "mail.test", "/sport", "/private")


@cache
def text_task(*, users=1000, epsilon=2.0, honest_users=None, delta=1e-6):
    """A task whose texts are one or two pieces of a list."""
    keys = tuple(KeyPair.generate() for _ in range(2))
    places = [Place(f"http://127.0.0.1:{9 + at}", key.public) for at, key in enumerate(keys)]
    task = new_task(
        question="Your home page?",
        answers=text_answers(longest=256, levels=2, pieces=(*PLAIN, *HOSTILE)),
        users=users,
        honest_users=honest_users,
        epsilon=epsilon,
        delta=delta,
        shufflers=places[:1],
        analyzer=places[1],
        opens=OPENS,
        closes=CLOSES,
    )
    return Kept(task, keys)


def messages_of(task, people, *, rng):
    """The messages of people, given as the number of people of each text; None is no answer."""
    values = [task.values_of(text) for text, number in people.items() for _ in range(number)]
    return task.protocol.randomize(np.array(values), rng=rng)


def tally_of(task, people, *, seed=1, forged=()):
    """The tally of a batch; everybody else answers with a text that cannot be cut."""
    everybody = {**people, "?": task.users - sum(people.values())}
    messages = messages_of(task, everybody, rng=np.random.default_rng(seed))
    return task.protocol.tally(np.concatenate([messages, np.array(forged, dtype=np.int64)]))


def forged_messages(task, text, number, *, seed=2):
    """Messages consistent with a text on every level, without any dummies."""
    rng, family, found = np.random.default_rng(seed), task.protocol.family, []
    for level, value in enumerate(task.values_of(text)):
        seeds = rng.integers(0, family.seeds, size=number)
        buckets = family.buckets(seeds, np.full(number, value))
        found.append(level * family.messages + seeds * family.modulus + buckets)
    return np.concatenate(found)

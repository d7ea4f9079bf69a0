"""A small task with its keys, for tests of all parts of a collection."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from shuffledp.collect.crypto.batch import Layer
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.task import AnswerChoices, AnswerEdges, AnswerList, AnswerRange, AnswerText, Place, Task
from shuffledp.collect.task.answers import PieceAlphabet, PieceList
from shuffledp.collect.task.new_task import new_task
from shuffledp.histogram.text_code import Step

OPENS, CLOSES = datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
THEMES = ("dark", "light", "system")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def text_answers(*, longest=8, levels=8, pieces=None, characters=LETTERS, width=1, normalisation=("trim", "lower")):
    """Answers of kind text, of few small letters by default."""
    cut = PieceAlphabet(characters, width) if pieces is None else PieceList(list(pieces))
    return AnswerText(longest=longest, levels=levels, pieces=cut, normalisation=[Step(step) for step in normalisation])


@dataclass(frozen=True)
class Kept:
    """A task, and the private keys of its shufflers and its analyzer, in order."""

    task: Task
    keys: tuple[KeyPair, ...]

    def layer(self, position):
        """The layer that the server at this position opens."""
        private = self.keys[position].private_bytes
        return Layer(self.task.id, position, self.task.onion_length(position), private)


@cache
def small_task(
    *,
    users=200,
    shufflers=1,
    answers=THEMES,
    texts=False,
    edges="0:8:1",
    quantiles=("0.5", "0.9"),
    most=None,
    numbers=None,
    protocol="dummy-poisson",
    epsilon=1.0,
    delta=1e-6,
    addresses=None,
    opens=OPENS,
    closes=CLOSES,
    honest_users=None,
    admission="anybody",
    time_precision=3600,
):
    """A task that is open for years; `addresses` is a tuple: shufflers, then the analyzer.

    With `texts`, people type any short text; with the protocol `ranges`, they give a number between `edges`; with
    `numbers`, a whole number from the first to before the second; with `most`, they choose this number of answers.
    """
    if texts:
        asked = text_answers()
    elif protocol == "ranges":
        asked = AnswerEdges(edges, list(quantiles))
    elif numbers is not None:
        asked = AnswerRange(*numbers)
    else:
        asked = AnswerList(list(answers)) if most is None else AnswerChoices(list(answers), most)
    keys = tuple(KeyPair.generate() for _ in range(shufflers + 1))
    addresses = addresses or tuple(f"http://127.0.0.1:{9 + at}" for at in range(shufflers + 1))
    places = [Place(address, key.public) for address, key in zip(addresses, keys, strict=True)]
    task = new_task(
        question="Which theme do you use?",
        answers=asked,
        users=users,
        honest_users=honest_users,
        epsilon=epsilon,
        delta=delta,
        shufflers=places[:-1],
        analyzer=places[-1],
        opens=opens,
        closes=closes,
        protocol=None if texts else protocol,
        admission=admission,
        time_precision=time_precision,
    )
    return Kept(task, keys)

"""A statistical lower bound on epsilon for any mechanism, used as a black box.

The mechanism is run many times on two neighbouring datasets. A third of the outputs is used to learn statistics and to
choose an event that is likely on one dataset and unlikely on the other. The others, which had no part in the choice,
count it. Exact confidence bounds L <= P[event on one] and U >= P[event on the other] hold together with the stated
confidence, so epsilon >= ln((L - delta) / U). A bound above the guaranteed epsilon proves a violation. A bound below
proves nothing: another pair of datasets or another event may be worse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.participation import lower_bound, upper_bound
from shuffledp.auditing.observations import SCORES, Observer, learn
from shuffledp.errors import ParameterError
from shuffledp.formatting import share_at_least, share_at_most
from shuffledp.histogram.shuffle import CentralProtocol, ShuffledProtocol, shuffle
from shuffledp.paper.divergence import Pair, allowed_delta
from shuffledp.protocols.protocol import decoded
from shuffledp.randomness import generator
from shuffledp.validation import open_probability, whole

Output = ArrayLike | Mapping[Any, float]
"""Messages in the order seen, or a mapping from names to numbers."""

Relation = Literal["at least", "at most", "exactly"]
_RELATIONS: tuple[Relation, ...] = ("at least", "at most", "exactly")
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
_MOST_THRESHOLDS = 200
"""Thresholds of each statistic among which the event is chosen; neighbouring ones have nearly the same probability."""
_FEWEST_TRIALS = 100
"""67 outputs then count the event, which at confidence 0.99 can show an epsilon of at most 2.5."""
COUNTING_SHARE = 2 / 3
"""The share of the runs that counts the event; the rest learns statistics and chooses the event, half and half."""
_NEVER = 1e-300
"""Stands for a probability that is not positive."""


class Mechanism(Protocol):
    """Any function from people's values to an output."""

    def __call__(self, values: ArrayLike, *, rng: np.random.Generator) -> Output:
        """Return one output, with randomness from the given generator."""


@dataclass(frozen=True, kw_only=True)
class Audit:
    """A lower bound: `epsilon` is at most the true epsilon at `delta`, except with probability 1 - `confidence`."""

    epsilon: float
    delta: float
    confidence: float
    trials: int
    event: str
    likely: float
    unlikely: float

    def accuses(self, epsilon: float) -> bool:
        """Whether the audit refutes a guarantee of (epsilon, delta)."""
        return self.epsilon > epsilon

    def __str__(self) -> str:
        least, likely = (share_at_least(bound, digits=3) for bound in (self.epsilon, self.likely))
        return (
            f"epsilon >= {least} at delta={self.delta:g}, with confidence {self.confidence:.10g}: {self.event} has "
            f"probability at least {likely} on one dataset and at most {share_at_most(self.unlikely, digits=3)} on the "
            f"other ({self.trials} runs of each)"
        )


@dataclass(frozen=True)
class _Event:
    """A statistic is at least, at most or exactly a threshold, more likely on the dataset or on the neighbour."""

    question: int
    relation: Relation
    threshold: float
    on_dataset: bool

    def happens(self, answers: NDArray[np.float64]) -> NDArray[np.bool_]:
        compare = {"at least": np.greater_equal, "at most": np.less_equal, "exactly": np.equal}[self.relation]
        happened: NDArray[np.bool_] = compare(answers[:, self.question], self.threshold)
        return happened


def audit(
    mechanism: Mechanism,
    dataset: ArrayLike,
    neighbour: ArrayLike,
    *,
    trials: int = 10_000,
    delta: float = 0.0,
    confidence: float = 0.99,
    rng: np.random.Generator | None = None,
) -> Audit:
    """Return a lower bound on the mechanism's epsilon at delta, from `trials` runs on each of two datasets."""
    trials, (delta, confidence) = whole("trials", trials, minimum=_FEWEST_TRIALS), _checked(delta, confidence)
    row = _differing_row(np.asarray(dataset), np.asarray(neighbour))
    source = generator(rng)
    runs = ([mechanism(values, rng=source) for _ in range(trials)] for values in (dataset, neighbour))
    return audit_outputs(*runs, delta=delta, confidence=confidence, row=row, people=np.size(dataset))


def audit_outputs(
    outputs: Sequence[Output],
    others: Sequence[Output],
    *,
    delta: float = 0.0,
    confidence: float = 0.99,
    row: int = 0,
    people: int | None = None,
) -> Audit:
    """Return the same for independent outputs that exist already, the same number on either dataset.

    `row` is the position of the person whose value differs, among `people` if their number is known.
    """
    trials = whole("trials", min(len(outputs), len(others)), minimum=_FEWEST_TRIALS)
    delta, confidence = _checked(delta, confidence)
    sixth, third = trials // 6, trials // 3
    observer = Observer.of(outputs[:sixth], others[:sixth], row=row, people=people)
    answers = [observer.answers(drawn) for drawn in (outputs, others)]
    scores = learn(*(seen[:sixth] for seen in answers), totals=observer.totals, numbers=observer.numbers)
    answers = [np.column_stack([seen, *(score(seen) for score in scores)]) for seen in answers]
    failure = (1 - confidence) / 2
    event = _most_telling(*(seen[sixth:third] for seen in answers), delta=delta, failure=failure)
    first, second = (seen[third:] for seen in (answers if event.on_dataset else answers[::-1]))
    likely = lower_bound(int(event.happens(first).sum()), len(first), failure=failure)
    unlikely = upper_bound(int(event.happens(second).sum()), len(second), failure=failure)
    question = (*observer.questions, *SCORES)[event.question]
    return Audit(
        epsilon=math.log((likely - delta) / unlikely) if likely - delta > unlikely else 0.0,
        delta=delta,
        confidence=confidence,
        trials=trials,
        event=f"{question} is {event.relation} {event.threshold:.6g}",
        likely=likely,
        unlikely=unlikely,
    )


def shuffled_messages(protocol: ShuffledProtocol[Any]) -> Mechanism:
    """The output of the shuffler, which the guarantee of a shuffled protocol is about."""
    return lambda values, *, rng: shuffle(protocol.randomize(values, rng=rng), rng=rng)


def tallied_messages(protocol: ShuffledProtocol[Any]) -> Mechanism:
    """The tally of the messages, for protocols with too many messages to compare; hashes are decoded."""
    return lambda values, *, rng: decoded(protocol, protocol.tally(protocol.randomize(values, rng=rng))).as_dict()


def released_counts(protocol: CentralProtocol) -> Mechanism:
    """The published counts of a central protocol."""

    def release(values: ArrayLike, *, rng: np.random.Generator) -> dict[Any, float]:
        estimate = protocol.release(values, rng=rng)
        return dict(zip(estimate.symbols.tolist(), estimate.counts.tolist(), strict=True))

    return release


def _checked(delta: float, confidence: float) -> tuple[float, float]:
    return float(allowed_delta(delta)), open_probability("confidence", confidence)


def _differing_row(dataset: NDArray[Any], neighbour: NDArray[Any]) -> int:
    if dataset.shape != neighbour.shape or dataset.ndim != 1:
        raise ParameterError("dataset and neighbour must be flat and equally long: one value is replaced, none added")
    rows = np.flatnonzero(dataset != neighbour)
    if rows.size != 1:
        raise ParameterError(f"dataset and neighbour must differ in exactly one person's value, not in {rows.size}")
    return int(rows[0])


def _most_telling(
    dataset: NDArray[np.float64], neighbour: NDArray[np.float64], *, delta: float, failure: float
) -> _Event:
    """Return the event with the largest bound on epsilon, by a quick approximation of the confidence bounds."""
    score = math.sqrt(2 * math.log(1 / failure))  # a normal quantile, rounded up
    best, event = -math.inf, _Event(0, _RELATIONS[0], -math.inf, True)
    for question in range(dataset.shape[1]):
        thresholds = _thresholds(dataset[:, question], neighbour[:, question])
        one, other = (_shares(sample[:, question], thresholds) for sample in (dataset, neighbour))
        # shape: relation, which dataset the event is likely on, threshold
        likely, unlikely = np.stack([one, other], axis=1), np.stack([other, one], axis=1)
        bounds = _quick_bound(likely, unlikely, trials=len(dataset), delta=delta, score=score)
        if bounds.max() > best:
            best = bounds.max()
            relation, side, at = np.unravel_index(np.argmax(bounds), bounds.shape)
            event = _Event(question, _RELATIONS[relation], float(thresholds[at]), on_dataset=bool(side == 0))
    return event


def _thresholds(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    values = np.unique(np.concatenate([one, other]))
    if values.size <= _MOST_THRESHOLDS:
        return values
    chosen: NDArray[np.float64] = values[np.linspace(0, values.size - 1, _MOST_THRESHOLDS).astype(int)]
    return chosen


def _shares(sample: NDArray[np.float64], thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of a sample in which the event occurs: a row for each relation, a column for each threshold."""
    ordered = np.sort(sample)
    below, up_to = (np.searchsorted(ordered, thresholds, side=side) / sample.size for side in _SIDES)
    return np.stack([1 - below, up_to, up_to - below])


def _quick_bound(
    p: NDArray[np.float64], q: NDArray[np.float64], *, trials: int, delta: float, score: float
) -> NDArray[np.float64]:
    """ln((L - delta) / U) with Wilson's bounds."""
    lower, upper = (_wilson(share, trials, sign * score) for share, sign in ((p, -1), (q, 1)))
    bounds: NDArray[np.float64] = np.log(np.maximum(lower - delta, _NEVER) / upper)
    return bounds


def _wilson(share: NDArray[np.float64], trials: int, score: float) -> NDArray[np.float64]:
    square = score**2 / trials
    root = np.sqrt(share * (1 - share) / trials + square / (4 * trials))
    return (share + square / 2 + score * root) / (1 + square)


_MOST_EVENTS = 300
"""Neighbouring ones have nearly the same probability."""


def provable_epsilon(pair: Pair, *, trials: int, delta: float = 0.0, confidence: float = 0.99) -> float:
    """The best bound that `audit` can find for these two distributions: if it knew the best event.

    By Neyman and Pearson, no event of a given probability on one dataset is less likely on the other than "the
    likelihood ratio is at least r", so it belongs to one of these. To refute a guarantee, it must exceed it.
    """
    runs, failure = math.floor(trials * COUNTING_SHARE), (1 - confidence) / 2
    best = 0.0
    for way in (pair, pair.reversed):
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.argsort(-(way.one / way.other))
        likely, unlikely = (np.minimum(np.cumsum(distribution[order]), 1.0) for distribution in (way.one, way.other))
        events = np.flatnonzero(likely > delta)
        for at in events[:: max(1, events.size // _MOST_EVENTS)].tolist():
            low = lower_bound(round(likely[at] * runs), runs, failure=failure)
            high = upper_bound(round(unlikely[at] * runs), runs, failure=failure)
            if low - delta > high:
                best = max(best, math.log((low - delta) / high))
    return best

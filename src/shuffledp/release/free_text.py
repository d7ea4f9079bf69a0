"""Find the texts that many people of local data share: one release, or many seeded ones to compare with the truth.

The possible texts are not listed. The search works as in a collection: every message is made, and the tree of prefixes
is searched for those that many messages are consistent with. `simulate_texts` is not private.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.data.people import People, TrueCounts
from shuffledp.data.source import Source
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import ShortRepr
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.facts import RISK
from shuffledp.histogram.labels import NotAValue, NoText
from shuffledp.histogram.text_code import FIRST_PIECE, TextCode
from shuffledp.jsonable import plain
from shuffledp.ledger import Ledger, Spending
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE
from shuffledp.protocols.free_text import FreeText, LocalMessages, TextChoices
from shuffledp.release.evaluate import evaluate as evaluated
from shuffledp.release.limits import cautions, released_error, released_limit
from shuffledp.release.notes import Note, NoteKind, notes_on_rows
from shuffledp.release.release import Release
from shuffledp.release.simulate import checked_trials
from shuffledp.release.spec import PrivacySpec, check_delta
from shuffledp.validation import failure_probability, whole

ENTRY = CATALOGUE["hashed"]


def private_texts(
    data: Any,
    *,
    texts: TextChoices,
    epsilon: float,
    delta: float,
    column: Hashable | None = None,
    user: Hashable | None = None,
    drop_missing: bool = False,
    beta: float = 0.05,
    risk: float = RISK,
    evaluate: bool = False,
    ledger: Ledger | str | Path | None = None,
    processes: int = 1,
    progress: Progress = quiet,
    **reading: Any,
) -> Release:
    """Find the texts that many people share, with (epsilon, delta)-differential privacy for the whole release.

    `texts` has the choices of their code. With probability at most `risk` is any reported text held by nobody. The
    other parameters are those of `private_histogram`; `reading` is for files and engines.
    """
    asked = PrivacySpec(epsilon=epsilon, delta=delta, messages=True)
    check_delta(asked)
    beta, risk = failure_probability(beta), failure_probability(risk)
    spending = Spending(ledger)
    source = Source.of(data, column=column, user=user, drop_missing=drop_missing, **reading)
    with spending, People(source, progress=progress) as people:
        held = held_texts(people)
        search = texts.search(users=held.total(), epsilon=asked.epsilon, delta=asked.delta, beta=beta)
        protocol = search.protocol
        what = f"{source.name} (texts of up to {search.code.longest} bytes)"
        spending.entering(protocol, what=what, entry=ENTRY)()
        messages = LocalMessages(search, held, threads=processes)
        estimate = search.estimate_local(messages, beta=beta, risk=risk, progress=progress)
        estimate = replace(estimate, about=partial(protocol.facts), cap=source.cap)
        error = released_error(estimate, protocol)
        spent = spending.finish()
        return Release(
            estimate=estimate,
            protocol=protocol,
            title=ENTRY.title,
            column=source.name,
            messages=messages.made,
            error=error,
            detection_limit=released_limit(estimate, error, false_positives=ENTRY.false_positives),
            notes=(
                Note(NoteKind.MESSAGES, {"number": messages.made}),
                *(note for note in notes_on_rows(source) if note.kind is not NoteKind.MISSING_IS_A_VALUE),
                *([] if spent is None else [spent]),
            ),
            warnings=cautions(users=protocol.users, delta=asked.delta, error=error),
            evaluation=evaluated(estimate, [true_texts(search.code, held, estimate)]) if evaluate else None,
            asked={"column": source.name, **_asked(search.code, asked, user=user, beta=beta)},
        )


def _asked(code: TextCode, asked: PrivacySpec, **more: Any) -> dict[str, Any]:
    """The options of a release, as plain values."""
    chosen = {
        name: plain(value) for name, value in more.items() if value is not None and (name, value) != ("beta", 0.05)
    }
    pieces = {"pieces": "FILE"} if code.pieces else {"alphabet": code.alphabet, "width": code.width}
    steps = {"normalise": ",".join(code.normalisation) or "none"}
    privacy = {"epsilon": asked.epsilon, "delta": asked.delta}
    return {**privacy, **chosen, "free_text": code.longest, "levels": code.levels, **pieces, **steps}


def held_texts(people: People) -> Counter[str | None]:
    """The number of people of each text of local data, as it was written; None for people without one."""
    if people.source.in_sets or len(people.source.names) > 1 or people.source.possible is not None:
        raise ParameterError(
            "free_text must be used with one column and one text of each person: leave out where, domain, "
            "values_per_person and count_capped"
        )
    held: Counter[str | None] = Counter()
    for labels, numbers in people.named():
        for label, number in zip(labels, numbers.tolist(), strict=True):
            held[None if label is None else str(label)] += number
    if not held.total():
        raise DataError("data must have at least one row, got none")
    return held


def true_texts(code: TextCode, held: Mapping[str | None, int], estimate: Estimate) -> TrueCounts:
    """The true counts of all texts that anybody holds, and of reported labels, with their places in an estimate."""
    true: Counter[str | NoText] = Counter()
    for text, number in held.items():
        true[code.label(code.path(text))] += number
    places = {label: at for at, label in enumerate(estimate.labels.tolist())}
    for label in places:
        true[label] += 0
    at = np.array([places.get(label, -1) for label in true], dtype=np.int64)
    return TrueCounts(at, np.array(list(true.values()), dtype=np.int64))


@dataclass(frozen=True, kw_only=True)
class TextRow(ShortRepr):
    """A text of one simulated release: its true count, and its estimate with a simultaneous interval."""

    text: str
    true: int
    estimate: float
    low: int
    high: int


@dataclass(frozen=True, kw_only=True)
class TextTrial(ShortRepr):
    """One simulated release.

    Of the `frequent` texts, which at least `detection_limit` people hold, `found` are reported; of all `reported` texts
    `false_positives` are held by nobody. `covered` says whether all intervals hold the truth.
    """

    detection_limit: int
    unreported_high: int
    frequent: int
    found: int
    reported: int
    false_positives: int
    covered: bool
    largest_error: float
    seconds: float


@dataclass(frozen=True, eq=False, kw_only=True)
class TextSimulation(ShortRepr):
    """Many releases of the same texts, each compared with the truth. Not private.

    `planned_limit` is the detection limit before any answer; `rows` are the texts of the last release, largest first.
    """

    people: int
    texts: int
    epsilon: float
    delta: float
    beta: float
    risk: float
    levels: int
    pieces: int
    messages: float
    bytes: float
    planned_limit: int
    trials: tuple[TextTrial, ...]
    rows: tuple[TextRow, ...]

    @property
    def recall(self) -> float:
        """The share of the texts at or above the detection limit that were reported, over all releases."""
        frequent = sum(trial.frequent for trial in self.trials)
        return sum(trial.found for trial in self.trials) / frequent if frequent else 1.0

    @property
    def precision(self) -> float:
        """The share of reported texts that somebody holds, over all releases."""
        reported = sum(trial.reported for trial in self.trials)
        return 1 - sum(trial.false_positives for trial in self.trials) / reported if reported else 1.0

    @property
    def covered(self) -> float:
        """The share of releases in which all intervals held the truth; guaranteed to be at least 1 - beta."""
        return float(np.mean([trial.covered for trial in self.trials]))


def simulate_texts(
    data: Any,
    *,
    texts: TextChoices,
    epsilon: float,
    delta: float,
    trials: int,
    seed: int,
    column: Hashable | None = None,
    user: Hashable | None = None,
    drop_missing: bool = False,
    beta: float = 0.05,
    risk: float = RISK,
    processes: int = 1,
    progress: Progress = quiet,
    **reading: Any,
) -> TextSimulation:
    """Simulate many seeded releases of the same texts; the parameters are those of `private_texts`."""
    asked = PrivacySpec(epsilon=epsilon, delta=delta, messages=True)
    check_delta(asked)
    beta, risk, trials = failure_probability(beta), failure_probability(risk), checked_trials(trials)
    rng = np.random.default_rng(whole("seed", seed, minimum=0))
    source = Source.of(data, column=column, user=user, drop_missing=drop_missing, **reading)
    with People(source, progress=progress, rng=rng) as people:
        held = held_texts(people)
    search = texts.search(users=held.total(), epsilon=asked.epsilon, delta=asked.delta, beta=beta)
    found, rows = list[TextTrial](), tuple[TextRow, ...]()
    for trial in range(trials):

        def within(what: str, share: float, trial: int = trial) -> None:
            progress("simulating", (trial + share) / trials)

        one, rows = simulate_one(search, held, beta=beta, risk=risk, rng=rng, processes=processes, progress=within)
        found.append(one)
    return summed_up(search, found, rows, beta=beta, risk=risk, texts=len(held))


def simulate_one(
    search: FreeText,
    held: Mapping[str | None, int],
    *,
    rng: np.random.Generator,
    beta: float = 0.05,
    risk: float = RISK,
    processes: int = 1,
    progress: Progress = quiet,
) -> tuple[TextTrial, tuple[TextRow, ...]]:
    """Simulate one release of texts, and compare it with the truth."""
    messages = LocalMessages(search, held, threads=processes, rng=rng)
    start = time.perf_counter()
    estimate = search.estimate_local(messages, beta=beta, risk=risk, progress=progress)
    seconds = time.perf_counter() - start
    truth = true_texts(search.code, held, estimate)
    evaluation = evaluated(estimate, [truth])
    assert estimate.detection is not None
    texts = np.array([not isinstance(label, NotAValue) for label in estimate.labels.tolist()], dtype=bool)
    others = truth.at[truth.at >= 0][~texts[truth.at[truth.at >= 0]]]
    frequent = (truth.people >= estimate.detection.limit) & ~np.isin(truth.at, others)
    true = dict(zip(estimate.labels.tolist(), evaluation.true_counts.tolist(), strict=True))
    trial = TextTrial(
        detection_limit=estimate.detection.limit,
        unreported_high=estimate.simultaneous.unreported_high,
        frequent=int(frequent.sum()),
        found=int((frequent & (truth.at >= 0)).sum()),
        reported=int(texts.sum()),
        false_positives=int((texts & (evaluation.true_counts == 0)).sum()),
        covered=evaluation.covered,
        largest_error=evaluation.largest_error,
        seconds=seconds,
    )
    rows = tuple(
        TextRow(text=str(row.label), true=true[row.label], estimate=row.count, low=row.low, high=row.high)
        for row in estimate.top()
    )
    return trial, rows


def summed_up(
    search: FreeText,
    trials: list[TextTrial],
    rows: tuple[TextRow, ...],
    *,
    beta: float = 0.05,
    risk: float = RISK,
    texts: int,
) -> TextSimulation:
    """The simulation of these releases."""
    plan, guarantee = search.plan(beta=beta, risk=risk), search.protocol.guarantee
    assert guarantee is not None
    return TextSimulation(
        people=search.protocol.users,
        texts=texts,
        epsilon=guarantee.epsilon,
        delta=guarantee.delta,
        beta=beta,
        risk=risk,
        levels=search.code.levels,
        pieces=search.code.symbols - FIRST_PIECE,
        messages=plan.messages,
        bytes=plan.bytes,
        planned_limit=plan.detection_limit,
        trials=tuple(trials),
        rows=rows,
    )

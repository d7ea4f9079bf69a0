"""Texts of local data that many people share: releases, seeded simulations, and blocked words.

The possible texts are not listed. Every message is made, and the tree of prefixes is searched for those that many
messages are consistent with. Texts come from strangers, and a published one can be an insult or a link.
"""

from __future__ import annotations

import time
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp.data.people import People, TrueCounts
from shuffledp.data.source import Source
from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import ShortRepr
from shuffledp.histogram.estimate import Estimate
from shuffledp.histogram.facts import RISK
from shuffledp.histogram.intervals import Intervals
from shuffledp.histogram.labels import HIDDEN, NotAValue, NoText
from shuffledp.histogram.tally import as_symbols
from shuffledp.histogram.text_code import FIRST_PIECE, TextCode
from shuffledp.jsonable import plain
from shuffledp.ledger import Ledger, Spending
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE
from shuffledp.protocols.free_text import FreeText, LocalMessages, TextChoices
from shuffledp.release.choose import PrivacySpec, check_delta
from shuffledp.release.notes import Note, NoteKind, cautions, notes_on_rows, released_error, released_limit
from shuffledp.release.release import Release
from shuffledp.release.simulate import checked_trials
from shuffledp.release.simulate import evaluate as evaluated
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
    chosen = {
        name: plain(value) for name, value in more.items() if value is not None and (name, value) != ("beta", 0.05)
    }
    pieces = {"pieces": "FILE"} if code.pieces else {"alphabet": code.alphabet, "width": code.width}
    steps = {"normalise": ",".join(code.normalisation) or "none"}
    privacy = {"epsilon": asked.epsilon, "delta": asked.delta}
    return {**privacy, **chosen, "free_text": code.longest, "levels": code.levels, **pieces, **steps}


def held_texts(people: People) -> Counter[str | None]:
    """Return the number of people of each text as it was written; None for people without one."""
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
    """Return the true counts of all texts that anybody holds and of reported labels, with their places."""
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
    """A text of one simulated release, with its true count, estimate and simultaneous interval."""

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
    """Simulate many seeded releases of the same texts, with the parameters of `private_texts`. Not private."""
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
    """Return the simulation of these releases."""
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


MOST_ENTRIES = 100_000
"""Each is compared with every text that is shown."""

NOTE = f"Texts that the publisher has blocked are not shown. They are counted together as {HIDDEN}."

NOT_WITH_BLOCK = "a blocklist must be left out with an evaluation, and with several values of each person"

_WHOLE = "="
_MOST_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Blocklist(ShortRepr):
    """Texts that are not shown: those that contain one of `parts`, or are one of `wholes`, which a file has after =.

    Upper and lower case, and compatible characters such as full-width letters, are the same; invisible characters do
    not count. Letters of other scripts that look alike, and other spellings, need entries of their own.
    """

    parts: tuple[str, ...]
    wholes: frozenset[str]

    @classmethod
    def of(cls, entries: Iterable[str]) -> Blocklist:
        """Return the blocklist of these entries; empty ones are ignored."""
        folded = [entry for entry in map(_folded, entries) if entry.strip(_WHOLE)]
        if len(folded) > MOST_ENTRIES:
            raise ParameterError(f"a blocklist must have at most {MOST_ENTRIES:,} entries, got {len(folded):,}")
        wholes = {entry.removeprefix(_WHOLE).strip() for entry in folded if entry.startswith(_WHOLE)}
        return cls(tuple(entry for entry in folded if not entry.startswith(_WHOLE)), frozenset(wholes))

    @classmethod
    def read(cls, path: Path) -> Blocklist:
        """Read a blocklist from a file of UTF-8 text, one entry in each line."""
        try:
            with path.open("rb") as file:
                content = file.read(_MOST_BYTES + 1)
            if len(content) > _MOST_BYTES:
                raise DataError(f"the blocklist {path} must have at most {_MOST_BYTES:,} bytes")
            return cls.of(content.decode("utf-8-sig").splitlines())
        except OSError as error:
            raise DataError(f"the blocklist {path} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise DataError(f"the blocklist {path} must be UTF-8 text") from None

    def hides(self, label: Any) -> bool:
        """Return whether a label is not shown; labels that are not text always are."""
        if isinstance(label, tuple):
            return any(map(self.hides, label))
        if not isinstance(label, str):
            return False
        text = _folded(label)
        return text in self.wholes or any(part in text for part in self.parts)


def _folded(text: str) -> str:
    seen = "".join(char for char in text if unicodedata.category(char) != "Cf")  # soft hyphens, zero-width spaces
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold()).strip()


def hide(release: Release, block: Blocklist | None) -> Release:
    """Return a release in which blocked texts are counted together as (hidden).

    The interval of that row is the sum of their simultaneous intervals, so it holds with all others at once. This only
    processes what is released, so it costs no privacy. A release that shows every listed value is returned unchanged:
    the list is public. So are the choices of a task that allows several.
    """
    estimate = release.estimate
    if block is None or estimate.reports_all or (release.collected and estimate.values_per_person > 1):
        return release
    if release.evaluation is not None or estimate.values_per_person > 1:
        raise ParameterError(NOT_WITH_BLOCK)
    labels = estimate.labels.tolist()
    hidden = np.array([block.hides(label) for label in labels], dtype=bool)
    if not hidden.any():
        return release
    hidden |= np.array([label == HIDDEN for label in labels])  # hidden before, with a shorter list
    notes = (*(note for note in release.notes if note != NOTE), NOTE)
    return replace(release, estimate=_together(estimate, hidden), notes=notes)


def _together(estimate: Estimate, hidden: NDArray[np.bool_]) -> Estimate:
    """The estimate with one bin in place of all hidden ones, at the end."""
    bounds = estimate.simultaneous.possible(estimate.people)
    most = min(estimate.people, int(bounds.high[hidden].sum()))
    total = float(estimate.counts[hidden].sum())
    ends = min(int(bounds.low[hidden].sum()), most), max(most, int(np.ceil(total)))

    def joined(intervals: Intervals) -> Intervals:
        low, high = (
            np.append(end[~hidden], one) for end, one in zip((intervals.low, intervals.high), ends, strict=True)
        )
        return replace(intervals, low=low, high=high)

    return replace(
        estimate,
        symbols=as_symbols([*estimate.labels[~hidden].tolist(), HIDDEN]),
        domain=None if estimate.domain is None else estimate.domain.implicit(estimate.bins),
        counts=np.append(estimate.counts[~hidden], total),
        per_bin=joined(estimate.per_bin),
        simultaneous=joined(estimate.simultaneous),
    )

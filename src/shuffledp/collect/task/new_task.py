"""Make a task: the planner chooses the protocol and its parameters by error and number of messages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from shuffledp.collect.task.answers import (
    MOST_LISTED,
    AnswerChoices,
    AnswerEdges,
    AnswerRange,
    Answers,
    AnswerText,
    kind_of,
)
from shuffledp.collect.task.guarantee import CODECS, HASHED, RANGES, is_padded, possible_protocols, write_parameters
from shuffledp.collect.task.public_file import decimal_text, moment_in_text
from shuffledp.collect.task.servers import Place
from shuffledp.collect.task.task import BETA, SECOND_VERSION, VERSION, Admission, Claim, Named, Task
from shuffledp.errors import ParameterError
from shuffledp.estimators.supports import MOST_VALUES
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import named
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.shuffled.dummy import DummyHistogram
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.protocols.shuffled.hashed_noise import DUMMIES
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram, most_messages
from shuffledp.protocols.target import Target
from shuffledp.release.choose import choose
from shuffledp.release.spec import PrivacySpec

POISSON = "dummy-poisson"
"""The name in the catalogue. The planner does not use it for local data, where no report is padded."""

SHORTER = 4
"""Hashed values are used where reports have this many times fewer messages. A report of up to 20 messages has 1 kB,
less than the connection that carries it, so making it shorter would not be worth a larger error."""

ACCEPTABLE = 1.25
"""The largest error of hashed values, as a multiple of the error of the protocol that is chosen otherwise. With four
dummies the standard deviation is 1.12 times as large, and few people have a slightly larger factor in the tail."""


def new_task(
    *,
    question: str,
    answers: Answers,
    users: int,
    epsilon: float,
    delta: float,
    shufflers: Sequence[Place],
    analyzer: Place,
    opens: datetime,
    closes: datetime,
    honest_users: int | None = None,
    protocol: str | None = None,
    dummies: float = DUMMIES,
    time_precision: int = 3600,
    admission: Admission = "anybody",
    asker: str | None = None,
    purpose: str | None = None,
    contact: str | None = None,
    language: str | None = None,
    progress: Progress = quiet,
) -> Task:
    """Make a task with batches of `users` people and (epsilon, delta)-privacy for each person.

    The noise of `honest_users` of them suffices. `protocol` is a name of the catalogue. By default the planner chooses:
    Poisson dummies where these are no worse, and hashed values where reports are then far shorter. `dummies` is the
    number of dummies for each piece of a text: more of them make reports longer and the error smaller. `asker`,
    `purpose`, `contact` and `language` tell people who asks (asker.py).
    """
    if protocol is not None and protocol not in CODECS:
        raise ParameterError(f"protocol must be one of {', '.join(CODECS)} in a task, got {protocol!r}")
    answers.check()
    if protocol is not None and protocol not in (possible := possible_protocols(answers)):
        raise ParameterError(
            f"protocol must be {' or '.join(possible)} for answers of kind {kind_of(answers)}, got {protocol!r}"
        )
    most = answers.most if isinstance(answers, AnswerChoices) else 0
    target = Target(
        users=users,
        bins=answers.code.values if isinstance(answers, AnswerText) else answers.size + 2,
        epsilon=epsilon,
        delta=delta,
        honest_users=honest_users,
        values_per_person=max(1, most),
        padding_bins=most,
    )
    made: ShuffledHistogram | Ranges
    if isinstance(answers, AnswerText):
        name, made = HASHED, _for_texts(target, answers, dummies=dummies)
    elif isinstance(answers, AnswerEdges):
        name, made = RANGES, Ranges.for_target(target, dummies="poisson")
    else:
        name, made = _for_bins(target, protocol=protocol, progress=progress)
    task = Task(
        version=VERSION if asker is purpose is contact is language is None else SECOND_VERSION,
        question=question,
        answers=answers,
        protocol_used=Named(name, write_parameters(name, made)),
        claim=Claim(decimal_text(epsilon), decimal_text(delta)),
        users=users,
        honest_users=target.honest,
        most_messages=most_messages(_sent(made), delta=delta, epsilon=epsilon),
        opening=moment_in_text(opens),
        closing=moment_in_text(closes),
        time_precision=time_precision,
        admission=admission,
        shufflers=list(shufflers),
        analyzer=analyzer,
        asker=asker,
        purpose=purpose,
        contact=contact,
        language=language,
    )
    task.check()  # the written parameters give the guarantee
    return task


def gain_of_edges(task: Task) -> float:
    """Return how many times as narrow quantiles would be with the numbers of a range as intervals between edges.

    Infinite if a release of the task shows no quantiles; 1 for answers that are no range, or if edges are impossible.
    Only the public numbers of the task matter.
    """
    numbers, claimed = task.answers, task.guarantee
    if not isinstance(numbers, AnswerRange):
        return 1.0
    if numbers.size > MOST_LISTED:
        return math.inf
    target = Target(
        users=task.users,
        bins=numbers.size + 4,  # also an interval below, one above, (other) and (none)
        epsilon=claimed.epsilon,
        delta=claimed.delta,
        honest_users=task.honest_users,
    )
    try:
        tree = Ranges.for_target(target, dummies="poisson")
    except ParameterError:
        return 1.0
    flat = task.ranges()
    return math.inf if flat is None else flat.deviation / tree.deviation


def _for_bins(target: Target, *, protocol: str | None, progress: Progress) -> tuple[str, ShuffledHistogram]:
    """The protocol for listed answers, and its name."""
    if protocol == HASHED and target.bins > MOST_VALUES:
        raise ParameterError(f"answers must be at most {MOST_VALUES - 2:,} for {HASHED}, got {target.bins - 2:,}")
    asked = PrivacySpec(epsilon=target.epsilon, delta=target.delta, protocol=protocol, messages=True)  # type: ignore[arg-type]
    try:
        name, made = _planned(target, asked, progress=progress)
    except ParameterError:
        if protocol is None and target.bins > MOST_VALUES:
            raise ParameterError(
                f"answers must be at most {MOST_VALUES - 2:,} for short reports, got {target.bins - 2:,}: list fewer "
                "answers, or ask for any text"
            ) from None
        raise
    hashed = _if_possible(HASHED, target) if protocol is None and _may_be_hashed(target) else None
    if hashed is not None and _is_shorter(hashed, name, made, target):
        return HASHED, hashed
    return name, made


def _may_be_hashed(target: Target) -> bool:
    return target.bins <= MOST_VALUES and target.values_per_person == 1


def _planned(target: Target, asked: PrivacySpec, *, progress: Progress) -> tuple[str, ShuffledHistogram]:
    """The planner's choice, or Poisson dummies where these are no worse."""
    chosen = choose(target, asked, beta=BETA, listed=True, progress=progress)
    made = chosen.protocol
    assert isinstance(made, ShuffledHistogram)
    poisson = _if_possible(POISSON, target) if asked.protocol is None else None
    if poisson is not None and (chosen.name == "dummy" or _is_no_worse(poisson, made, target)):
        return POISSON, poisson
    return chosen.name, made


def _for_texts(target: Target, answers: AnswerText, *, dummies: float) -> HashedHistogram:
    """The protocol for texts."""
    code = answers.code
    return HashedHistogram.for_levels(target, levels=code.levels, pieces=code.symbols, dummies=dummies)


def _sent(made: ShuffledHistogram | Ranges) -> ShuffledHistogram:
    """The protocol whose messages are sent."""
    if not isinstance(made, Ranges):
        return made
    assert isinstance(made.nodes, DummyHistogram)
    return made.nodes


def _if_possible(name: str, target: Target) -> ShuffledHistogram | None:
    """The protocol of a name; None where epsilon is too small for it."""
    try:
        made = named(name).make(target)
    except ParameterError:
        return None
    assert isinstance(made, ShuffledHistogram)
    return made


def _is_no_worse(one: ShuffledHistogram, other: ShuffledHistogram, target: Target) -> bool:
    """Whether `one` has neither a larger error nor longer reports than `other`."""
    if one.error(BETA).simultaneous > other.error(BETA).simultaneous:
        return False
    return _longest(one, target) <= _longest(other, target)


def _longest(protocol: ShuffledHistogram, target: Target) -> int:
    """The most messages of a report in a new task."""
    return most_messages(protocol, delta=target.delta, epsilon=target.epsilon)


def _is_shorter(hashed: ShuffledHistogram, name: str, other: ShuffledHistogram, target: Target) -> bool:
    """Whether reports of hashed values are far shorter than those of another protocol, at an acceptable error."""
    if hashed.error(BETA).simultaneous > ACCEPTABLE * other.error(BETA).simultaneous:
        return False
    sent = _longest(other, target) if is_padded(name) else other.messages_per_user.expected
    return hashed.messages_per_user.expected * SHORTER <= sent

"""Make a task or a series: the planner chooses the protocol and its parameters by error and number of messages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from shuffledp.accounting.calibration import guarantee_of_one, rounds_of
from shuffledp.accounting.composition import composed
from shuffledp.collect.task.answers import (
    MOST_LISTED,
    AnswerChoices,
    AnswerEdges,
    AnswerRange,
    Answers,
    AnswerText,
    kind_of,
)
from shuffledp.collect.task.guarantee import (
    CODECS,
    HASHED,
    RANGES,
    Claim,
    Named,
    is_padded,
    possible_protocols,
    write_parameters,
)
from shuffledp.collect.task.public_file import decimal_text, moment_in_text
from shuffledp.collect.task.series import LONGEST_PERIOD, Series, common_fields
from shuffledp.collect.task.servers import SECOND_VERSION, VERSION, Place, Servers
from shuffledp.collect.task.task import BETA, Admission, Task
from shuffledp.errors import ParameterError
from shuffledp.estimators.supports import MOST_VALUES
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import named
from shuffledp.protocols.message_limit import LimitCost
from shuffledp.protocols.ranges import Ranges
from shuffledp.protocols.shuffled.dummy import DummyHistogram
from shuffledp.protocols.shuffled.hashed import DUMMIES, HashedHistogram
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram, most_messages
from shuffledp.protocols.target import Target
from shuffledp.release.choose import PrivacySpec, choose
from shuffledp.validation import target_delta, target_epsilon, whole

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

    The noise of `honest_users` of them suffices. `protocol` is a name of the catalogue; by default the planner chooses,
    also Poisson dummies where these are no worse, and hashed values where reports are then far shorter. `dummies` is
    the number of dummies for each piece of a text: more make reports longer and the error smaller. `asker`, `purpose`,
    `contact` and `language` tell people who asks.
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
        code = answers.code
        name = HASHED
        made = HashedHistogram.for_levels(target, levels=code.levels, pieces=code.symbols, dummies=dummies)
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
    if protocol == HASHED and target.bins > MOST_VALUES:
        raise ParameterError(f"answers must be at most {MOST_VALUES - 2:,} for {HASHED}, got {target.bins - 2:,}")
    asked = PrivacySpec(epsilon=target.epsilon, delta=target.delta, protocol=protocol, messages=True)  # type: ignore[arg-type]
    try:
        chosen = choose(target, asked, beta=BETA, listed=True, progress=progress)
    except ParameterError:
        if protocol is None and target.bins > MOST_VALUES:
            raise ParameterError(
                f"answers must be at most {MOST_VALUES - 2:,} for short reports, got {target.bins - 2:,}: list fewer "
                "answers, or ask for any text"
            ) from None
        raise
    name, made = chosen.name, chosen.protocol
    assert isinstance(made, ShuffledHistogram)
    if protocol is not None:
        return name, made
    poisson = _if_possible(POISSON, target)
    if poisson is not None and (name == "dummy" or _is_no_worse(poisson, made, target)):
        name, made = POISSON, poisson
    if target.bins <= MOST_VALUES and target.values_per_person == 1:
        hashed = _if_possible(HASHED, target)
        if hashed is not None and _is_shorter(hashed, name, made, target):
            return HASHED, hashed
    return name, made


def _sent(made: ShuffledHistogram | Ranges) -> ShuffledHistogram:
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
    return most_messages(protocol, delta=target.delta, epsilon=target.epsilon)


def _is_shorter(hashed: ShuffledHistogram, name: str, other: ShuffledHistogram, target: Target) -> bool:
    """Whether reports of hashed values are far shorter than those of another protocol, at an acceptable error."""
    if hashed.error(BETA).simultaneous > ACCEPTABLE * other.error(BETA).simultaneous:
        return False
    sent = _longest(other, target) if is_padded(name) else other.messages_per_user.expected
    return hashed.messages_per_user.expected * SHORTER <= sent


_STEP = 3600
"""The default time precision in seconds, where a period is at least as long."""


def new_series(
    *,
    question: str,
    answers: Answers,
    users: int,
    epsilon: float,
    delta: float,
    rounds: int,
    period: int,
    servers: Sequence[Servers] | None = None,
    shufflers: Sequence[Place] = (),
    analyzer: Place | None = None,
    opens: datetime,
    honest_users: int | None = None,
    protocol: str | None = None,
    dummies: float = DUMMIES,
    time_precision: int | None = None,
    admission: Admission = "anybody",
    asker: str | None = None,
    purpose: str | None = None,
    contact: str | None = None,
    language: str | None = None,
    progress: Progress = quiet,
) -> Series:
    """Make a series of `rounds` rounds of `period` seconds, (epsilon, delta)-private for a person who answers all.

    `servers` has one entry for each round; `shufflers` and `analyzer` are instead the same in all rounds. Everything
    else is as for `new_task`. One round has the delta of all divided by `rounds` (accounting/calibration.py says why)
    and the largest epsilon whose composition is within the total.
    """
    rounds, epsilon, delta = rounds_of(rounds), target_epsilon(epsilon), target_delta(delta)
    period = whole("period", period)
    if period > LONGEST_PERIOD:
        raise ParameterError(f"period must be at most {LONGEST_PERIOD} seconds (ten years), got {period}")
    try:
        _ = opens + timedelta(seconds=period) * rounds
    except OverflowError:
        raise ParameterError("the last round must end before the year 10000: choose an earlier start") from None
    places = _places(servers, shufflers, analyzer, rounds=rounds)
    precision = min(_STEP, period) if time_precision is None else time_precision

    def one_round(each: float, share: float, name: str | None) -> Task:
        task = new_task(
            question=question,
            answers=answers,
            users=users,
            epsilon=each,
            delta=share,
            shufflers=places[0].shufflers,
            analyzer=places[0].analyzer,
            opens=opens,
            closes=opens + timedelta(seconds=period),
            honest_users=honest_users,
            protocol=name,
            dummies=dummies,
            time_precision=precision,
            admission=admission,
            asker=asker,
            purpose=purpose,
            contact=contact,
            language=language,
            progress=progress,
        )
        # the limit of a round is chosen for the epsilon of all rounds, which is larger
        return replace(task, most_messages=most_messages(task.protocol, delta=share, epsilon=epsilon))

    name = protocol  # the planner chooses for the first guess of one round's guarantee

    def reached(each: float, share: float) -> float:
        nonlocal name
        task = one_round(each, share, name)
        name = task.protocol_used.name
        cost = LimitCost.of(task.protocol, task.most_messages).times(rounds)
        return cost.delta(composed([task.protocol.privacy] * rounds).delta, epsilon)

    found = guarantee_of_one(reached, rounds=rounds, epsilon=epsilon, delta=delta)
    task = one_round(found.epsilon, found.delta, name)
    series = Series(
        kind="series",
        version=task.version,
        total_claim=Claim(decimal_text(epsilon), decimal_text(delta)),
        opening=moment_in_text(opens),
        period=period,
        rounds=rounds,
        servers=places,
        **common_fields(task),
    )
    series.check()  # the written parameters give both guarantees
    return series


def _places(
    servers: Sequence[Servers] | None, shufflers: Sequence[Place], analyzer: Place | None, *, rounds: int
) -> list[Servers]:
    if servers is None:
        if analyzer is None or not shufflers:
            raise ParameterError("servers must be given, or shufflers and analyzer for all rounds")
        return [Servers(list(shufflers), analyzer)]
    if shufflers or analyzer is not None:
        raise ParameterError("servers must not be given together with shufflers or analyzer")
    if len(servers) not in (1, rounds):
        raise ParameterError(f"servers must have one entry for each of {rounds} rounds, or one, got {len(servers)}")
    return list(servers)

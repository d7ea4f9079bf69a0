"""Make a series: the planner's protocol for one round, with noise such that all rounds compose to the guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from shuffledp.accounting.calibration import guarantee_of_one, rounds_of
from shuffledp.accounting.composition import composed
from shuffledp.collect.task.answers import Answers
from shuffledp.collect.task.asker import asker_fields
from shuffledp.collect.task.new_task import new_task
from shuffledp.collect.task.public_file import decimal_text, moment_in_text
from shuffledp.collect.task.series import LONGEST_PERIOD, SECOND_SERIES_VERSION, SERIES_VERSION, Series
from shuffledp.collect.task.servers import Place, Servers
from shuffledp.collect.task.task import Admission, Claim, Task
from shuffledp.errors import ParameterError
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.message_limit import LimitCost
from shuffledp.protocols.shuffled.hashed import DUMMIES
from shuffledp.protocols.shuffled_histogram import most_messages
from shuffledp.validation import target_delta, target_epsilon, whole

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
    else is as for `new_task`. The guarantee of one round has the delta of all divided by `rounds`
    (accounting/calibration.py says why) and the largest epsilon whose composition is within the total.
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
        version=SECOND_SERIES_VERSION if asker_fields(task) else SERIES_VERSION,
        question=question,
        answers=answers,
        protocol_used=task.protocol_used,
        claim=task.claim,
        total_claim=Claim(decimal_text(epsilon), decimal_text(delta)),
        users=task.users,
        honest_users=task.honest_users,
        most_messages=task.most_messages,
        opening=moment_in_text(opens),
        period=period,
        rounds=rounds,
        time_precision=precision,
        admission=admission,
        servers=places,
        **asker_fields(task),
    )
    series.check()  # the written parameters give both guarantees
    return series


def _places(
    servers: Sequence[Servers] | None, shufflers: Sequence[Place], analyzer: Place | None, *, rounds: int
) -> list[Servers]:
    """The servers of all rounds."""
    if servers is None:
        if analyzer is None or not shufflers:
            raise ParameterError("servers must be given, or shufflers and analyzer for all rounds")
        return [Servers(list(shufflers), analyzer)]
    if shufflers or analyzer is not None:
        raise ParameterError("servers must not be given together with shufflers or analyzer")
    if len(servers) not in (1, rounds):
        raise ParameterError(f"servers must have one entry for each of {rounds} rounds, or one, got {len(servers)}")
    return list(servers)

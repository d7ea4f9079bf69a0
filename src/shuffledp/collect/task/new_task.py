"""Make a task: the planner chooses the protocol and its parameters by error and number of messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from shuffledp.collect.task.guarantee import CODECS, write_parameters
from shuffledp.collect.task.schema import Answers, decimal_text
from shuffledp.collect.task.task import BETA, VERSION, Admission, Claim, Named, Place, Task, moment_in_text
from shuffledp.errors import ParameterError
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import named
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram, most_messages
from shuffledp.protocols.target import Target
from shuffledp.release.choose import choose
from shuffledp.release.spec import PrivacySpec

POISSON = "dummy-poisson"
"""The name in the catalogue. The planner does not use it for local data, where no report is padded."""


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
    time_precision: int = 3600,
    admission: Admission = "anybody",
    progress: Progress = quiet,
) -> Task:
    """Make a task with batches of `users` people and (epsilon, delta)-privacy for each person.

    The noise of `honest_users` of them suffices. `protocol` is a name of the catalogue; by default the planner chooses,
    and uses Poisson dummies where these are no worse.
    """
    if protocol is not None and protocol not in CODECS:
        raise ParameterError(f"protocol must be one of {', '.join(CODECS)} in a task, got {protocol!r}")
    answers.check()
    target = Target(
        users=users, bins=answers.size + 2, epsilon=epsilon, delta=delta, honest_users=honest_users, padding_bins=0
    )
    asked = PrivacySpec(epsilon=epsilon, delta=delta, protocol=protocol, messages=True)  # type: ignore[arg-type]
    chosen = choose(target, asked, beta=BETA, listed=True, progress=progress)
    name, made = chosen.name, chosen.protocol
    assert isinstance(made, ShuffledHistogram)
    poisson = _poisson_dummies(target) if protocol is None else None
    if poisson is not None and (name == "dummy" or _is_no_worse(poisson, made, delta=delta)):
        name, made = POISSON, poisson
    task = Task(
        version=VERSION,
        question=question,
        answers=answers,
        protocol_used=Named(name, write_parameters(name, made)),
        claim=Claim(decimal_text(epsilon), decimal_text(delta)),
        users=users,
        honest_users=target.honest,
        most_messages=most_messages(made, delta=delta),
        opening=moment_in_text(opens),
        closing=moment_in_text(closes),
        time_precision=time_precision,
        admission=admission,
        shufflers=list(shufflers),
        analyzer=analyzer,
    )
    task.check()  # the written parameters give the guarantee
    return task


def _poisson_dummies(target: Target) -> ShuffledHistogram | None:
    """The protocol with about the error of binomial dummies, without padding, and for groups of any size.

    None where epsilon is too small for it.
    """
    try:
        made = named(POISSON).make(target)
    except ParameterError:
        return None
    assert isinstance(made, ShuffledHistogram)
    return made


def _is_no_worse(one: ShuffledHistogram, other: ShuffledHistogram, *, delta: float) -> bool:
    """Whether `one` has neither a larger error nor longer reports than `other`."""
    if one.error(BETA).simultaneous > other.error(BETA).simultaneous:
        return False
    return most_messages(one, delta=delta) <= most_messages(other, delta=delta)

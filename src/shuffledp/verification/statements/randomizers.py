"""What people send, against what the protocol's definition says: the shipped samplers are run as they are deployed.

Nothing passes a generator, so every draw has fresh cryptographic randomness: a sampler that repeats itself is noticed
like one with the wrong law. One person at a time is how a protocol is deployed; many people at once is how it is
simulated and tested; `sample_tally` is what engines use. All three must have the same law.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from shuffledp.pipeline.shuffler import shuffle
from shuffledp.verification.drawn.agreement import Agreement, Number, agreement, counted, sum_agreement, worst_of
from shuffledp.verification.drawn.specimen import FloatLaw, Specimen
from shuffledp.verification.drawn.specimens import SPECIMENS
from shuffledp.verification.statements.verdict import DRAWN, ONE_BY_ONE, TOGETHER, Verdict

_DEFINITION = "the law of the protocol's definition"

ONE_PERSON = 1000
"""Calls for one person's value. A chance of 1/4 that is 30 % too small or too large as a standard deviation (0.12 or
0.42) is then off by 9 or more standard deviations, where a row fails from about 6.6 on: it is found but for one run in
a thousand, and always by the crowd."""
FEW_PEOPLE = 400
"""Runs of a few people together, which show people or bins that share their noise."""
_SHARES_ALONE = 100
"""People who make shares in calls of their own, which must differ from call to call."""
CROWD = 20_000
"""People of one call, which shows a chance of 1/4 that is off by a tenth."""


def of_specimen(name: str) -> Iterator[Verdict]:
    """One person at a time, a few people together, a drawn tally, and a crowd."""
    specimen = SPECIMENS[name]()
    title = type(specimen.protocol).__name__
    yield Verdict.counted(
        worst_of([_one_by_one(specimen, value) for value in specimen.values]),
        statement=f"{title}, messages",
        claim=f"share of {ONE_PERSON} calls, {ONE_BY_ONE}",
        ran=ONE_BY_ONE,
        oracle=_DEFINITION,
    )
    people = len(specimen.dataset)
    yield Verdict.counted(
        _tallies(specimen, lambda: specimen.protocol.tally(shuffle(specimen.protocol.randomize(specimen.dataset)))),
        statement=f"{title}, tally of messages",
        claim=f"share of {FEW_PEOPLE} runs, {people} people {TOGETHER}",
        ran=TOGETHER,
        oracle=_DEFINITION,
    )
    alike = specimen.with_dataset((specimen.values[0],) * people)  # all others are then held by nobody
    yield Verdict.counted(
        worst_of([_drawn(some) for some in (specimen, alike)]),
        statement=f"{title}, tally that is drawn",
        claim=f"share of {FEW_PEOPLE} draws, for two datasets",
        ran=DRAWN,
        oracle=_DEFINITION,
    )
    yield Verdict.counted(
        worst_of(list(_crowds(specimen))),
        statement=f"{title}, crowd",
        claim=f"average of {CROWD:,} people {TOGETHER}",
        ran=TOGETHER,
        oracle=_DEFINITION,
    )


def _one_by_one(specimen: Specimen, value: Any) -> Agreement:
    sent = [specimen.spell(specimen.protocol.randomize(value)) for _ in range(ONE_PERSON)]
    law = specimen.messages(value)
    return agreement(sent, law, numbers=_looked_at(specimen, law), complete=specimen.complete)


def _drawn(specimen: Specimen) -> Agreement:
    return _tallies(specimen, lambda: specimen.protocol.sample_tally(specimen.counts))


def _tallies(specimen: Specimen, draw: Callable[[], Any]) -> Agreement:
    law = specimen.tally_law
    drawn = [_row(specimen, draw().counts) for _ in range(FEW_PEOPLE)]
    return agreement(drawn, law, numbers=_coordinates(next(iter(law))), complete=specimen.complete)


def _row(specimen: Specimen, counts: Any) -> Hashable:
    """The counts of a tally as a tuple; the sum of shares is a number modulo q."""
    row = tuple(int(count) for count in np.ravel(counts))
    return specimen.spell(np.array(row)) if specimen.modulus is not None else row


def _crowds(specimen: Specimen) -> Iterator[Agreement]:
    """How much a crowd of people with one value adds to each count; of shares, whether every bit is a fair coin."""
    protocol = specimen.protocol
    if specimen.shares is not None and specimen.modulus is not None:
        people, bits = CROWD // specimen.shares, specimen.modulus.bit_length() - 1
        shares = protocol.randomize(np.zeros(people)).reshape(people, specimen.shares)
        for column in shares.T:
            yield _fair_bits(column, bits=bits)
        alone = np.array([protocol.randomize(0.0)[0] for _ in range(_SHARES_ALONE)])
        yield _fair_bits(alone, bits=bits)
        return
    for value in specimen.values:
        messages = protocol.randomize(np.full(CROWD, value))
        law = specimen.addition(value)
        for at, total in enumerate(np.ravel(protocol.tally(messages).counts).tolist()):
            mean = sum(p * row[at] for row, p in law.items())
            variance = sum(p * (row[at] - mean) ** 2 for row, p in law.items())
            yield sum_agreement(total, draws=CROWD, mean=mean, variance=variance, largest=max(row[at] for row in law))
        if messages.dtype.names and "multiplier" in messages.dtype.names:
            yield from (_fair_bits(messages[name]) for name in ("multiplier", "offset"))


def _fair_bits(words: Any, *, bits: int = 64) -> Agreement:
    """Uniform words: every bit is a fair coin."""
    ones = [(0.5, int(np.count_nonzero(words >> np.uint64(bit) & np.uint64(1)))) for bit in range(bits)]
    return counted(ones, draws=words.size)


def _looked_at(specimen: Specimen, law: FloatLaw) -> list[Number]:
    """How many messages there are of each kind and together; the parts of an outcome that is a row of counts."""
    if not specimen.complete:
        return _coordinates(next(iter(law)))
    kinds = {message for messages in law for message in messages}
    return [len, *(_number_of(kind) for kind in kinds)]


def _number_of(kind: Any) -> Number:
    return lambda messages: messages.count(kind)


def _coordinates(example: Any) -> list[Number]:
    """Every count, and the sum and the difference of the first two, which show noise that bins share."""
    each: list[Number] = [_part(at) for at in range(len(example))]
    if len(example) > 1:
        each += [lambda row: row[0] + row[1], lambda row: row[0] - row[1]]
    return each


def _part(at: int) -> Number:
    return lambda row: row[at]

"""Calibrations for people who hold several values, against the counts that their sets move, listed one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shuffledp.noise import Binomial
from shuffledp.pipeline.sets import NONE, filled_up
from shuffledp.protocols import DummyHistogram, Histogram, LaplaceHistogram
from shuffledp.protocols.protocol import HistogramProtocol
from shuffledp.protocols.target import Target
from shuffledp.verification.exact import pairs
from shuffledp.verification.exact.pairs import Pair
from shuffledp.verification.statements.verdict import ENUMERATED, RECOMPUTED, Verdict

_VALUES = 2
_TARGET = Target(users=100, bins=4, epsilon=1.0, delta=0.01, honest_users=80, values_per_person=_VALUES)
"""As few people as need no more noise than can be listed for four counts at once."""

_REACH = 150
"""Discrete Laplace noise is listed up to here, beyond which lies less than 1e-14."""


def several_values() -> Iterator[Verdict]:
    """Two values each: promises beside four moved counts, and what a set is filled up with."""
    hist, dummy = Histogram.for_target(_TARGET), DummyHistogram.for_target(_TARGET)
    assert isinstance(dummy.noise, Binomial)
    yield from _promise("Histogram", hist, pairs.near_the_mean(_TARGET.honest, hist.missing_probability))
    yield from _promise("DummyHistogram", dummy, pairs.near_the_mean(_TARGET.honest, dummy.noise.probability))
    laplace = LaplaceHistogram.for_target(_TARGET)
    yield from _promise("LaplaceHistogram", laplace, pairs.discrete_laplace(laplace.noise.decay, reach=_REACH))
    yield _fillers()


def _promise(title: str, protocol: HistogramProtocol, law: NDArray[np.float64]) -> Iterator[Verdict]:
    each = [Pair.shifted(law, by) for by in (1, -1) for _ in range(_VALUES)]
    exact = pairs.worse_way(each, float(pairs.exponential_above(_TARGET.epsilon)))
    for words, claimed in (
        ("promise", _TARGET.delta),
        ("curve of what was chosen", protocol.privacy.delta(_TARGET.epsilon)),
    ):
        yield Verdict.at_most(
            statement=f"{title} of {_VALUES} values each, {words}",
            claim=f"delta at epsilon {_TARGET.epsilon:g}, {_TARGET.honest} of {_TARGET.users} honest",
            claimed=claimed,
            exact=exact,
            basis=RECOMPUTED,
            oracle=f"{2 * _VALUES} moved counts, listed",
            rounded=pairs.ROUNDED,
        )


def _fillers() -> Verdict:
    """The most by which one bin differs between any two people's sets: one, since everybody holds it once at most."""
    real, each = 4, 3
    held = [
        filled_up([row], bins=real + each, each=each, fillers=each)[0]
        for row in ([0, 1, 2], [3, NONE, NONE], [NONE, 2, 0], [NONE, NONE, NONE])
    ]
    moved = max(int(np.bincount(row, minlength=real + each).max()) for row in held)
    return Verdict.at_most(
        statement="Sets, filled up",
        claim="by how much one person moves one count",
        claimed=1.0,
        exact=float(moved) if all(math.prod(row.shape) == each for row in held) else math.inf,
        basis=ENUMERATED,
        oracle="sets of every size, counted",
    )

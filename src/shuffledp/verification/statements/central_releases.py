"""What a curator publishes, against the law of the noisy counts: `release` is run as it is deployed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from shuffledp.protocols.central.curator import Curator
from shuffledp.verification.drawn.agreement import agreement
from shuffledp.verification.statements import small_outputs
from shuffledp.verification.statements.verdict import DRAWN, Verdict

_RUNS = 500
_REACH = 120
"""Where noise is listed up to: beyond it lies less than 1e-9."""
_LEFT_OUT = -1
"""In place of the count of a bin that is not published."""


def of_name(name: str) -> Iterator[Verdict]:
    """The releases of a central protocol."""
    if name in _RELEASES:
        yield from _RELEASES[name]()


def _laplace() -> Iterator[Verdict]:
    """Two bins of three people and one, every count with noise of its own."""
    protocol = small_outputs.laplace_histogram()
    yield _released(protocol, (3, 1), threshold=None)


def _stability() -> Iterator[Verdict]:
    """A bin of ten people, and one of eight, that are published if their noisy counts are large enough."""
    protocol = small_outputs.stability_histogram()
    yield _released(protocol, (10, 8), threshold=protocol.threshold)


def _released(protocol: Curator, counts: tuple[int, int], *, threshold: int | None) -> Verdict:
    decay = protocol.noise.decay
    # what is published is cut to what is possible: not everybody can be in one of two bins that both are
    most = math.inf if threshold is None else sum(counts) - 1

    def law(count: int) -> dict[int, float]:
        listed = {count + k: (1 - decay) / (1 + decay) * decay ** abs(k) for k in range(-_REACH, _REACH + 1)}
        if threshold is None:
            return listed
        kept: dict[int, float] = defaultdict(float)
        for noisy, p in listed.items():
            if noisy >= threshold:
                kept[int(min(noisy, most))] += p
        return kept | {_LEFT_OUT: 1 - sum(kept.values())}

    joint = {
        (x, y): p * q for (x, p), (y, q) in product(law(counts[0]).items(), law(counts[1]).items()) if p * q > 1e-15
    }
    values = [0] * counts[0] + [1] * counts[1]
    drawn = [_row(protocol.release(values), hides=threshold is not None, most=most) for _ in range(_RUNS)]
    return Verdict.counted(
        agreement(drawn, joint, numbers=[_first, _second, _difference], complete=False),
        statement=f"{type(protocol).__name__}, release",
        claim=f"share of {_RUNS} releases",
        ran=DRAWN,
        oracle="discrete Laplace noise on each count, from its definition",
    )


def _row(estimate: Any, *, hides: bool, most: float) -> tuple[int, ...]:
    """The published counts of both bins, of which none is above `most`."""
    published = dict(zip(estimate.symbols.tolist(), estimate.counts.tolist(), strict=True))
    return tuple(
        int(min(round(published[bin]), most)) if bin in published or not hides else _LEFT_OUT for bin in (0, 1)
    )


def _first(row: Any) -> float:
    return float(row[0])


def _second(row: Any) -> float:
    return float(row[1])


def _difference(row: Any) -> float:
    return float(row[0] - row[1])


_RELEASES: dict[str, Callable[[], Iterator[Verdict]]] = {"laplace": _laplace, "stability": _stability}

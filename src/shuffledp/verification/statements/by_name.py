"""All statements by name, and the function that checks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shuffledp.errors import ParameterError
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE
from shuffledp.verification.statements import histograms, promises, pure_privacy, support
from shuffledp.verification.statements.verdict import Verdict

PAPER: dict[str, Callable[[], Iterator[Verdict]]] = {
    "zsum": histograms.binary_sum,
    "hist": histograms.histogram,
    "smooth": histograms.smoothness,
    "support": support.support,
    "single-message": pure_privacy.single_message,
    "r-infinity": pure_privacy.r_infinity,
    "r-gap": pure_privacy.r_gap,
    "real-sum": promises.real_sum,
}
"""Statements that are not about one entry of the catalogue of protocols, or more than its promise."""

NAMES = tuple(dict.fromkeys([*PAPER, *CATALOGUE]))
"""What can be checked: the paper's statements, and every protocol of the catalogue."""


def check(name: str | None = None, *, progress: Progress = quiet) -> Iterator[tuple[str, Verdict]]:
    """The verdicts on all statements, or on those of one name."""
    if name is not None and name not in NAMES:
        raise ParameterError(f"protocol must be one of {', '.join(NAMES)}; got {name!r}")
    chosen = [name] if name is not None else NAMES
    for at, one in enumerate(chosen):
        progress("checking", at / len(chosen))
        for verdict in _verdicts(one):
            yield one, verdict


def _verdicts(name: str) -> Iterator[Verdict]:
    """What the paper states under this name, then what the protocol of this name promises."""
    if name in PAPER:
        yield from PAPER[name]()
    if name in CATALOGUE:
        yield from promises.of_entry(name, CATALOGUE[name])

"""All statements by name, and the function that checks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shuffledp.errors import ParameterError
from shuffledp.progress import Progress, quiet
from shuffledp.protocols.catalogue import CATALOGUE
from shuffledp.verification.drawn.specimens import SPECIMENS
from shuffledp.verification.statements import (
    calibrations,
    central_releases,
    curves,
    histograms,
    noise_laws,
    pure_privacy,
    randomizers,
    readings,
    several_values,
    shuffling,
    support,
)
from shuffledp.verification.statements.verdict import Verdict

Statements = Callable[[], Iterator[Verdict]]

PAPER: dict[str, Statements] = {
    "zsum": histograms.binary_sum,
    "hist": histograms.histogram,
    "smooth": histograms.smoothness,
    "support": support.support,
    "single-message": pure_privacy.single_message,
    "r-infinity": pure_privacy.r_infinity,
    "r-gap": pure_privacy.r_gap,
}
"""What the paper states."""

MACHINERY: dict[str, Statements] = {
    "randomness": shuffling.randomness,
    "shuffler": shuffling.shuffler,
    "noise": noise_laws.noise,
    "accounting": curves.accounting,
    "several-values": several_values.several_values,
}
"""What every protocol rests on."""

SUMS: dict[str, Statements] = {
    "zsum": calibrations.binary_sum,
    "blanket-sum": calibrations.blanket_sum,
    "real-sum": calibrations.real_sum,
}
"""Protocols that are not in the catalogue of histograms."""

NAMES = tuple(dict.fromkeys([*PAPER, *MACHINERY, *SUMS, *CATALOGUE]))
"""What can be checked: the paper's statements, what protocols rest on, and every protocol."""


def check(name: str | None = None, *, progress: Progress = quiet) -> Iterator[tuple[str, Verdict]]:
    """The verdicts on all statements, or on those of one name."""
    if name is not None and name not in NAMES:
        raise ParameterError(f"protocol must be one of {', '.join(NAMES)}; got {name!r}")
    chosen = [name] if name is not None else NAMES
    for at, one in enumerate(chosen):
        progress("checking", at / len(chosen))
        try:
            for verdict in _verdicts(one):
                yield one, verdict
        except Exception as error:
            yield one, Verdict.not_checked(error)


def _verdicts(name: str) -> Iterator[Verdict]:
    """What is stated under this name; of a protocol also its calibration, curve, samplers and reading."""
    for stated in (PAPER, MACHINERY, SUMS):
        if name in stated:
            yield from stated[name]()
    if name in CATALOGUE:
        yield from calibrations.of_entry(name)
    yield from curves.of_name(name)
    if name in SPECIMENS:
        yield from randomizers.of_specimen(name)
        yield from readings.of_specimen(name)
    yield from central_releases.of_name(name)

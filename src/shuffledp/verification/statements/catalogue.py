"""All statements by name, and the function that checks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shuffledp.errors import ParameterError
from shuffledp.verification.statements import histograms, promises, pure_privacy, support
from shuffledp.verification.statements.verdict import Verdict

CATALOGUE: dict[str, Callable[[], Iterator[Verdict]]] = {
    "zsum": histograms.binary_sum,
    "hist": histograms.histogram,
    "smooth": histograms.smoothness,
    "support": support.support,
    "single-message": pure_privacy.single_message,
    "r-infinity": pure_privacy.r_infinity,
    "r-gap": pure_privacy.r_gap,
    "sparse": promises.sparse,
    "dummy": promises.dummy,
    "blanket": promises.blanket,
    "public-coin": promises.public_coin,
    "private-coin": promises.private_coin,
    "real-sum": promises.real_sum,
    "amplified": promises.amplified,
    "local": promises.local,
    "central": promises.central,
}


def check(
    name: str | None = None, *, progress: Callable[[str, float], None] = lambda what, share: None
) -> Iterator[tuple[str, Verdict]]:
    """The verdicts on all statements, or on those of one name."""
    if name is not None and name not in CATALOGUE:
        raise ParameterError(f"protocol must be one of {', '.join(CATALOGUE)}; got {name!r}")
    chosen = [name] if name is not None else list(CATALOGUE)
    for at, one in enumerate(chosen):
        progress("checking", at / len(chosen))
        for verdict in CATALOGUE[one]():
            yield one, verdict

"""The tables of docs/explanation/unknown-strings.md and unknown-strings-compared.md.

All figures are computed before a release, for any data: with epsilon 1, delta 1e-6 and pairs of the letters a to z
unless a table says otherwise.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from scipy.optimize import brentq
from scipy.stats import norm

from experiments.documents import ROOT, rewrite
from experiments.sample_threshold import Mechanism, closed_form
from shuffledp.collect.task.task import REPORT_HEAD_BYTES, SEALING_BYTES
from shuffledp.histogram.text_code import TextCode
from shuffledp.protocols.free_text import FreeText, TextPlan
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.protocols.shuffled_histogram import most_messages
from shuffledp.protocols.target import Target

LIMITS = ROOT / "docs" / "explanation" / "unknown-strings.md"
COMPARED = ROOT / "docs" / "explanation" / "unknown-strings-compared.md"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
USERS, EPSILON, DELTA, BETA, RISK = 10**6, 1.0, 1e-6, 0.05, 1e-3
PEOPLE = (10**4, 10**5, 10**6, 10**7)
BATCHES = (1, 4, 16)
COUNT = 1000
"""The number of people of a string whose standard deviation is compared."""

PUBLISHED, PUBLISHED_NOISE = ((8.508, 9.51, 57.5), (0.0637, 1.064, 222.0)), 97.96
"""Dummies, messages and largest error of hkustDB/SDPFE for 10^5 people, 2^24 values, epsilon 1 and delta 1e-10."""

LIMITS_HEAD = """| people | longest text | messages | bytes | one text is found from | all texts | forged reports |
|---|---|---|---|---|---|---|
"""
BATCHES_HEAD = """| batches | people in a batch | standard deviation | one text is found from | all texts |
|---|---|---|---|---|
"""
SYSTEMS_HEAD = f"""| system | bytes per person | found from | standard deviation at {COUNT:,} people |
|---|---|---|---|
"""
SDPFE_HEAD = """| messages | noise, published | noise, ours | error, published run | ours, median at most | ours, 95% |
|---|---|---|---|---|---|
"""


def code(levels: int) -> TextCode:
    """Pairs of letters on this number of levels."""
    return TextCode(levels=levels, longest=2 * levels, alphabet=LETTERS, width=2)


def free_text(users: int, levels: int) -> FreeText:
    """The search for texts of pairs of letters."""
    return FreeText.for_target(code(levels), users=users, epsilon=EPSILON, delta=DELTA)


def report_bytes(plan: TextPlan) -> float:
    """The bytes of a sealed report for one shuffler."""
    each = math.ceil(plan.bits_per_message / 8) + SEALING_BYTES
    return SEALING_BYTES + REPORT_HEAD_BYTES + plan.messages * each


def forged_reports(search: FreeText) -> int:
    """The number of forged reports that plant a text of any length with probability about 1/2.

    A report has at most `most_messages` messages, all of which can name the planted text.
    """
    return math.ceil(search.plan(risk=RISK).planting_messages / most_messages(search.protocol, delta=DELTA))


def limit_rows(people: Sequence[int] = PEOPLE, levels: Sequence[int] = (8, 16)) -> Iterator[str]:
    """Yield the detection limits and the costs."""
    for users in people:
        for number in levels:
            search = free_text(users, number)
            plan = search.plan(beta=BETA, risk=RISK)
            figures = (f"{plan.messages:.1f}", f"{report_bytes(plan):,.0f}", plan.detection_limit, plan.all_reported)
            cells = (f"{users:,}", f"{2 * number} letters", *figures, forged_reports(search))
            yield _row(cells)


def batch_rows(users: int = USERS, batches: Sequence[int] = BATCHES) -> Iterator[str]:
    """Yield the detection limits of the same people in several batches."""
    for number in batches:
        one = free_text(users // number, 8)
        joined = one.protocol.joined(number)
        assert isinstance(joined, HashedHistogram)
        plan = FreeText(code=one.code, protocol=joined).plan(beta=BETA, risk=RISK)
        spread = math.sqrt(joined.estimator.variance())
        yield _row((number, f"{users // number:,}", f"{spread:.1f}", plan.detection_limit, plan.all_reported))


def system_rows(users: int = USERS) -> Iterator[str]:
    """Yield bytes, detection limit and spread of every system for texts of 16 letters."""
    for levels in (8, 16):
        search = free_text(users, levels)
        plan = search.plan(beta=BETA, risk=RISK)
        spread = math.sqrt(search.protocol.estimator.variance(COUNT))
        name = f"shuffledp, {2 * levels} letters"
        yield _row((name, f"{report_bytes(plan):,.0f}", plan.detection_limit, f"{spread:.0f}"))
    closed, exact = closed_form(EPSILON / 2, DELTA / 2), Mechanism(0.316, 18)
    yield _row(("Nebula, closed form", "1,600 (published)", closed.detection_limit(BETA), f"{sampled(closed):.0f}"))
    yield _row(("sample-and-threshold, exact", "one string", exact.detection_limit(BETA), f"{sampled(exact):.0f}"))
    limit, spread = noisy_prefixes(levels=8, candidates=free_text(users, 8).plan().candidates)
    yield _row(("Poplar1, with noise of both servers", f"{poplar_bytes(128):,}", limit, f"{spread:.0f}"))


def sampled(made: Mechanism) -> float:
    """The standard deviation of the count of participants, divided by the sampling rate."""
    return math.sqrt(COUNT * (1 - made.rate) / made.rate)


def poplar_bytes(bits: int) -> int:
    """The bytes of the public share and both input shares of Poplar1, in the encoding of draft-irtf-cfrg-vdaf.

    Public: two control bits, a seed of 16 bytes and two field elements (8 bytes, 32 on the last level) for each bit. An
    input share: a key of 16 bytes, a seed of 32, and two field elements for each bit.
    """
    public = math.ceil(2 * bits / 8) + (bits - 1) * (16 + 2 * 8) + 16 + 2 * 32
    return public + 2 * (16 + 32 + (bits - 1) * 2 * 8 + 2 * 32)


def noisy_prefixes(*, levels: int, candidates: int) -> tuple[int, float]:
    """The detection limit and spread of counts of prefixes with Gaussian noise of two servers, each private alone.

    Replacing a person moves two counts of every level by 1. Both servers add the noise that suffices alone, so that a
    dishonest one may leave out its own.
    """
    moved = math.sqrt(2 * levels)
    spread = math.sqrt(2) * moved * gaussian_noise(EPSILON, DELTA)
    return math.ceil(spread * (norm.isf(RISK / candidates) + norm.isf(BETA))), spread


def gaussian_noise(epsilon: float, delta: float) -> float:
    """The smallest standard deviation for a sensitivity of 1 (Balle and Wang, 2018)."""

    def excess(noise: float) -> float:
        shift, half = epsilon * noise, 1 / (2 * noise)
        return float(norm.cdf(half - shift) - math.exp(epsilon) * norm.cdf(-half - shift)) - delta

    return float(brentq(excess, 0.1, 100.0))


def sdpfe_rows() -> Iterator[str]:
    """Yield our noise and error at the messages of the published runs."""
    target = Target(users=10**5, bins=2**24, epsilon=1.0, delta=1e-10, padding_bins=0)
    for dummies, messages, error in PUBLISHED:
        ours = HashedHistogram.for_target(target, dummies=dummies)
        errors = (f"{ours.error(beta).simultaneous:.1f}" for beta in (0.5, BETA))
        yield _row((messages, PUBLISHED_NOISE, f"{ours.dummies.mean:.2f}", error, *errors))


def _row(cells: Sequence[object]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def main(limits: Path = LIMITS, compared: Path = COMPARED, *, people: Sequence[int] = PEOPLE) -> None:
    """Compute all tables and write them into both pages."""
    rewrite(limits, "limits", LIMITS_HEAD + "\n".join(limit_rows(people)))
    rewrite(limits, "batches", BATCHES_HEAD + "\n".join(batch_rows()))
    rewrite(compared, "systems", SYSTEMS_HEAD + "\n".join(system_rows()))
    rewrite(compared, "sdpfe", SDPFE_HEAD + "\n".join(sdpfe_rows()))
    for path in (limits, compared):
        print(f"wrote {path}", file=sys.stderr)


if __name__ == "__main__":
    main()

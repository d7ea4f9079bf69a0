"""Section 3.3: how many people support identification takes, as claimed and exactly."""

from __future__ import annotations

from collections.abc import Iterator

from shuffledp.applications import SupportIdentification
from shuffledp.protocols import Histogram
from shuffledp.verification.statements.verdict import OWN_LAW, Verdict

EPSILON, DELTA = 1.0, 1e-6
BINS = 10**6
_SUCCESS = 0.99
_ITEMS = (2, 8)


def support() -> Iterator[Verdict]:
    """With the claim's number of people P^hist succeeds 99 times in 100; fewer do, with its noise or the exact one."""
    for items in _ITEMS:
        problem = SupportIdentification(items_in_support=items, bins=BINS)
        claimed = problem.claimed_sample_size(epsilon=EPSILON, delta=DELTA)
        yield Verdict.at_least(
            statement="Support identification",
            claim=f"chance of success, h = {items}, n = {claimed:,}",
            claimed=_SUCCESS,
            exact=problem.success(_published(claimed), rule="paper"),
            basis=OWN_LAW,
        )
        for words, protocol, rule in (("its noise and rule", _published, "paper"), ("exact noise", _exact, "any")):
            yield Verdict.at_most(
                statement="Support identification",
                claim=f"people, h = {items}, {words}",
                claimed=float(claimed),
                exact=float(problem.sample_size(protocol, rule=rule, success=_SUCCESS)),
                basis=OWN_LAW,
            )


def _published(users: int) -> Histogram:
    return Histogram.published(users=users, bins=BINS, epsilon=EPSILON, delta=DELTA)


def _exact(users: int) -> Histogram:
    return Histogram.calibrate(users=users, bins=BINS, epsilon=EPSILON, delta=DELTA)

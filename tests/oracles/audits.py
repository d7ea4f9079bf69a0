"""Audits with a stated confidence, of mechanisms and of single reports."""

import numpy as np

from shuffledp import audit
from shuffledp.protocols.local.hashed_reports import HashedReports

CONFIDENCE = 1 - 1e-4
"""An audit accuses a correct mechanism with probability 1e-4 at most."""


def datasets(users, *, others=0, mine=0, instead=1):
    """Two neighbouring datasets: one person, the first, holds another value."""
    return (np.array([value] + [others] * (users - 1)) for value in (mine, instead))


def audited(mechanism, pair, *, delta, trials, seed=0):
    return audit(mechanism, *pair, trials=trials, delta=delta, confidence=CONFIDENCE, rng=np.random.default_rng(seed))


def single_reports(protocol, value, trials, rng):
    """Return `trials` reports of one person; for a report with a hash, the bins that it supports."""
    reports = protocol.randomize(np.full(trials, value), rng=rng)
    if not isinstance(protocol, HashedReports):
        return reports.reshape(trials, 1)
    bins = np.arange(protocol.bins, dtype=np.uint64)
    return [dict(enumerate(protocol._in_cell(reports[i : i + 1], bins))) for i in range(trials)]

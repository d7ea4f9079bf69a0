"""Releases of several rounds, sampled from the exact distributions of their protocols."""

from functools import cache

import numpy as np

from shuffledp import Domain, Ranges
from shuffledp.protocols import CATALOGUE, Target
from shuffledp.release.release import Release

THEMES = ("dark", "light", "auto", "none")


@cache
def protocol_of(name, *, users=2000, bins=4, epsilon=1.0, delta=1e-4):
    return CATALOGUE[name].make(Target(users=users, bins=bins, epsilon=epsilon, delta=delta))


def release_of(protocol, counts, *, rng, labels=THEMES, beta=0.05, tally=None, column="theme", **more):
    """A release of these true counts, one for each label."""
    counts = np.asarray(counts)
    if labels is None:
        domain, truth = Domain.implicit(protocol.bins), {f"v{at}": int(n) for at, n in enumerate(counts) if n}
    else:
        domain, truth = Domain.of(list(labels)), counts
    tally = protocol.sample_tally(truth, rng=rng) if tally is None else tally
    return as_release(protocol, protocol.estimate(tally, beta=beta, domain=domain), column=column, **more)


def as_release(protocol, estimate, *, column="theme", **more):
    return Release(
        estimate=estimate,
        protocol=protocol,
        title="a protocol",
        column=column,
        messages=None,
        error=1.0,
        detection_limit=1,
        notes=(),
        warnings=(),
        **more,
    )


@cache
def ages_protocol(users=2000, edges=20):
    return Ranges.calibrate(users=users, bins=edges + 1, epsilon=2.0, delta=1e-4)


def release_of_ages(ages, *, rng, beta=0.05, edges=20):
    """A release of whole numbers from 0 on, in intervals of length 1."""
    protocol = ages_protocol(users=len(ages), edges=edges)
    counts = np.bincount(np.clip(np.asarray(ages) + 1, 0, edges), minlength=edges + 1)
    tally = protocol.sample_tally(counts, rng=rng)
    estimate = protocol.estimate(tally, beta=beta, edges=list(range(edges)))
    return as_release(protocol, estimate, column="age")

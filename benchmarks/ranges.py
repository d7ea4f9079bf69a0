"""Ranges: time of plans and releases, and the largest error of the distribution function beside OpenDP's central tree
and sums over a flat histogram.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.peers import interpreter
from benchmarks.timing import table
from shuffledp.protocols import LaplaceHistogram, Ranges, Target
from shuffledp.protocols.ranges import candidates
from shuffledp.release.plan_rows import plan_ranges

ENVIRONMENT = Path(__file__).parent.parent / ".bench-opendp"
OPENDP = ("opendp==0.16.0", "numpy")

PEOPLE, EPSILON, DELTA = 10**5, 1.0, 1e-6
TRIALS = {2**10: 40, 2**16: 6}
"""Trials by number of values: with many values, OpenDP takes seconds per trial."""


def opendp_errors(python, leaves):
    """Return OpenDP's mean largest errors by noise and branching, and its default branching."""
    program = Path(__file__).with_name("range_program.py")
    arguments = map(str, (leaves, PEOPLE, EPSILON, DELTA, TRIALS[leaves], 0))
    done = subprocess.run([python, program, *arguments], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def our_error(protocol):
    """Return the largest error of the number of people up to any value, as a mean over the trials."""
    rng = np.random.default_rng(0)
    counts = rng.multinomial(PEOPLE, np.full(protocol.bins, 1 / protocol.bins))
    errors = []
    for _ in range(TRIALS[protocol.bins]):
        tally = protocol.sample_tally(counts, rng=rng)
        errors.append(np.abs(np.cumsum(protocol.estimator.point(tally) - counts)).max())
    return float(np.mean(errors))


def rows(python):
    for leaves in TRIALS:
        common = {"users": PEOPLE, "bins": leaves, "epsilon": EPSILON, "delta": DELTA}
        target = Target(**common)
        curated = [Ranges.with_tree(tree, target, LaplaceHistogram) for tree in candidates(leaves)]
        ours = {
            "Ranges, shuffled": Ranges.calibrate(**common),
            "Ranges, a curator's Laplace noise": min(curated, key=lambda option: option.deviation),
            "flat histogram, shuffled": Ranges.calibrate(**common, branching=leaves),
        }
        found = [(name, one.branching, our_error(one), one.range_error(0.05)) for name, one in ours.items()]
        theirs = opendp_errors(python, leaves)
        for noise, by_branching in theirs["errors"].items():
            best = min(by_branching, key=by_branching.get)
            found.append((f"OpenDP, {noise}, best branching", best, by_branching[best], None))
            chosen = str(theirs["chosen"])
            found.append((f"OpenDP, {noise}, default branching", chosen, by_branching[chosen], None))
        reference = found[0][2]
        for name, branching, error, bound in found:
            bound_text = "none" if bound is None else f"{bound:,.0f}"
            yield f"{leaves:,}", name, branching, f"{error:,.1f}", f"{error / reference:.2f}", bound_text


def seconds(function):
    """Return the processor seconds of one run: results are cached, so a second run would take no time."""
    start = time.process_time()
    function()
    return time.process_time() - start


def time_rows():
    for leaves in (10**4, 10**5, 10**6):
        values = np.random.default_rng(0).integers(0, leaves, PEOPLE)
        planned = Target(users=10**6, bins=leaves, epsilon=EPSILON, delta=DELTA)

        def release(values=values, leaves=leaves):
            protocol = Ranges.calibrate(users=PEOPLE, bins=leaves, epsilon=EPSILON, delta=DELTA)
            estimate = protocol.release(values, rng=np.random.default_rng(1))
            return estimate.quantiles(), estimate.range(0, leaves // 2)

        yield f"{leaves:,}", f"{seconds(lambda planned=planned: plan_ranges(planned)):.1f}", f"{seconds(release):.1f}"


def main():
    table(
        "Ranges: processor seconds of a plan (10^6 people) and of a release (10^5 people), epsilon 1, delta 1e-6",
        ["d", "plan", "release, quantiles and a range"],
        time_rows(),
    )
    print("installing OpenDP, at the first run only", file=sys.stderr)
    python = interpreter(ENVIRONMENT, OPENDP)
    table(
        f"Largest error of the distribution function, n = {PEOPLE:,}, epsilon 1, delta 1e-6, mean of trials",
        ["d", "what", "branching", "people", "ratio to ours, shuffled", "bound with probability 0.95"],
        rows(python),
    )

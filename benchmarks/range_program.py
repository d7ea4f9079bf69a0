"""The central b-ary tree of OpenDP, run by ranges.py in a separate environment.

`python range_program.py LEAVES PEOPLE EPSILON DELTA TRIALS SEED` prints, for each noise and branching, the largest
error of the distribution function in people (mean over the trials).

The comparison uses the same neighbours: one person is replaced, which changes two nodes on each level. OpenDP's map for
Laplace noise also counts the root, which never changes. Here the root is left out of the sensitivity, and set to the
public number of people before the tree is made consistent. Laplace noise is for (epsilon, 0), because OpenDP does not
use delta there. Gaussian noise is for (epsilon, delta), by OpenDP's conversion from zero-concentrated privacy.
"""

import json
import math
import sys

import numpy as np
import opendp.prelude as dp
from opendp.transformations import choose_branching_factor, make_b_ary_tree, make_consistent_b_ary_tree

BRANCHINGS = (4, 16, 32, 64)


def noise(kind, *, moved, epsilon, delta):
    """Return OpenDP's smallest noise for a vector of integers of which `moved` change by one."""
    domain = dp.vector_domain(dp.atom_domain(T=int))
    if kind == "Laplace":
        made = lambda scale: dp.m.make_laplace(domain, dp.l1_distance(T=int), scale)  # noqa: E731
        return dp.binary_search_chain(made, d_in=moved, d_out=epsilon)

    def gaussian(scale):
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale)
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(measurement), delta)

    return dp.binary_search_chain(gaussian, d_in=math.sqrt(moved), d_out=(epsilon, delta))


def largest_error(kind, counts, branching, *, epsilon, delta, trials):
    metric = dp.l1_distance(T=int)
    tree = make_b_ary_tree(dp.vector_domain(dp.atom_domain(T=int)), metric, len(counts), branching)
    levels = tree.map(2) // 2 - 1
    measure = noise(kind, moved=2 * levels, epsilon=epsilon, delta=delta)
    agree, people, before = make_consistent_b_ary_tree(branching), int(counts.sum()), np.cumsum(counts)
    nodes = tree(counts.tolist())
    errors = []
    for _ in range(trials):
        noisy = measure(nodes)
        noisy[0] = people
        errors.append(np.abs(np.cumsum(agree(noisy)[: len(counts)]) - before).max())
    return float(np.mean(errors))


def main(leaves, people, epsilon, delta, trials, seed):
    dp.enable_features("contrib")
    counts = np.random.default_rng(seed).multinomial(people, np.full(leaves, 1 / leaves))
    found = {
        kind: {
            branching: largest_error(kind, counts, branching, epsilon=epsilon, delta=delta, trials=trials)
            for branching in sorted({*BRANCHINGS, choose_branching_factor(people)})
        }
        for kind in ("Laplace", "Gaussian")
    }
    print(json.dumps({"errors": found, "chosen": choose_branching_factor(people)}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6]))

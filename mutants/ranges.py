"""Faults of ranges: what is accounted for, how trees are fitted, and how far their answers may be off."""

from mutants.fault import Fault

_TREE = "tests/reading/test_tree.py"
_RANGES = "tests/protocols/test_ranges.py"
_JOBS = "tests/jobs/test_ranges.py"
_HOLD = f"{_RANGES}::test_bands_quantiles_and_ranges_hold[shuffler]"

FAULTS = (
    Fault(
        name="ranges-account-for-one-level",
        harm="People appear in a group on every level, and only one level is counted in the promise.",
        file="protocols/ranges.py",
        old="        return self.nodes.privacy\n",
        new="        return replace(self.nodes, values_per_person=1).privacy\n",
        tests=(f"{_RANGES}::test_the_curve_is_the_worst_of_all_neighbours_in_fractions[shape0-2]",),
    ),
    Fault(
        name="ranges-calibrate-for-one-level-less",
        harm="The noise is chosen for a person who appears in one group fewer than they do.",
        file="protocols/ranges.py",
        old="values_per_person=tree.levels, fillers=0)",
        new="values_per_person=max(1, tree.levels - 1), fillers=0)",
        tests=(f"{_RANGES}::test_calibration_accounts_for_every_level",),
    ),
    Fault(
        name="ranges-send-other-groups",
        harm="People are counted in the groups of their neighbour.",
        file="reading/tree.py",
        old="leaves[:, None] // np.array(self.widths)",
        new="(leaves[:, None] + 1) // np.array(self.widths)",
        tests=(f"{_TREE}::test_nodes_above_a_leaf_are_those_that_hold_it",),
    ),
    Fault(
        name="ranges-forget-how-many-people-there-are",
        harm="The known number of people is not used, and all numbers are off by more than is said.",
        file="reading/tree.py",
        old="agreed = np.array([float(people)])",
        new="agreed = self._sums(upwards[-1])",
        tests=(f"{_TREE}::test_a_fit_is_the_dense_least_squares_solution",),
    ),
    Fault(
        name="ranges-weigh-the-wrong-way-round",
        harm="The noisier of two numbers has the larger weight, and errors are larger than is said.",
        file="reading/tree.py",
        old="upwards.append(s * y + (1 - s) * self._sums(upwards[-1]))",
        new="upwards.append((1 - s) * y + s * self._sums(upwards[-1]))",
        tests=(f"{_TREE}::test_a_fit_is_the_dense_least_squares_solution",),
    ),
    Fault(
        name="ranges-split-what-is-lacking-alike",
        harm="In uneven trees numbers are corrected by other shares than their noise asks for.",
        file="reading/tree.py",
        old="return tuple(s / self._to_children(self._sums(s), s.size) for s in self.variances)",
        new="return tuple(1 / self._to_children(self._sums(np.ones(s.size)), s.size) for s in self.variances)",
        tests=(f"{_TREE}::test_a_fit_is_the_dense_least_squares_solution",),
    ),
    Fault(
        name="the-band-holds-at-one-place-only",
        harm="The band is said to hold everywhere at once, and holds at single places.",
        file="reading/tree_errors.py",
        old="    return equal + 2 * ndtr(-high / smallest), high\n",
        new="    return np.full(deviations.size, risk), high\n",
        tests=(f"{_TREE}::test_the_band_is_a_union_over_all_places_and_both_sides",),
    ),
    Fault(
        name="both-sides-of-an-interval-have-the-whole-risk",
        harm="Intervals miss the truth twice as often as is said.",
        file="reading/tree_errors.py",
        old="half = np.asarray(risks) / 2",
        new="half = np.asarray(risks)",
        tests=(f"{_TREE}::test_leaves_are_bounded_alone_and_together",),
    ),
    Fault(
        name="noise-is-taken-for-normal",
        harm="Tails that are heavier than normal ones are left out of the risk.",
        file="reading/linear_errors.py",
        old="np.log(np.minimum(1.0, normal + 2 * distance))",
        new="np.log(np.minimum(1.0, normal))",
        tests=(f"{_TREE}::test_bounds_hold_for_sums_whose_law_is_known",),
    ),
    Fault(
        name="errors-of-uneven-trees-are-those-of-even-ones",
        harm="At the end of the values the errors are taken for smaller than they are.",
        file="reading/tree_errors.py",
        old="(node < size - 1) & (last[level] != regular[level])",
        new="(node < size - 1) & False",
        tests=(f"{_TREE}::test_errors_are_the_combinations_of_noise_that_a_fit_makes",),
    ),
    Fault(
        name="all-ranges-have-the-risk-of-one",
        harm="Bounds that are said to hold for all ranges at once hold for a single one.",
        file="reading/tree_counts.py",
        old="risk = beta / ranges if everywhere else beta",
        new="risk = beta",
        tests=(_HOLD,),
    ),
    Fault(
        name="the-band-is-cut-from-the-wrong-side",
        harm="The upper end of the band falls below the truth.",
        file="pipeline/ordered_estimate.py",
        old="np.minimum.accumulate(high[::-1])[::-1]",
        new="np.minimum.accumulate(high)",
        tests=(_HOLD,),
    ),
    Fault(
        name="quantiles-without-an-interval",
        harm="The interval of a quantile ends at its estimate, and misses the truth.",
        file="pipeline/distribution.py",
        old="high = max(at, self._first(self.low, math.ceil(exact * int(self.high[-1]))))",
        new="high = at",
        tests=(_HOLD,),
    ),
    Fault(
        name="missing-values-are-the-largest",
        harm="People without a value are taken for those with the largest one, and quantiles are too large.",
        file="jobs/ranges.py",
        old="while ordered > 1 and last and (",
        new="while ordered < 0 and (",
        tests=(f"{_JOBS}::test_missing_and_other_values_belong_to_no_range",),
    ),
)

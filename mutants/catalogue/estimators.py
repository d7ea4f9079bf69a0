"""Estimates, intervals and error bounds."""

from mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        name="interval-starts-one-high",
        harm="Intervals start one person too high and miss the truth.",
        target="shuffledp.estimators.levels:_lower",
        pattern="value + math.ceil(offset)",
        replacement="value + math.ceil(offset) + 1",
        tests=(
            "tests/estimators/test_every_dataset.py::test_all_intervals_hold_at_once_for_every_dataset[missing messages-0.5]",  # noqa: E501
        ),
    ),
    Mutant(
        name="interval-for-a-third-of-values",
        harm="Intervals for all values at once hold for a third of them.",
        target="shuffledp.estimators.levels:_bins_allowed",
        pattern="math.log1p(-beta)",
        replacement="3 * math.log1p(-beta)",
        tests=(
            "tests/estimators/test_every_dataset.py::test_all_intervals_hold_at_once_for_every_dataset[missing messages-0.5]",  # noqa: E501
        ),
    ),
    Mutant(
        name="interval-risk-of-one-end",
        harm="Intervals fail twice as often as stated.",
        target="shuffledp.estimators.levels:ExcessRungs.level",
        pattern="risk_below + risk_above",
        replacement="max(risk_below, risk_above)",
        tests=("tests/estimators/test_risks.py::test_a_level_fails_as_rarely_as_it_says",),
    ),
    Mutant(
        name="hidden-values-are-shown",
        harm="Values that the estimator must hide are shown.",
        target="shuffledp.estimators.counts:TruncatedCounts.statistic",
        pattern="ordered.pick(ordered.counts > self.people)",
        replacement="ordered",
        tests=("tests/estimators/test_hidden_values.py::test_a_count_that_an_empty_value_can_have_is_hidden[hist]",),
    ),
    Mutant(
        name="error-bound-of-one-side",
        harm="An error bound leaves out estimates that are too large.",
        target="shuffledp.estimators.counts:beyond",
        pattern="noise.window.below(low) + noise.window.above(high)",
        replacement="noise.window.above(high)",
        tests=("tests/estimators/test_coverage.py::test_the_unbiased_bound_is_exact",),
    ),
    Mutant(
        name="totals-without-hidden-pairs",
        harm="The interval of a total leaves out people with pairs that are not shown, and misses the truth.",
        target="shuffledp.histogram.cross_table:_Cells.row",
        pattern="_times(hidden, self._unseen) + high",
        replacement="high",
        tests=(
            "tests/histogram/test_cross_table.py::test_intervals_of_totals_hold_where_many_pairs_are_hidden[False]",
        ),
    ),
    Mutant(
        name="grand-total-of-everyone",
        harm="The interval of the grand total counts people without a pair who are hidden.",
        target="shuffledp.histogram.cross_table:_total",
        pattern="hidden * bounds.unreported_high",
        replacement="0 * bounds.unreported_high",
        tests=("tests/histogram/test_cross_table.py::test_the_grand_total_is_bounded_by_those_without_a_pair",),
    ),
    Mutant(
        name="estimate-keeps-data-order",
        harm="Values are listed in the order of the data's rows.",
        target="shuffledp.estimators.base:in_order",
        pattern="sorted_order(tally.symbols)",
        replacement="slice(None)",
        tests=(
            "tests/histogram/test_estimate.py::test_the_order_of_an_estimate_says_nothing_about_the_order_of_the_data",
        ),
    ),
    Mutant(
        name="joint-risk-of-one-value",
        harm="An error bound for all values at once holds for one of them.",
        target="shuffledp.estimators.base:any_of",
        pattern="count * math.log1p(-probability)",
        replacement="math.log1p(-probability)",
        tests=("tests/estimators/test_coverage.py::test_the_unbiased_bound_is_exact",),
    ),
    Mutant(
        name="tree-risk-of-one-range",
        harm="Bounds for all ranges at once hold for a single one.",
        target="shuffledp.estimators.tree_counts:TreeCounts.range_widths",
        pattern="beta / ranges if everywhere else beta",
        replacement="beta",
        tests=("tests/protocols/test_ranges.py::test_bands_quantiles_and_ranges_hold[shuffler]",),
    ),
    Mutant(
        name="tree-interval-twice-the-risk",
        harm="Intervals of ranges fail twice as often as stated.",
        target="shuffledp.estimators.tree_counts:alone",
        pattern="np.asarray(risks) / 2",
        replacement="np.asarray(risks)",
        tests=("tests/estimators/test_tree.py::test_leaves_are_bounded_alone_and_together",),
    ),
    Mutant(
        name="tree-band-twice-the-risk",
        harm="The band of a distribution fails twice as often as stated.",
        target="shuffledp.estimators.tree_counts:_divided",
        pattern="(1 - _EQUAL_PART) * risk",
        replacement="2 * (1 - _EQUAL_PART) * risk",
        tests=("tests/estimators/test_tree.py::test_the_risks_of_all_places_add_up_to_the_whole_risk",),
    ),
)

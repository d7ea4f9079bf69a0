"""Releases over time: joint intervals, changes between rounds, and what is shown of a series."""

from mutants.mutant import Mutant

_SHARED = "tests/release/test_trend.py::test_the_risk_is_shared_by_all_planned_rounds_and_pairs"
_TAILS = "tests/estimators/test_differences.py::test_tails_are_sums_over_both_noises"

MUTANTS = (
    Mutant(
        name="trend-rounds-do-not-share-the-risk",
        harm="Every round has the whole risk, so the intervals of many rounds do not hold at once.",
        target="shuffledp.release.trend_rounds:Risks.of",
        pattern="math.log1p(-(beta - aside)) / planned",
        replacement="math.log1p(-(beta - aside))",
        tests=(_SHARED,),
    ),
    Mutant(
        name="trend-pairs-do-not-share-the-risk",
        harm="Every pair of rounds has the whole risk of all changes.",
        target="shuffledp.release.trend_rounds:Risks.of",
        pattern="aside / pairs",
        replacement="aside",
        tests=(_SHARED,),
    ),
    Mutant(
        name="trend-quantiles-take-no-share",
        harm="Values and quantiles of a round of numbers both have its whole risk.",
        target="shuffledp.release.trend_rounds:Risks.for_estimate",
        pattern="self.each_round / 2",
        replacement="self.each_round",
        tests=("tests/release/test_trend.py::test_values_and_quantiles_of_a_round_share_its_risk",),
    ),
    Mutant(
        name="trend-change-with-one-noise",
        harm="The interval of a change leaves out the noise of the earlier round.",
        target="shuffledp.estimators.differences:ErrorDifference._errors_of_one",
        pattern="self.weight_of_one * self.one.sign",
        replacement="0.0 * self.one.sign",
        tests=(_TAILS,),
    ),
    Mutant(
        name="trend-change-backwards",
        harm="A rise is reported as a fall.",
        target="shuffledp.release.trend_changes:Changes.of",
        pattern="apart = numbers.counts[other] - numbers.counts[one]",
        replacement="apart = numbers.counts[one] - numbers.counts[other]",
        tests=("tests/release/test_trend.py::test_a_change_runs_from_the_earlier_to_the_later_round",),
    ),
    Mutant(
        name="trend-one-bin-at-risk",
        harm="The interval of a change holds for one value instead of all.",
        target="shuffledp.release.trend_rounds:bins_at_risk",
        pattern="return protocol.bins",
        replacement="return 1",
        tests=("tests/release/test_trend.py::test_every_value_has_its_part_of_the_risk_of_a_pair",),
    ),
    Mutant(
        name="trend-hidden-text-counts-as-rare",
        harm="A text that is hidden in one round is said to be as rare as one that was not found.",
        target="shuffledp.release.trend_rounds:_most_unseen",
        pattern="max(estimate.simultaneous.unreported_high, hidden)",
        replacement="estimate.simultaneous.unreported_high",
        tests=("tests/release/test_trend.py::test_hidden_texts_are_no_value_and_bound_the_others",),
    ),
    Mutant(
        name="trend-keeps-the-confidence-of-a-release",
        harm="The intervals of a release with a smaller confidence are taken as they are.",
        target="shuffledp.release.trend_rounds:with_confidence",
        pattern="estimate.beta <= beta",
        replacement="estimate.beta <= 1",
        tests=("tests/release/test_confidence.py::test_the_intervals_are_those_of_a_release_with_that_confidence",),
    ),
    Mutant(
        name="trend-shows-batches-before-their-release",
        harm="A batch that the ledger has no entry for is part of a public page.",
        target="shuffledp.collect.analyzer.shown:SeriesTrends._estimated",
        pattern="kept.released and kept.problem is None",
        replacement="kept.problem is None",
        tests=("tests/collect/analyzer/test_trends.py::test_batches_that_are_not_released_are_left_out",),
    ),
    Mutant(
        name="trend-shows-blocked-words",
        harm="A page that compares rounds shows words that the operator has blocked.",
        target="shuffledp.collect.analyzer.shown:SeriesTrends._estimated",
        pattern="self._store.without_blocked(release)",
        replacement="release",
        tests=("tests/collect/analyzer/test_trends.py::test_texts_of_strangers_are_found_escaped_and_hidden",),
    ),
)

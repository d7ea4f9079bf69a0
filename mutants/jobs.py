"""Faults of the whole release."""

from mutants.fault import Fault

_RELEASE = "tests/release/test_release.py"
_CHOOSE = "tests/release/test_choose.py"

FAULTS = (
    Fault(
        name="release-with-twice-the-epsilon",
        harm="A release is calibrated for twice the epsilon that was asked.",
        file="release/spec.py",
        old="            epsilon=self.epsilon,",
        new="            epsilon=2 * self.epsilon,",
        tests=(f"{_RELEASE}::test_the_calibrated_guarantee_is_the_asked_one",),
    ),
    Fault(
        name="release-for-more-people-than-there-are",
        harm="Noise is calibrated for people who are not there, and each of those who are makes too little of it.",
        file="release/spec.py",
        old="            users=users,\n            bins=people.domain.size,",
        new="            users=2 * users,\n            bins=people.domain.size,",
        tests=(f"{_RELEASE}::test_the_calibrated_guarantee_is_the_asked_one",),
    ),
    Fault(
        name="truth-in-every-release",
        harm="The true counts are in the release, whether or not somebody asked for a comparison with them.",
        file="release/private_histogram.py",
        old="people.truth(estimate.labels, estimate.symbols)) if shown.evaluate else None",
        new="people.truth(estimate.labels, estimate.symbols))",
        tests=(f"{_RELEASE}::test_json_has_everything_and_no_truth_unless_asked",),
    ),
    Fault(
        name="size-of-the-domain-from-the-data",
        harm="The noise depends on how many values people hold, which tells that somebody holds a new one.",
        file="release/spec.py",
        old="            bins=people.domain.size,",
        new="            bins=sum(len(labels) for labels, _ in people._engine.counts()),",
        tests=(
            f"{_RELEASE}::test_any_value_is_possible_without_a_domain",
            f"{_RELEASE}::test_the_calibrated_guarantee_is_the_asked_one",
        ),
    ),
    Fault(
        name="noisy-values-that-only-people-name",
        harm="Without a list of possible values a protocol is used that shows every one: those shown are the data's.",
        file="release/choose.py",
        old="if listed or not entry.false_positives]",
        new="if listed or entry.false_positives or not entry.false_positives]",
        tests=(f"{_CHOOSE}::test_where_values_are_not_listed_nothing_is_invented",),
    ),
    Fault(
        name="no-warning-of-a-large-delta",
        harm="Nobody is told that the chosen delta allows to publish a person's value.",
        file="release/plan_rows.py",
        old="if delta > 1 / users:",
        new="if delta > 1:",
        tests=(f"{_RELEASE}::test_warnings",),
    ),
)

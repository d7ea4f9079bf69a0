"""Faults of releases by a trusted curator, of their accounting for several values, and of plans."""

from mutants.fault import Fault

_THRESHOLD = "tests/accounting/test_threshold_curve.py"
_SEVERAL = "tests/protocols/central/test_several_values.py"
_TRUST = "tests/release/test_trust.py"
_PLAN = "tests/release/test_plan.py"
_WORST = f"{_THRESHOLD}::test_the_curve_is_the_worst_of_all_neighbours"
_EACH_KIND = f"{_THRESHOLD}::test_each_kind_of_neighbours_can_be_the_worst"

FAULTS = (
    Fault(
        name="threshold-curve-forgets-values-that-become-empty",
        harm="That a person was the only one to hold some of their values, and is gone, is not accounted.",
        file="accounting/threshold_curve.py",
        old="everything = _Block(0, self.values, 0, self.values)",
        new="everything = _Block(0, 0, 0, self.values)",
        tests=(_EACH_KIND,),
    ),
    Fault(
        name="threshold-curve-forgets-values-that-were-empty",
        harm="That a person is the first to hold some of their values is not accounted.",
        file="accounting/threshold_curve.py",
        old="everything = _Block(0, self.values, 0, self.values)",
        new="everything = _Block(0, self.values, 0, 0)",
        tests=(_EACH_KIND,),
    ),
    Fault(
        name="threshold-curve-of-one-lost-value",
        harm="Of several values that only one person holds, the publication of one is accounted.",
        file="accounting/threshold_curve.py",
        old="math.expm1(block.most_emptied * hidden)",
        new="math.expm1(min(1, block.most_emptied) * hidden)",
        tests=(_WORST,),
    ),
    Fault(
        name="threshold-curve-of-one-shift-too-few",
        harm="One of the counts that a person moves is not accounted.",
        file="accounting/threshold_curve.py",
        old="shifts = 2 * self.values - block.least_emptied - block.least_new",
        new="shifts = max(0, 2 * self.values - 1 - block.least_emptied - block.least_new)",
        tests=(_WORST,),
    ),
    Fault(
        name="threshold-bound-below-its-block",
        harm="Neighbours are ruled out by a bound that does not hold for them, so that the worst are overlooked.",
        file="accounting/threshold_curve.py",
        old="shifts = 2 * self.values - block.least_emptied - block.least_new",
        new="shifts = 2 * self.values - block.most_emptied - block.most_new",
        tests=(_WORST, f"{_THRESHOLD}::test_the_best_of_blocks_is_the_largest_of_all_pairs"),
    ),
    Fault(
        name="stability-curve-of-one-value",
        harm="What is promised for several values is what holds for one.",
        file="protocols/central.py",
        old="threshold=self.threshold, values=self.values_per_person)",
        new="threshold=self.threshold)",
        tests=(f"{_SEVERAL}::test_the_promise_is_kept_by_the_curve_and_said",),
    ),
    Fault(
        name="threshold-for-one-value",
        harm="The threshold hides the only holder of one value, but not of several at once.",
        file="protocols/central.py",
        old="return ThresholdCurve(noise=noise, threshold=threshold, values=values).keeps(epsilon, delta)",
        new="return ThresholdCurve(noise=noise, threshold=threshold).keeps(epsilon, delta)",
        tests=(f"{_THRESHOLD}::test_every_noise_that_is_tried_has_the_first_threshold_that_is_private",),
    ),
    Fault(
        name="threshold-search-stops-early",
        harm="The search for a threshold takes the last one that it refused.",
        file="protocols/central.py",
        old="options = options[first : first + step]",
        new="options = options[max(0, first - 1) : first]",
        tests=(f"{_THRESHOLD}::test_the_threshold_is_the_first_that_is_private",),
    ),
    Fault(
        name="laplace-noise-for-one-value",
        harm="A curator who counts several values of each person adds the noise that one value needs.",
        file="protocols/central.py",
        old="noise = smallest_noise(target.epsilon, target.delta, values=values)",
        new="noise = smallest_noise(target.epsilon, target.delta)",
        tests=(f"{_SEVERAL}::test_the_promise_is_kept_by_the_curve_and_said",),
    ),
    Fault(
        name="laplace-losses-between-two-points-of-a-grid",
        harm="The curve of several Laplace counts contradicts the promise that their noise was chosen for.",
        file="accounting/curve.py",
        old="_only_size(shift.loss for shift, _ in shifts) or step or 1.0",
        new="step or 1.0",
        tests=(f"{_SEVERAL}::test_the_promise_is_kept_by_the_curve_and_said",),
    ),
    Fault(
        name="curator-counts-a-value-twice",
        harm="A person who is listed twice with a value moves its count by two, which breaks the promise.",
        file="protocols/central.py",
        old="        if self.values_per_person == 1 and not self.fillers:\n"
        "            return people_in_bins(values, bins=self.bins)\n"
        "        return filled_up(values, bins=self.bins, each=self.values_per_person, fillers=self.fillers).ravel()",
        new="        rows = np.asarray(values)\n"
        "        held = rows[rows >= 0].ravel()\n"
        "        fill = np.full(self.users * self.values_per_person - held.size, self.bins - 1)\n"
        "        return np.concatenate([held, fill])",
        tests=(f"{_SEVERAL}::test_what_no_person_can_hold_is_refused",),
    ),
    Fault(
        name="curator-shows-values-that-only-people-name",
        harm="Without a list of possible values a curator shows every one with noise: those that people hold.",
        file="release/choose.py",
        old="fitting = _fitting(protocol, estimator, listed=listed, trust=asked.trust)",
        new='fitting = _fitting(protocol, estimator, listed=listed or asked.trust == "curator", trust=asked.trust)',
        tests=(f"{_TRUST}::test_without_a_list_only_what_somebody_holds_can_be_shown",),
    ),
    Fault(
        name="curators-error-from-the-data",
        harm="What a curator would give is computed for the number of values that people hold, which nobody may know.",
        file="release/private_histogram.py",
        old="curated = curator_error(target, asked,",
        new="curated = curator_error(replace(target, bins=people.numbered().counts.size), asked,",
        tests=(f"{_TRUST}::test_what_a_curator_would_give_does_not_depend_on_the_data",),
    ),
    Fault(
        name="curator-said-to-be-better-than-he-is",
        harm="A release says that a curator would be off by less than is true: his error is rounded down.",
        file="release/choose.py",
        old="of at most {people_at_most(curator)}",
        new="of at most {int(curator)} people",
        tests=(f"{_TRUST}::test_a_curator_who_gains_nothing_is_not_mentioned",),
    ),
    Fault(
        name="curator-with-messages",
        harm="Somebody who asks for messages is given the release of a curator, who sees every value.",
        file="release/choose.py",
        old='if messages and trust == "curator":',
        new='if messages and trust == "curators":',
        tests=(f"{_TRUST}::test_wrong_trust_is_an_error_before_anything_is_read",),
    ),
    Fault(
        name="curators-release-said-to-be-of-messages",
        harm="A release says that its counts are those of shuffled messages where a curator added the noise.",
        file="release/notes.py",
        old='if chosen.entry.model == "central":',
        new='if chosen.entry.model == "local":',
        tests=(f"{_TRUST}::test_a_release_of_a_curator",),
    ),
    Fault(
        name="plan-for-one-value",
        harm="A plan for several values of each person shows the errors of one.",
        file="release/plan.py",
        old="        values_per_person=values_per_person,\n    )\n    return plan_for(",
        new="    )\n    return plan_for(",
        tests=(f"{_PLAN}::test_rows_for_several_values_are_what_the_protocols_say",),
    ),
    Fault(
        name="more-messages-than-allowed",
        harm="A protocol is recommended that sends more messages than people may send.",
        file="release/plan_rows.py",
        old="if fewer.problem or fewer.messages > most:",
        new="if fewer.problem:",
        tests=(f"{_PLAN}::test_messages_that_are_allowed_limit_the_advice_everywhere",),
    ),
    Fault(
        name="unlisted-plan-with-lists",
        harm="A plan without a list of possible values recommends a protocol that cannot do without one.",
        file="release/plan_rows.py",
        old="if entry.phantoms and not listed:",
        new="if entry.phantoms and listed and not listed:",
        tests=(f"{_PLAN}::test_without_a_list_what_shows_every_value_is_not_possible",),
    ),
)

"""Faults of what checks all the rest: audits, enumerations, statements."""

from mutants.fault import Fault

_BOX = "tests/auditing/test_black_box.py"
_PROTOCOLS = "tests/auditing/test_protocols.py"
_FINITE = "tests/paper/test_finite.py"
_CONFIDENCE = "tests/accounting/test_confidence.py"
_DIVERGENCE = "tests/paper/test_divergence.py"

FAULTS = (
    Fault(
        name="confidence-spent-twice",
        harm="An audit accuses honest protocols twice as often as its confidence says.",
        file="auditing/black_box.py",
        old="failure = (1 - confidence) / 2",
        new="failure = 1 - confidence",
        tests=(f"{_BOX}::test_the_bounds_fail_together_as_rarely_as_the_confidence_says",),
    ),
    Fault(
        name="event-counted-where-it-was-chosen",
        harm="An audit finds leaks in noise that has none, so that nobody believes it where there is one.",
        file="auditing/black_box.py",
        old="seen[third:] for seen in (answers",
        new="seen[sixth:third] for seen in (answers",
        tests=(
            f"{_BOX}::test_what_chooses_the_event_does_not_count_it",
            f"{_BOX}::test_the_bounds_fail_together_as_rarely_as_the_confidence_says",
        ),
    ),
    Fault(
        name="audit-forgets-delta",
        harm="An audit accuses protocols of what their delta allows.",
        file="auditing/black_box.py",
        old="epsilon=math.log((likely - delta) / unlikely) if likely - delta > unlikely else 0.0",
        new="epsilon=math.log(likely / unlikely) if likely > unlikely else 0.0",
        tests=("tests/auditing/test_known_laws.py",),
    ),
    Fault(
        name="audit-of-one-direction",
        harm="An audit looks only for events that are likelier on the first dataset, and misses the other half.",
        file="auditing/black_box.py",
        old="np.stack([one, other], axis=1), np.stack([other, one], axis=1)",
        new="np.stack([one, one], axis=1), np.stack([other, other], axis=1)",
        tests=("tests/auditing/test_known_laws.py",),
    ),
    Fault(
        name="audit-blind-to-order",
        harm="An audit does not notice a shuffler that leaves messages where they were.",
        file="auditing/observations.py",
        old="return cls(found.symbols, found.places, tuple(tried[at] for at in best))",
        new="return cls(found.symbols, ())",
        tests=(f"{_PROTOCOLS}::test_a_shuffler_that_keeps_order_is_found",),
    ),
    Fault(
        name="audit-blind-to-groups",
        harm="An audit does not notice a shuffler that mixes messages only inside groups of people.",
        file="auditing/observations.py",
        old="return cls(found.symbols, found.places, tuple(tried[at] for at in best))",
        new="return cls(found.symbols, found.places)",
        tests=("tests/auditing/test_power.py::test_a_shuffle_in_groups_of_20_of_200_is_found",),
    ),
    Fault(
        name="confidence-bound-of-one-success-more",
        harm="A lower bound on a probability is above it more often than stated.",
        file="accounting/participation.py",
        old="betaincinv(successes, trials - successes + 1,",
        new="betaincinv(successes + 1, trials - successes + 1,",
        tests=(f"{_CONFIDENCE}::test_confidence_bounds_are_those_of_clopper_and_pearson",),
    ),
    Fault(
        name="confidence-bound-of-both-sides",
        harm="A one-sided bound fails twice as often as stated.",
        file="accounting/participation.py",
        old="failure * (1 - CLOPPER_PEARSON_TAIL)",
        new="min(2 * failure, 0.999)",
        tests=(f"{_CONFIDENCE}::test_confidence_bounds_are_those_of_clopper_and_pearson",),
    ),
    Fault(
        name="upper-confidence-bound-is-a-lower-one",
        harm="How likely an event is on the other dataset is taken from below, which accuses honest protocols.",
        file="accounting/participation.py",
        old="return 1 - lower_bound(trials - successes, trials, failure=failure)",
        new="return lower_bound(successes, trials, failure=failure)",
        tests=(f"{_CONFIDENCE}::test_confidence_bounds_are_those_of_clopper_and_pearson",),
    ),
    Fault(
        name="enumeration-of-one-direction",
        harm="Exact checks compare two datasets one way round only.",
        file="paper/finite_randomizer.py",
        old="                    if mine != instead:",
        new="                    if mine < instead:",
        tests=(f"{_FINITE}::test_delta_is_its_definition_over_all_ordered_datasets",),
    ),
    Fault(
        name="enumeration-of-equal-others",
        harm="Exact checks look only at datasets in which everybody else holds the same.",
        file="paper/finite_randomizer.py",
        old="for row in range(others[-1] if others else 0, len(self._rows)):",
        new="for row in range(len(self._rows)) if not others else others[-1:]:",
        tests=(f"{_FINITE}::test_all_multisets_of_the_others_are_walked",),
    ),
    Fault(
        name="impossible-outcomes-need-no-ratio",
        harm="An exact check calls a protocol private whose outcomes only one dataset can have.",
        file="paper/divergence.py",
        old="            if seen > allowed:\n                return Needed(None, order[0])\n            continue",
        new="            continue",
        tests=(
            f"{_FINITE}::test_the_exact_ratio_is_enough_and_nothing_smaller_is",
            "tests/paper/test_pure.py::test_r_infinity_says_everything_as_sent_and_nothing_shuffled",
        ),
    ),
    Fault(
        name="exact-epsilon-rounded-down",
        harm="An exact epsilon is printed below the truth.",
        file="paper/divergence.py",
        old="math.log1p(float(ratio - 1)) * (1 + FEW_OPERATIONS)",
        new="math.log1p(float(ratio - 1)) * (1 - FEW_OPERATIONS)",
        tests=(f"{_DIVERGENCE}::test_logarithms_are_never_too_small",),
    ),
    Fault(
        name="statements-hold-up-to-a-tenth",
        harm="The command verify calls a promise kept that is exceeded by ten per cent.",
        file="paper/statements.py",
        old="holds = float(computed) <= claimed * (1 + rounding)",
        new="holds = float(computed) <= claimed * (1.1 + rounding)",
        tests=("tests/paper/test_statements.py::test_a_claim_that_is_missed_by_one_float_does_not_hold",),
    ),
)

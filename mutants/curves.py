"""Faults of the curves from epsilon to delta of noise that moves, and of what is searched on them."""

from mutants.fault import Fault

_CURVE = "tests/accounting/test_curve.py"
_LOSS = "tests/accounting/test_loss.py"
_COMPOSITION = "tests/accounting/test_composition.py"
_ROUNDING = "tests/accounting/test_rounding.py"
_SEARCH = "tests/accounting/test_search.py"
_ENUMERATED = f"{_CURVE}::test_histogram_matches_enumeration_of_messages"

FAULTS = (
    Fault(
        name="one-direction-only",
        harm="Only one way round of two neighbouring datasets is looked at, and the other may tell more.",
        file="accounting/curve.py",
        old="return frozenset([self, self.reversed])",
        new="return frozenset([self])",
        tests=(
            f"{_CURVE}::test_binary_sum_matches_enumeration_of_messages",
            f"{_CURVE}::test_each_direction_of_the_binary_sum_is_the_larger_one_somewhere",
        ),
    ),
    Fault(
        name="one-moved-bin-instead-of-two",
        harm="A replaced value leaves one bin and enters another; only one of them is accounted.",
        file="accounting/curve.py",
        old="for noise in noises for by in (1, -1)]",
        new="for noise in noises for by in (1,)]",
        tests=(_ENUMERATED,),
    ),
    Fault(
        name="moved-bins-in-the-same-direction",
        harm="Both bins that a replaced value moves are accounted as if they moved the same way.",
        file="accounting/curve.py",
        old="for noise in noises for by in (1, -1)]",
        new="for noise in noises for by in (1, 1)]",
        tests=(_ENUMERATED,),
    ),
    Fault(
        name="unreachable-outcomes-are-forgotten",
        harm="Outcomes that only one of two datasets can have, which reveal a person, are not counted in delta.",
        file="accounting/loss.py",
        old="revealing = unreachable.sum() + ",
        new="revealing = ",
        tests=(_ENUMERATED,),
    ),
    Fault(
        name="impossible-outcomes-inside-are-forgotten",
        harm="Outcomes inside the range of the noise that only one dataset can have are not counted in delta.",
        file="accounting/loss.py",
        old=" + masses[possible & ~shared].sum()",
        new="",
        tests=(f"{_LOSS}", f"{_COMPOSITION}::test_degenerate_laws_compose", "tests/accounting/test_gaps_in_noise.py"),
    ),
    Fault(
        name="infinite-losses-are-forgotten",
        harm="The probability of outcomes that reveal a person outright is left out of delta.",
        file="accounting/loss.py",
        old="return np.maximum(gain, 0) + PRIVACY_LOSS * mass + self.infinity",
        new="return np.maximum(gain, 0) + PRIVACY_LOSS * mass",
        tests=(f"{_CURVE}::test_binary_sum_matches_enumeration_of_messages",),
    ),
    Fault(
        name="infinite-losses-of-the-second-bin-are-forgotten",
        harm="Outcomes of one of two moved bins that reveal a person outright are left out of delta.",
        file="accounting/loss.py",
        old="* (1 + PRIVACY_LOSS) + self.infinity",
        new="* (1 + PRIVACY_LOSS)",
        tests=(_ENUMERATED,),
    ),
    Fault(
        name="losses-rounded-to-the-wrong-side",
        harm="The allowance for rounding is taken off delta instead of added.",
        file="accounting/loss.py",
        old="np.maximum(gain, 0) + PRIVACY_LOSS * mass",
        new="np.maximum(gain, 0) - PRIVACY_LOSS * mass",
        tests=(f"{_ROUNDING}::test_a_delta_over_losses_is_covered_and_would_not_be_without_a_margin",),
    ),
    Fault(
        name="largest-losses-cut-off",
        harm="Where a composition is shortened, its most telling outcomes disappear instead of counting as revealed.",
        file="accounting/loss.py",
        old="self.infinity + float(self.masses[high:].sum())",
        new="self.infinity",
        tests=(f"{_LOSS}::test_shortening_only_raises_delta",),
    ),
    Fault(
        name="smallest-losses-cut-off",
        harm="Where a composition is shortened, outcomes disappear from delta.",
        file="accounting/loss.py",
        old="masses[0] += self.masses[:low].sum()",
        new="masses[0] += 0.0",
        tests=("tests/accounting/test_losses_kept.py::test_shortening_keeps_all_mass",),
    ),
    Fault(
        name="losses-rounded-down-to-the-grid",
        harm="Composed releases are accounted as less telling than they are.",
        file="accounting/loss.py",
        old="np.clip(share * (1 + PRIVACY_LOSS), 0, 1)",
        new="np.clip(share * (1 + PRIVACY_LOSS), 0, 0)",
        tests=(f"{_LOSS}::test_splitting_onto_a_grid_keeps_both_masses_and_never_lowers_delta",),
    ),
    Fault(
        name="one-release-fewer",
        harm="Several releases are accounted as one fewer.",
        file="accounting/loss.py",
        old='            if digit == "1":\n                total = total + self\n',
        new="",
        tests=("tests/accounting/test_losses_kept.py::test_a_multiple_is_a_sum",),
    ),
    Fault(
        name="revealed-once-is-forgotten-by-the-next-release",
        harm="What several releases reveal outright counts once instead of for each.",
        file="accounting/loss.py",
        old="self.infinity + other.infinity - self.infinity * other.infinity",
        new="max(self.infinity, other.infinity)",
        tests=(
            f"{_COMPOSITION}::test_degenerate_laws_compose",
            f"{_COMPOSITION}::test_composition_matches_dp_accounting",
        ),
    ),
    Fault(
        name="the-unsafe-end-of-a-search",
        harm="Every calibration and every printed epsilon ends just short of what was asked.",
        file="accounting/search.py",
        old="            high, at_high = guess, value\n    return high",
        new="            high, at_high = guess, value\n    return low",
        tests=(f"{_SEARCH}::test_the_answer_is_safe_and_close_wherever_one_starts",),
    ),
    Fault(
        name="epsilon-rounded-down",
        harm="A printed epsilon is one per cent smaller than the true one.",
        file="accounting/search.py",
        old="return math.inf if found is None else found",
        new="return math.inf if found is None else found / 1.01",
        tests=(f"{_CURVE}::test_epsilon_inverts_delta",),
    ),
    Fault(
        name="no-epsilon-is-called-the-largest",
        harm="A release without any guarantee is called private with a finite epsilon.",
        file="accounting/search.py",
        old="return math.inf if found is None else found",
        new="return _MOST_EPSILON if found is None else found",
        tests=(f"{_CURVE}::test_epsilon_is_infinite_below_the_mass_that_is_always_revealed",),
    ),
)

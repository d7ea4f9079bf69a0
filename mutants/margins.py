"""Faults of the margins for rounding."""

from mutants.fault import Fault

_ROUNDING = "tests/accounting/test_rounding.py"
_CONFIDENCE = "tests/accounting/test_confidence.py"


def _margin(name: str, old: str, new: str, tests: tuple[str, ...], harm: str) -> Fault:
    """A margin for rounding that is too small for what it covers."""
    return Fault(name=name, harm=harm, file="accounting/rounding.py", old=old, new=new, tests=tests)


FAULTS = (
    _margin(
        "margin-of-several-operations",
        "SEVERAL_OPERATIONS = 1e-12",
        "SEVERAL_OPERATIONS = 1e-17",
        (f"{_ROUNDING}::test_several_operations_are_covered",),
        "Rates and probabilities of amplification can be rounded to the wrong side.",
    ),
    _margin(
        "margin-of-privacy-losses",
        "PRIVACY_LOSS = 2.0**-40",
        "PRIVACY_LOSS = 2.0**-52",
        (f"{_ROUNDING}::test_a_delta_over_losses_is_covered_and_would_not_be_without_a_margin",),
        "A printed delta can lie below the true one by what its sum was rounded.",
    ),
    _margin(
        "margin-of-fair-coins",
        "\nHALF_BINOMIAL = 1e-10",
        "\nHALF_BINOMIAL = 1e-13",
        (
            f"{_ROUNDING}::test_the_margin_of_fair_coins_grows_with_their_number",
            f"{_ROUNDING}::test_fair_coins_are_covered[100000000]",
        ),
        "The amplified delta of very many people can lie below the true one.",
    ),
    _margin(
        "margin-of-very-many-fair-coins",
        "HALF_BINOMIAL_GROWTH = 1e-14",
        "HALF_BINOMIAL_GROWTH = 1e-16",
        (f"{_ROUNDING}::test_the_margin_of_fair_coins_grows_with_their_number",),
        "The amplified delta of more than 10^8 people can lie below the true one.",
    ),
    _margin(
        "margin-of-sums-over-windows",
        "WINDOW_SUM = 1e-10",
        "WINDOW_SUM = 1e-17",
        (f"{_ROUNDING}::test_the_sum_of_the_support_curve_is_covered",),
        "The delta of the private coin protocol can lie below the true one.",
    ),
    _margin(
        "margin-of-log-ratios",
        "LOG_RATIO = 1e-12",
        "LOG_RATIO = 1e-18",
        (f"{_ROUNDING}::test_probabilities_of_a_window_are_covered",),
        "An outcome on the edge of what smoothness allows is counted as allowed.",
    ),
    _margin(
        "margin-of-counts-against-means",
        "COUNT_AGAINST_MEAN = 1e-9",
        "COUNT_AGAINST_MEAN = 1e-16",
        (f"{_ROUNDING}::test_means_that_are_compared_with_counts_are_covered",),
        "A promised error leaves out the counts that lie exactly on its edge.",
    ),
    _margin(
        "margin-of-supports-against-means",
        "SUPPORTS_AGAINST_MEAN = 1e-7",
        "SUPPORTS_AGAINST_MEAN = 1e-14",
        (f"{_ROUNDING}::test_means_that_are_compared_with_counts_are_covered",),
        "A promised error of the private coin protocol leaves out what lies exactly on its edge.",
    ),
    _margin(
        "margin-of-shared-rates",
        "SHARE_OF_A_RATE = 1e-12",
        "SHARE_OF_A_RATE = 1e-17",
        (f"{_ROUNDING}::test_a_rate_scaled_up_and_back_down_is_never_less",),
        "The honest people's share of Poisson noise is a little less than was calibrated.",
    ),
    _margin(
        "margin-of-large-logarithms",
        "LARGE_LOGARITHMS = 2.0**-30",
        "LARGE_LOGARITHMS = 2.0**-60",
        (f"{_ROUNDING}::test_a_difference_of_large_logarithms_is_covered",),
        "An exact epsilon is printed below the truth where its ratio is too large for a float.",
    ),
    _margin(
        "margin-of-clopper-and-pearson",
        "CLOPPER_PEARSON_TAIL = 5e-7",
        "CLOPPER_PEARSON_TAIL = 5e-12",
        (f"{_CONFIDENCE}::test_the_margin_is_more_than_twice_what_scipy_is_off",),
        "An audit accuses an honest protocol more often than its confidence says.",
    ),
)

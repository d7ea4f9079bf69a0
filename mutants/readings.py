"""Faults of how a tally is read: what is shown, and within which bounds."""

from mutants.fault import Fault

_CONTRACT = "tests/protocols/test_contract.py"
_COVERAGE = "tests/estimators/test_coverage.py"
_THEOREMS = "tests/accounting/test_theorems.py"
_EVERY = "tests/estimators/test_every_dataset.py::test_all_intervals_hold_at_once_for_every_dataset"
_ESTIMATE = "tests/histogram/test_estimate.py"

FAULTS = (
    Fault(
        name="values-that-nobody-holds-are-shown",
        harm="Values are shown that nobody holds, and people are taken to hold them.",
        file="estimators/counts.py",
        old="ordered.pick(ordered.counts > self.people)",
        new="ordered.pick(ordered.counts >= self.people)",
        tests=("tests/estimators/test_hidden_values.py::test_a_count_that_an_empty_value_can_have_is_hidden[hist]",),
    ),
    Fault(
        name="sparse-values-that-nobody-holds-are-shown",
        harm="Values are shown that nobody holds, and people are taken to hold them.",
        file="estimators/pairs.py",
        old="ordered.pick(ordered.counts[:, 0] > ordered.counts[:, 1])",
        new="ordered.pick(ordered.counts[:, 0] >= ordered.counts[:, 1])",
        tests=("tests/estimators/test_hidden_values.py::test_a_count_that_an_empty_value_can_have_is_hidden[sparse]",),
    ),
    Fault(
        name="hidden-values-are-shown",
        harm="Values that the analyzer must not show, since nobody may hold them, are in the result.",
        file="estimators/counts.py",
        old="ordered.pick(ordered.counts > self.people)",
        new="ordered",
        tests=("tests/estimators/test_hidden_values.py::test_a_count_that_an_empty_value_can_have_is_hidden[hist]",),
    ),
    Fault(
        name="thresholded-values-one-lower",
        harm="Counts below the accounted threshold are shown.",
        file="estimators/counts.py",
        old="ordered.pick(ordered.counts >= self.threshold)",
        new="ordered.pick(ordered.counts >= self.threshold - 1)",
        tests=(
            "tests/estimators/test_hidden_values.py::test_a_count_that_an_empty_value_can_have_is_hidden[stability]",
        ),
    ),
    Fault(
        name="order-of-the-data-is-shown",
        harm="Values are listed in the order in which people's rows came, which tells who is where.",
        file="estimators/base.py",
        old="order = sorted_order(tally.symbols)",
        new="order = slice(None)",
        tests=(f"{_ESTIMATE}::test_the_order_of_an_estimate_says_nothing_about_the_order_of_the_data",),
    ),
    Fault(
        name="intervals-one-too-high",
        harm="Intervals begin one person above where they should, and miss the truth more often than stated.",
        file="estimators/levels.py",
        old="return np.asarray(value + math.ceil(offset))",
        new="return np.asarray(value + math.ceil(offset) + 1)",
        tests=(f"{_EVERY}[missing messages-0.5]",),
    ),
    Fault(
        name="intervals-one-too-low",
        harm="Intervals end one person below where they should, and miss the truth more often than stated.",
        file="estimators/levels.py",
        old="return np.asarray(value + math.floor(offset))",
        new="return np.asarray(value + math.floor(offset) - 1)",
        tests=(f"{_EVERY}[missing messages-0.5]",),
    ),
    Fault(
        name="hidden-counts-one-too-small",
        harm="A value that is not shown can have one more person than is said.",
        file="estimators/levels.py",
        old="unreported_high=int(min(level.hidden, known.unreported))",
        new="unreported_high=max(0, int(min(level.hidden, known.unreported)) - 1)",
        tests=(f"{_EVERY}[missing messages-0.5]",),
    ),
    Fault(
        name="intervals-for-a-third-of-the-values",
        harm="Intervals that should hold for all values at once hold for a third of them.",
        file="estimators/levels.py",
        old="return math.floor(math.log1p(-beta) / math.log1p(-risk)",
        new="return math.floor(3 * math.log1p(-beta) / math.log1p(-risk)",
        tests=(f"{_EVERY}[missing messages-0.5]",),
    ),
    Fault(
        name="risk-of-one-end-only",
        harm="Intervals spend their risk at either end, twice what is stated.",
        file="estimators/levels.py",
        old="risk=min(1.0, risk_below + risk_above))",
        new="risk=min(1.0, max(risk_below, risk_above)))",
        tests=("tests/estimators/test_risks.py::test_a_level_fails_as_rarely_as_it_says",),
    ),
    Fault(
        name="noise-range-of-one-end-only",
        harm="Intervals of noisy values spend their risk at either end, twice what is stated.",
        file="estimators/levels.py",
        old="return least, most, noise.below(int(least)) + noise.above(int(most))",
        new="return least, most, (noise.below(int(least)) + noise.above(int(most))) / 4",
        tests=("tests/estimators/test_risks.py::test_the_range_of_noise_is_left_as_rarely_as_stated",),
    ),
    Fault(
        name="hidden-people-are-no-error",
        harm="A promised error leaves out people whose value is not shown.",
        file="estimators/counts.py",
        old="off_or_hidden = off + self.noise.window.above(most)",
        new="off_or_hidden = off",
        tests=(f"{_COVERAGE}::test_truncated_per_bin_error_is_the_smallest_that_holds",),
    ),
    Fault(
        name="errors-of-one-side",
        harm="A promised error leaves out estimates that are too large.",
        file="estimators/counts.py",
        old="return noise.window.below(low) + noise.window.above(high)",
        new="return noise.window.above(high)",
        tests=(f"{_COVERAGE}::test_the_unbiased_bound_is_exact",),
    ),
    Fault(
        name="risk-of-one-value-for-all",
        harm="An error that is promised for all values at once holds for one of them.",
        file="estimators/base.py",
        old="none = sum(count * math.log1p(-probability) for probability, count in at_risk)",
        new="none = sum(math.log1p(-probability) for probability, count in at_risk)",
        tests=(f"{_COVERAGE}::test_the_unbiased_bound_is_exact",),
    ),
    Fault(
        name="chance-supports-of-one-side",
        harm="A promised error of the private coin protocol leaves out estimates that are too small.",
        file="estimators/supports.py",
        old="            + block.at_most.window.below(math.ceil(block.at_fewest.mean - reach))\n",
        new="",
        tests=(
            "tests/protocols/shuffled/test_private_coin.py::test_error_bounds_hold_for_every_true_count_and_are_tight",
        ),
    ),
)

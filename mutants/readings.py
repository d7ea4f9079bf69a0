"""Faults of how a tally is read: what is shown, and within which bounds."""

from mutants.fault import Fault

_CONTRACT = "tests/protocols/test_contract.py"
_COVERAGE = "tests/reading/test_coverage.py"
_THEOREMS = "tests/accounting/test_theorems.py"
_ESTIMATE = "tests/pipeline/test_estimate.py"

FAULTS = (
    Fault(
        name="values-that-nobody-holds-are-shown",
        harm="Values are shown that nobody holds, and people are taken to hold them.",
        file="reading/noisy_counts.py",
        old="ordered.pick(ordered.counts > self.people)",
        new="ordered.pick(ordered.counts >= self.people)",
        tests=("tests/reading/test_hidden_values.py::test_a_count_that_an_empty_value_can_have_is_hidden[hist]",),
    ),
    Fault(
        name="sparse-values-that-nobody-holds-are-shown",
        harm="Values are shown that nobody holds, and people are taken to hold them.",
        file="reading/paired_counts.py",
        old="ordered.pick(ordered.counts[:, 0] > ordered.counts[:, 1])",
        new="ordered.pick(ordered.counts[:, 0] >= ordered.counts[:, 1])",
        tests=("tests/reading/test_hidden_values.py::test_a_count_that_an_empty_value_can_have_is_hidden[sparse]",),
    ),
    Fault(
        name="hidden-values-are-shown",
        harm="Values that the analyzer must not show, since nobody may hold them, are in the result.",
        file="reading/noisy_counts.py",
        old="ordered.pick(ordered.counts > self.people)",
        new="ordered",
        tests=("tests/reading/test_hidden_values.py::test_a_count_that_an_empty_value_can_have_is_hidden[hist]",),
    ),
    Fault(
        name="thresholded-values-one-lower",
        harm="Counts below the accounted threshold are shown.",
        file="reading/curated_counts.py",
        old="ordered.pick(ordered.counts >= self.threshold)",
        new="ordered.pick(ordered.counts >= self.threshold - 1)",
        tests=("tests/reading/test_hidden_values.py::test_a_count_that_an_empty_value_can_have_is_hidden[stability]",),
    ),
    Fault(
        name="order-of-the-data-is-shown",
        harm="Values are listed in the order in which people's rows came, which tells who is where.",
        file="reading/reading.py",
        old="order = sorted_order(tally.symbols)",
        new="order = slice(None)",
        tests=(f"{_ESTIMATE}::test_the_order_of_an_estimate_says_nothing_about_the_order_of_the_data",),
    ),
)

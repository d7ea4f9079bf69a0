"""Faults of what a release says about itself: numbers of values, recipes, possible intervals, time zones."""

from mutants.fault import Fault

FAULTS = (
    Fault(
        name="people-without-a-value-are-counted-as-values",
        harm="The page says that more values are shown than its own text does.",
        file="histogram/estimate.py",
        old="return sum(not isinstance(label, Absent) for label in labels)",
        new="return sum(1 for label in labels)",
        tests=("tests/explain/test_counts_of_values.py",),
    ),
    Fault(
        name="recipe-without-the-column-of-an-option",
        harm="The command that a page of a cross table prints cannot be run.",
        file="explain/page.py",
        old='of=f"{column}=" if len(columns) > 1 else "")',
        new='of="")',
        tests=("tests/explain/test_recipe.py::test_it_asks_for_the_same",),
    ),
    Fault(
        name="cross-table-read-back-by-counts",
        harm="Cells of a cross table that is read back have the counts of others.",
        file="release/serialize.py",
        old="rows, symbols = [rows[at] for at in order], places[order]",
        new="symbols = places[order]",
        tests=("tests/release/test_stored.py::test_a_cross_table_comes_back_in_its_order",),
    ),
    Fault(
        name="people-without-a-pair-in-the-total",
        harm="The total of a cross table counts people who are not in it.",
        file="histogram/cross_table.py",
        old="total += 0.0 if _no_pair(estimate, label) else float(estimate.counts[at])",
        new="total += float(estimate.counts[at])",
        tests=("tests/explain/test_heat_map.py::test_people_without_a_pair_are_not_in_the_total",),
    ),
    Fault(
        name="adjusted-with-impossible-intervals",
        harm="An estimate that was adjusted to possible numbers has an interval of impossible ones.",
        file="histogram/estimate.py",
        old="low=np.clip(self.low, 0, people), high",
        new="low=self.low, high",
        tests=("tests/histogram/test_consistent.py::test_no_end_of_an_interval_is_an_impossible_number_afterwards",),
    ),
    Fault(
        name="start-in-another-zone",
        harm="Periods begin at another moment than the one that was asked for, without a word.",
        file="histogram/periods.py",
        old="    if elsewhere:",
        new="    if False:",
        tests=("tests/histogram/test_edges_and_periods.py::test_wrong_periods_are_refused",),
    ),
)

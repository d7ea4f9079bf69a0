"""Faults of how people and their values are read and counted."""

from mutants.fault import Fault

_ENGINES = "tests/data/test_engines.py"
_EXTRA_BINS = (
    "tests/data/test_inputs_in_memory.py::"
    "test_the_bins_of_missing_and_other_values_are_there_whether_or_not_anybody_needs_them"
)

FAULTS = (
    Fault(
        name="the-first-row-of-a-person",
        harm="Whoever orders the rows of a file decides which value of a person counts.",
        file="data/duckdb.py",
        old="SELECT arg_min({'value': value}, random_word(true)).value AS value ",
        new="SELECT first({'value': value}).value AS value ",
        tests=(f"{_ENGINES}::test_one_row_for_each_person_uniformly",),
    ),
    Fault(
        name="a-person-counts-once-for-each-value",
        harm="A person with several rows counts several times, and is protected only as far as each of them.",
        file="data/duckdb.py",
        old="WHERE person IS NOT NULL GROUP BY person",
        new="WHERE person IS NOT NULL GROUP BY person, value",
        tests=(f"{_ENGINES}::test_one_row_for_each_person_uniformly",),
    ),
    Fault(
        name="rows-of-nobody-are-one-person",
        harm="Rows without a name count as a person, who exists only if some row has none.",
        file="data/duckdb.py",
        old="WHERE person IS NOT NULL GROUP BY person",
        new="GROUP BY person",
        tests=("tests/data/test_people.py::test_rows_that_name_nobody_are_left_out",),
    ),
    Fault(
        name="missing-values-are-not-dropped",
        harm="People without a value are counted though they were to be left out.",
        file="data/contributions.py",
        old="for one in values] if source.drop_missing else []",
        new="for one in values] if source.drop_missing and source.in_sets else []",
        tests=(f"{_ENGINES}::test_missing_values_are_dropped_before_a_row_is_chosen",),
    ),
    Fault(
        name="missing-values-are-dropped-unasked",
        harm="The number of people tells how many have no value.",
        file="data/contributions.py",
        old="for one in values] if source.drop_missing else []",
        new="for one in values]",
        tests=(f"{_ENGINES}::test_every_table_and_array",),
    ),
    Fault(
        name="zeros-of-both-signs",
        harm="A number is counted under two names, and which ones depends on who else holds it.",
        file="data/contributions.py",
        old="THEN {value} + 0.0::{kind} END",
        new="THEN {value} END",
        tests=(f"{_ENGINES}::test_equal_numbers_are_one_label_whatever_their_sign_or_source",),
    ),
    Fault(
        name="row-chosen-by-half-a-word",
        harm="Rows of one person tie, and the one that comes first in the file wins.",
        file="data/duckdb.py",
        old="return pyarrow.array(random_words(len(rows), rng))",
        new="return pyarrow.array(random_words(len(rows), rng) >> np.uint64(63))",
        tests=(f"{_ENGINES}::test_one_row_for_each_person_uniformly",),
    ),
    Fault(
        name="library-errors-are-passed-on",
        harm="An error of the library that reads the data quotes people's values.",
        file="data/duckdb.py",
        old='raise DataError("the data cannot be read: damaged, or of another format") from None',
        new="raise",
        tests=("tests/data/test_people.py::test_errors_of_libraries_are_not_passed_on",),
    ),
    Fault(
        name="no-bin-for-missing-values",
        harm="Whoever has no value is refused, and so are all others because of them.",
        file="data/bins.py",
        old="if missing and None not in listed:",
        new="if missing and None in listed:",
        tests=(f"{_ENGINES}::test_codebook_has_a_bin_for_missing_and_for_other_values_whether_needed_or_not",),
    ),
    Fault(
        name="bin-for-missing-values-if-there-are-any",
        harm="That the list of values has a place for missing ones tells that somebody has none.",
        file="data/people.py",
        old="missing=not source.drop_missing,",
        new="missing=not source.drop_missing and any(found.null_count for found, _ in self._engine.counts()),",
        tests=(_EXTRA_BINS,),
    ),
    Fault(
        name="bin-for-other-values-if-there-are-any",
        harm="That the list of values has a place for others tells that somebody holds one.",
        file="data/people.py",
        old="other=source.other,",
        new="other=source.other and sum(len(f) for f, _ in self._engine.counts()) > len(source.domain),",
        tests=(_EXTRA_BINS,),
    ),
    Fault(
        name="values-are-their-own-people",
        harm="With the values as names of people, the number of people is that of different values, exactly.",
        file="data/source.py",
        old="if self.user in self.names:",
        new="if self.user is self and self.names:",
        tests=("tests/data/test_people.py::test_values_are_not_their_own_people",),
    ),
    Fault(
        name="whole-numbers-with-a-point",
        harm="One missing value turns 1 into 1.0 for everybody, which tells that somebody has none.",
        file="histogram/labels.py",
        old="return int(value) if value.is_integer() else float(value)",
        new="return float(value)",
        tests=("tests/data/test_inputs_in_memory.py::test_labels_are_natural_and_from_the_value_alone",),
    ),
    Fault(
        name="zeros-with-a-sign-in-memory",
        harm="A number has two names, and which one is published depends on who came first.",
        file="histogram/tally.py",
        old="spelled = symbol(name)",
        new="spelled = name",
        tests=("tests/histogram/test_one_spelling.py",),
    ),
    Fault(
        name="type-from-all-values",
        harm="One person's value decides how everybody's is named, or that nothing is counted at all.",
        file="data/arrow.py",
        old="    return store_one_by_one(list(values))\n\n\n# data with a type",
        new="    return store_arrow(pa.array(list(values), from_pandas=True))\n\n\n# data with a type",
        tests=("tests/data/test_inputs_in_memory.py::test_a_number_its_text_and_a_truth_value_are_three_labels",),
    ),
    Fault(
        name="values-outside-the-domain-are-shown",
        harm="A value that is not in the list stands in an error message.",
        file="data/bins.py",
        old='"a value is not in the domain (it is not shown, since it may be personal): list every possible value, "',
        new='f"{values.to_pylist()} is not in the domain: list every possible value, "',
        tests=(f"{_ENGINES}::test_codebook_refuses_other_values_without_showing_or_counting_them",),
    ),
    Fault(
        name="a-temporary-folder-outlives-an-early-interrupt",
        harm="A copy of people's data stays on a disk after the program that was interrupted.",
        file="data/files.py",
        old="        self.close = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)\n"
        "        self.folder.mkdir(mode=0o700)\n",
        new="        self.folder.mkdir(mode=0o700)\n"
        "        self.close = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)\n",
        tests=("tests/data/test_scratch.py",),
    ),
)

"""Faults of how people and their values are read and counted."""

from mutants.fault import Fault

_ENGINES = "tests/engines/test_engines.py"

FAULTS = (
    Fault(
        name="the-first-row-of-a-person",
        harm="Whoever orders the rows of a file decides which value of a person counts.",
        file="engines/in_process.py",
        old="SELECT arg_min({'value': value}, random_word(true)).value AS value ",
        new="SELECT first({'value': value}).value AS value ",
        tests=(f"{_ENGINES}::test_one_row_for_each_person_uniformly",),
    ),
    Fault(
        name="a-person-counts-once-for-each-value",
        harm="A person with several rows counts several times, and is protected only as far as each of them.",
        file="engines/in_process.py",
        old="WHERE person IS NOT NULL GROUP BY person",
        new="WHERE person IS NOT NULL GROUP BY person, value",
        tests=(f"{_ENGINES}::test_one_row_for_each_person_uniformly",),
    ),
    Fault(
        name="rows-of-nobody-are-one-person",
        harm="Rows without a name count as a person, who exists only if some row has none.",
        file="engines/in_process.py",
        old="WHERE person IS NOT NULL GROUP BY person",
        new="GROUP BY person",
        tests=("tests/engines/test_people.py::test_rows_that_name_nobody_are_left_out",),
    ),
    Fault(
        name="missing-values-are-not-dropped",
        harm="People without a value are counted though they were to be left out.",
        file="engines/in_process.py",
        old='IS NOT NULL" if column.drop_missing else ""',
        new='IS NOT NULL" if column.drop_missing and column.user is None and False else ""',
        tests=(f"{_ENGINES}::test_missing_values_are_dropped_before_a_row_is_chosen",),
    ),
    Fault(
        name="missing-values-are-dropped-unasked",
        harm="The number of people tells how many have no value.",
        file="engines/in_process.py",
        old='IS NOT NULL" if column.drop_missing else ""',
        new='IS NOT NULL"',
        tests=(f"{_ENGINES}::test_every_table_and_array",),
    ),
    Fault(
        name="zeros-of-both-signs",
        harm="A number is counted under two names, and which ones depends on who else holds it.",
        file="engines/in_process.py",
        old="THEN {value} + 0.0::{kind} END",
        new="THEN {value} END",
        tests=(f"{_ENGINES}::test_equal_numbers_are_one_label_whatever_their_sign_or_source",),
    ),
    Fault(
        name="row-chosen-by-half-a-word",
        harm="Rows of one person tie, and the one that comes first in the file wins.",
        file="engines/in_process.py",
        old="return pyarrow.array(random_words(len(rows), rng))",
        new="return pyarrow.array(random_words(len(rows), rng) >> np.uint64(63))",
        tests=(f"{_ENGINES}::test_one_row_for_each_person_uniformly",),
    ),
    Fault(
        name="library-errors-are-passed-on",
        harm="An error of the library that reads the data quotes people's values.",
        file="engines/in_process.py",
        old='raise DataError("the data cannot be read: damaged, or of another format") from None',
        new="raise",
        tests=("tests/engines/test_people.py::test_errors_of_libraries_are_not_passed_on",),
    ),
    Fault(
        name="no-bin-for-missing-values",
        harm="Whoever has no value is refused, or put among those of another bin.",
        file="engines/codebook.py",
        old="if missing and not listed.null_count:",
        new="if missing and listed.null_count:",
        tests=(f"{_ENGINES}::test_codebook_has_a_bin_for_missing_and_for_other_values_whether_needed_or_not",),
    ),
    Fault(
        name="values-outside-the-domain-are-shown",
        harm="A value that is not in the list stands in an error message.",
        file="engines/codebook.py",
        old='"a value is not in the domain (it is not shown, since it may be personal): list every possible value, "',
        new='f"{values.to_pylist()} is not in the domain: list every possible value, "',
        tests=(f"{_ENGINES}::test_codebook_refuses_other_values_without_showing_or_counting_them",),
    ),
)

"""Bounded contributions and releases of local data."""

from mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        name="duplicate-bins-of-a-person",
        harm="A person with five values in one bin moves its count by five.",
        target="shuffledp.data.contributions:bounded",
        pattern="people, bins = _different(people, encode(entries))",
        replacement="bins = encode(entries)",
        tests=("tests/data/test_sets.py::test_values_outside_the_list_count_once_together",),
    ),
    Mutant(
        name="contribution-bound-off-by-one",
        harm="A person with many values moves more counts than the noise covers.",
        target="shuffledp.data.contributions:_chosen",
        pattern="rank >= most",
        replacement="rank > most",
        tests=("tests/data/test_sets.py::test_who_has_more_values_keeps_a_uniform_subset_of_the_different_ones",),
    ),
    Mutant(
        name="person-counts-per-value",
        harm="A person with several rows counts several times.",
        target="shuffledp.data.duckdb:InProcess._choose_rows",
        pattern="'GROUP BY person'",
        replacement="'GROUP BY person, value'",
        tests=("tests/data/test_engines.py::test_one_row_for_each_person_uniformly",),
    ),
    Mutant(
        name="value-counts-per-row",
        harm="A person with many rows of one value moves its count by more than one.",
        target="shuffledp.data.duckdb:InProcess._hold",
        pattern="'SELECT DISTINCT person'",
        replacement="'SELECT person'",
        tests=("tests/data/test_sets.py::test_everybody_counts_once_for_each_of_their_values_in_every_format[Arrow]",),
    ),
    Mutant(
        name="condition-changes-people",
        harm="The public number of people reveals how many satisfy the condition.",
        target="shuffledp.data.duckdb:InProcess._hold",
        pattern="'WHERE person IS NOT NULL)'",
        replacement="'WHERE person IS NOT NULL AND kept)'",
        tests=(
            "tests/data/test_sets.py::test_rows_that_fail_a_condition_give_their_person_nothing_in_every_format[Arrow]",
        ),
    ),
    Mutant(
        name="unlisted-value-refused-in-sets",
        harm="Whether a run fails reveals what the one person who satisfies a condition holds.",
        target="shuffledp.data.people:People.__init__",
        pattern="not source.in_sets",
        replacement="True",
        tests=("tests/data/test_sets.py::test_what_is_outside_a_list_is_never_refused_where_few_can_be_asked_about",),
    ),
    Mutant(
        name="one-padding-bin-for-all",
        harm="A person without values is counted several times in one padding bin.",
        target="shuffledp.histogram.inputs:filled_up",
        pattern="(bins - padding_bins + np.cumsum(empty, axis=1) - 1)[empty]",
        replacement="bins - padding_bins",
        tests=("tests/histogram/test_sets.py::test_everyone_holds_the_same_number_of_different_bins",),
    ),
    Mutant(
        name="ledger-entry-after-noise",
        harm="A release that is interrupted after its noise is sampled is not in the ledger.",
        target="shuffledp.data.people:People.draw",
        pattern="before()\nreturn protocol.sample_tally(counts)",
        replacement="tally = protocol.sample_tally(counts)\nbefore()\nreturn tally",
        tests=("tests/ledger/test_release.py::test_a_failure_while_noise_is_drawn_counts_as_spent",),
    ),
    Mutant(
        name="bins-from-the-data",
        harm="The noise depends on how many values people hold.",
        target="shuffledp.release.spec:PrivacySpec.target",
        pattern="people.domain.size",
        replacement="sum((len(labels) for labels, _ in people._engine.counts()))",
        tests=("tests/release/test_release.py::test_any_value_is_possible_without_a_domain",),
    ),
    Mutant(
        name="noisy-values-without-list",
        harm="Without a list of values, every value that people hold is shown.",
        target="shuffledp.release.choose:_fitting",
        pattern="listed or not entry.false_positives",
        replacement="True",
        tests=("tests/release/test_choose.py::test_where_values_are_not_listed_nothing_is_invented",),
    ),
    Mutant(
        name="bin-of-next-person-dropped",
        harm="A person's bin is dropped if the next person holds it too.",
        target="shuffledp.data.contributions:_different",
        pattern="(people[1:] != people[:-1]) | (bins[1:] != bins[:-1])",
        replacement="bins[1:] != bins[:-1]",
        tests=("tests/data/test_sets.py::test_the_same_bin_of_the_next_person_counts_too",),
    ),
    Mutant(
        name="repeated-bin-accepted",
        harm="A person who holds a bin twice, not side by side, moves its count by two.",
        target="shuffledp.histogram.inputs:_refuse_repeated",
        pattern="np.sort(whole, axis=1)",
        replacement="whole",
        tests=("tests/histogram/test_sets.py::test_a_bin_held_twice_is_refused_in_any_place",),
    ),
    Mutant(
        name="line-of-another-file",
        harm="An error in one file of JSON lines points to the line of another person.",
        target="shuffledp.data.duckdb:InProcess._refuse_wrong_line",
        pattern="TextScan(replace(files, paths=(path,)), [])",
        replacement="TextScan(files, [])",
        tests=("tests/data/test_files.py::test_an_error_in_json_names_the_file_and_the_line_and_quotes_nobody",),
    ),
    Mutant(
        name="json-error-quotes-a-line",
        harm="An error shows the line of a person.",
        target="shuffledp.data.text_files:wrong_line",
        pattern="f'SELECT {NUMBER}, reason FROM ({query}) WHERE reason IS NOT NULL ORDER BY {NUMBER} LIMIT 1'",
        replacement=(
            "f'SELECT {NUMBER}, reason || line AS reason FROM ({query.replace(NUMBER + chr(44), NUMBER + chr(44) + LINE"
            " + chr(44), 1)}) WHERE reason IS NOT NULL ORDER BY {NUMBER} LIMIT 1'"
        ),
        tests=("tests/data/test_files.py::test_an_error_in_json_names_the_file_and_the_line_and_quotes_nobody",),
    ),
)

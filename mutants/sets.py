"""Faults of sets: how often a person counts, which of their values are kept, and who is there without any."""

from mutants.fault import Fault

_SETS = "tests/data/test_sets.py"
_IN_EVERY_FORMAT = "in_every_format[Arrow]"

FAULTS = (
    Fault(
        name="values-of-one-bin-count-one-by-one",
        harm="Whoever holds five values outside the list moves that count by five, five times what is promised.",
        file="data/contributions.py",
        old="people, bins = _different(people, encode(entries))",
        new="bins = encode(entries)",
        tests=(f"{_SETS}::test_values_outside_the_list_count_once_together",),
    ),
    Fault(
        name="more-values-than-allowed",
        harm="A person with many values moves more counts than the noise is for.",
        file="data/contributions.py",
        old="kept[order[rank >= most]] = False",
        new="kept[order[rank > most]] = False",
        tests=(f"{_SETS}::test_who_has_more_values_keeps_a_uniform_subset_of_the_different_ones",),
    ),
    Fault(
        name="the-first-values-are-kept",
        harm="Which values of a person count depends on how the data is ordered, and some never do.",
        file="data/contributions.py",
        old="np.lexsort((random_words(crowded.size, rng), people[crowded]))",
        new="np.lexsort((np.arange(crowded.size), people[crowded]))",
        tests=(f"{_SETS}::test_who_has_more_values_keeps_a_uniform_subset_of_the_different_ones",),
    ),
    Fault(
        name="a-value-counts-once-for-each-row",
        harm="A person with many rows of one value moves its count by more than one.",
        file="data/duckdb.py",
        old="AS held FROM (SELECT DISTINCT person, kept, ",
        new="AS held FROM (SELECT person, kept, ",
        tests=(f"{_SETS}::test_everybody_counts_once_for_each_of_their_values_{_IN_EVERY_FORMAT}",),
    ),
    Fault(
        name="who-fails-the-condition-is-left-out",
        harm="The number of people, which is public, tells how many satisfy the condition.",
        file="data/duckdb.py",
        old="FROM ({self._rows}) WHERE person IS NOT NULL) ",
        new="FROM ({self._rows}) WHERE person IS NOT NULL AND kept) ",
        tests=(f"{_SETS}::test_rows_that_fail_a_condition_give_their_person_nothing_{_IN_EVERY_FORMAT}",),
    ),
    Fault(
        name="undecided-rows-count",
        harm="Rows without the compared value count as if they satisfied the condition.",
        file="data/contributions.py",
        old='.to_duckdb(types=types)}), false)"',
        new='.to_duckdb(types=types)}), true)"',
        tests=(f"{_SETS}::test_rows_that_fail_a_condition_give_their_person_nothing_{_IN_EVERY_FORMAT}",),
    ),
    Fault(
        name="one-value-decides-how-all-are-compared",
        harm="One person's odd value makes another type of a column, and others satisfy the condition no longer.",
        file="data/tables.py",
        old="if kind is None and (column.declared or pa.types.is_string(entries.type)):",
        new="if kind is None:",
        equivalent="A condition takes every value as its text, in which 2.0 is 2 whatever the type of the column "
        "(conditions/sql.py).",
    ),
    Fault(
        name="the-choice-can-be-foreseen",
        harm="Whoever knows the program knows which of a person's values were kept.",
        file="data/duckdb.py",
        old="rng, most = generator(self._rng), self._source.values_per_person",
        new="rng, most = np.random.default_rng(1), self._source.values_per_person",
        tests=(f"{_SETS}::test_the_choice_is_another_each_time_and_the_same_under_a_seed",),
    ),
    Fault(
        name="what-is-outside-a-list-is-refused-under-a-condition",
        harm="Whether a run fails tells what the one person holds who satisfies a condition, for nothing.",
        file="data/people.py",
        old="refuses=not source.in_sets",
        new="refuses=True",
        tests=("tests/data/test_sets.py::test_what_is_outside_a_list_is_never_refused_where_few_can_be_asked_about",),
    ),
    Fault(
        name="columns-of-a-query-that-runs-twice",
        harm="Values are paired with other people, so that one person counts as many.",
        file="data/tables.py",
        old="return _Query(data.collect_schema().names(), lambda names: lazy.select(names).collect())",
        new="return _Table(data.collect_schema().names(), lambda name: lazy.select(name).collect().get_column(name))",
        tests=("tests/data/test_sets.py::test_the_columns_of_a_lazy_query_belong_together",),
    ),
)

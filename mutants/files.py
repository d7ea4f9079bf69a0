"""Faults of how files are read."""

from mutants.fault import Fault

_NEIGHBOURS = "tests/data/test_neighbouring_files.py"
_FILES = "tests/data/test_files.py"
_WRONG = f"{_NEIGHBOURS}::test_what_is_wrong_is_said_with_its_line"

FAULTS = (
    Fault(
        name="lines-that-look-like-comments",
        harm="Whoever holds a value that begins with # is not counted, and the number of people tells it.",
        file="data/csv.py",
        old="yield Block(text[:end], line_breaks, done)",
        new='yield Block(__import__("re").sub(rb"(?m)^#[^\\n]*\\n", b"", text[:end]), line_breaks, done)',
        tests=(f"{_NEIGHBOURS}::test_the_engine_refuses_such_lines_or_counts_one_person[csv]",),
    ),
    Fault(
        name="a-quote-that-is-never-closed",
        harm="One person's quote swallows the lines of all others after them.",
        file="data/csv.py",
        old="if opening.size > closing.size:",
        new="if opening.size > closing.size + 1:",
        tests=(_WRONG,),
    ),
    Fault(
        name="a-quote-inside-plain-text",
        harm="One person's inch sign joins their line with somebody else's.",
        file="data/csv.py",
        old="wrong = ~(doubled | (before == delimiter[0]) | (before == _NEWLINE))",
        new="wrong = np.zeros(opening.size, dtype=bool)",
        tests=(_WRONG,),
    ),
    Fault(
        name="a-carriage-return-inside-a-line",
        harm="A carriage return in one person's value is read differently by every program.",
        file="data/csv.py",
        old="lonely = raw[returns + 1] != _NEWLINE",
        new="lonely = raw[returns + 1] == 0",
        tests=(_WRONG,),
    ),
    Fault(
        name="empty-text-is-missing",
        harm="Empty text and a missing value are one label, though the list of values keeps them apart.",
        file="data/csv.py",
        old="present = quoted | (ends > starts)",
        new="present = ends > starts + 2 * quoted",
        tests=(f"{_NEIGHBOURS}::test_empty_fields_and_headers",),
    ),
    Fault(
        name="a-file-without-the-column",
        harm="The people of a file that lacks the column are silently counted as missing.",
        file="data/duckdb.py",
        old="            check_schemas(data, needed)\n",
        new="            pass\n",
        tests=(f"{_FILES}::test_a_file_without_the_column_is_refused_by_name[parquet]",),
    ),
    Fault(
        name="a-file-of-another-type",
        harm="One person's missing value makes a file of other numbers, and renames everybody's.",
        file="data/arrow.py",
        old="if first.setdefault(name, kind) != kind:",
        new="if first.setdefault(name, kind) is None:",
        tests=(f"{_FILES}::test_a_column_of_another_type_is_refused_by_name[parquet]",),
    ),
    Fault(
        name="columns-guessed-from-folders",
        harm="Values are taken from the names of folders instead of people's rows.",
        file="data/duckdb.py",
        old="hive_partitioning = false",
        new="hive_partitioning = true",
        tests=("tests/data/test_people.py::test_the_name_of_a_folder_does_not_stand_in_for_a_column",),
    ),
    Fault(
        name="the-same-file-twice",
        harm="Everybody in a file that is given twice counts twice, and is protected half as well.",
        file="data/files.py",
        old='            raise DataError(f"{path} is given {again}: its people would be counted twice")\n',
        new="            assert again\n",
        tests=(f"{_FILES}::test_a_file_that_is_given_twice_is_refused",),
    ),
)

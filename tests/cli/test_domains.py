"""Options for the possible values of each column."""

from datetime import datetime
from pathlib import Path

import pytest

from shuffledp import DataError, Edges, ParameterError, Periods
from shuffledp.cli.domains import possible_values, read_domain
from shuffledp.cli.options import Rows


def possible(columns, **options):
    return possible_values(columns, Rows(**options), read_list=lambda path, column: [str(path), column])


def test_one_column_needs_no_name():
    assert possible(["age"], edges=["0:120:5"]) == {"age": Edges("0:120:5")}
    assert possible(["age"], edges=["age=0:120:5"]) == {"age": Edges("0:120:5")}
    assert possible(["country"], domain=["list.txt"]) == {"country": ["list.txt", "country"]}
    assert possible(["country"], domain=["a=b.txt"]) == {"country": ["a=b.txt", "country"]}
    assert possible(["country"]) == {}
    found = possible(["when"], by=["month"], start=["2026"], stop=["when=2027-01-01"])
    assert found == {"when": Periods("month", start=datetime(2026, 1, 1), stop=datetime(2027, 1, 1))}


def test_a_comma_without_a_path_makes_a_list():
    """Whatever files exist: only the text decides."""
    assert possible(["sex"], domain=["Male,Female"]) == {"sex": ["Male", "Female"]}
    assert possible(["sex"], domain=["Male,"]) == {"sex": ["Male"]}
    assert possible(["sex"], domain=["./Male,Female"]) == {"sex": [str(Path("Male,Female")), "sex"]}
    assert possible(["sex"], domain=["Male"]) == {"sex": ["Male", "sex"]}
    found = possible(["sex", "age"], domain=["sex=Male,Female"], edges=["age=0,18"])
    assert found == {"sex": ["Male", "Female"], "age": Edges("0,18")}


def test_dates_have_a_format_of_their_own():
    when = {"by": ["when=month"], "start": ["when=2026"], "stop": ["when=2027"], "date_format": ["when=%m/%d/%y"]}
    assert possible(["when", "age"], edges=["age=0,18"], **when) == {
        "when": Periods("month", start="2026", stop="2027", date_format="%m/%d/%y"),
        "age": Edges("0,18"),
    }


def test_several_columns_are_named():
    found = possible(
        ["country", "age", "when"],
        domain=["country=countries.txt"],
        edges=["age=0,18,65"],
        by=["when=day"],
        start=["when=2026-01-01"],
        stop=["when=2026-02-01"],
    )
    assert found == {
        "country": [str(Path("countries.txt")), "country"],
        "age": Edges("0,18,65"),
        "when": Periods("day", start="2026-01-01", stop="2026-02-01"),
    }
    assert possible(["a", "a=b"], edges=["a=b=5", "a=6"]) == {"a=b": Edges("5"), "a": Edges("6")}


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (["a", "b"], {"edges": ["0,1"]}, "--edges must name its column, .* --edges a=0,1"),
        (["a"], {"edges": ["0,1", "2,3"]}, "--edges is given twice for column 'a'"),
        (["a"], {"edges": ["0,1"], "domain": ["f"]}, "--domain and --edges are both given for column 'a'"),
        (["a"], {"by": ["month"]}, "--by month needs --from and --to"),
        (["a"], {"by": ["month"], "start": ["2026"]}, "--by month needs --to"),
        (["a"], {"start": ["2026"]}, "--from, --to and --date-format need --by"),
        (["a"], {"edges": ["0,1"], "stop": ["2026"]}, "--from, --to and --date-format need --by"),
        (["a"], {"date_format": ["%Y"]}, "--from, --to and --date-format need --by"),
        (["a", "b"], {"date_format": ["%Y"]}, "--date-format must name its column, such as --date-format a=%Y"),
        (["a"], {"by": ["fortnight"], "start": ["2026"], "stop": ["2027"]}, "by must be one of"),
        (["a"], {"domain": ["x,,y"]}, "--domain must have labels between its commas, .* got an empty label"),
        (["a"], {"domain": [""]}, "--domain must have a value for column 'a', got none"),
        (["a"], {"domain": [","]}, "--domain must have labels between its commas, .* got an empty label"),
        (["a"], {"domain": ["x, y"]}, "without spaces around them, got the label ' y'"),
        (["a"], {"domain": ["x,y,x"]}, "--domain must have each label once, got x twice"),
        (["a", "b"], {"domain": ["c=x,y"]}, "such as --domain a=x,y; the columns are a, b"),
        (["a", "b"], {"domain": ["a=x,y", "a=z,w"]}, "--domain is given twice for column 'a'"),
        (["a", "b"], {"domain": ["a="]}, "--domain must have a value for column 'a', got none"),
        (["a", "b"], {"domain": ["a=x,y"], "edges": ["a=1"]}, "--domain and --edges are both given for column 'a'"),
        (["a"], {"edges": ["b=0,1"]}, "edges must be numbers, got 'b=0,1'"),
    ],
)  # fmt: skip
def test_contradictory_options_are_refused(columns, options, message):
    with pytest.raises(ParameterError, match=message):
        possible(columns, **options)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("Male", r"No such file or directory; a list of one label ends in a comma: Male,$"),
        ("Male.txt", r"No such file or directory$"),
        ("folder/Male", r"No such file or directory$"),
    ],
)
def test_a_missing_file_may_be_meant_as_a_list_of_one_label(tmp_path, monkeypatch, path, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=message):
        read_domain(Path(path), "sex", data_files=[], delimiter=None)

"""Formats of dates: read as Python's strptime reads them in the C locale, whatever the locale is."""

import locale
import pickle
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shuffledp import ParameterError, Periods
from shuffledp.histogram.periods import DateFormat

EPOCH = datetime(1970, 1, 1)
DIRECTIVES = [
    ["%Y", "%y"], ["%m", "%b", "%B"], ["%d"], ["%H", "%I", "%I %p", "%H%p"], ["%M"], ["%S", "%S.%f"], ["%a", "%A"],
    ["%z"],
]  # fmt: skip
FORMATS = st.lists(st.sampled_from(DIRECTIVES), unique_by=id, max_size=7).flatmap(
    lambda groups: st.tuples(
        st.permutations([["%Y", "%y"], *[group for group in groups if group[0] != "%Y"]]).flatmap(
            lambda order: st.tuples(*map(st.sampled_from, order))
        ),
        st.sampled_from(["/", " ", "-", ".", ", ", "  ", "T", "%%", "(", "\\", "", "年"]),
    ).map(lambda parts: parts[1].join(parts[0]))
)
FORMATS = FORMATS.filter(lambda text: "%z%" not in text.replace("%z%%", ""))  # digits could be seconds of the zone
MOMENTS = st.datetimes(datetime(1000, 1, 1), datetime(9998, 12, 31)) | st.datetimes(
    datetime(1969, 1, 1), datetime(2068, 12, 31)
)


def strptime(text, pattern):
    """The oracle."""
    try:
        found = datetime.strptime(text.strip(" "), pattern.strip(" "))
    except ValueError:
        return None
    at = found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)
    return (at - EPOCH) // timedelta(minutes=1)


@pytest.mark.slow
@settings(max_examples=200)
@given(FORMATS, MOMENTS.map(lambda at: at.replace(tzinfo=UTC)), st.data())
def test_what_strftime_writes_is_read_as_strptime_reads_it(pattern, at, data):
    text = at.strftime(pattern)
    change = data.draw(st.sampled_from(["", "upper", "lower", "shorter", "digit", "spaces"]))
    if change in ("upper", "lower"):
        text = getattr(text, change)()
    elif change == "shorter":
        text = text.replace("/0", "/").replace(" 0", " ").removeprefix("0")
    elif change == "digit":
        place = data.draw(st.integers(0, len(text)))
        text = text[:place] + data.draw(st.sampled_from("0123456789 ")) + text[place + 1 :]
    elif change == "spaces":
        text = f"  {text} "
    assert DateFormat(pattern).read_minute(text) == strptime(text, pattern)


@pytest.mark.slow
@given(st.sampled_from(["%m/%d/%y", "%b %d %Y", "%Y%m%d", "%d.%m.%Y %H:%M:%S", "%Y-%m-%dT%H:%M%z"]), st.data())
@example("%m/%d/%y", None)
def test_any_text_is_read_as_strptime_reads_it(pattern, data):
    letters = "0123456789/ .:-+TZJanuFebmrch"
    texts = ["10/16/17", "1/2/68", "1/2/69", "13/1/17", "2/29/17", "2/29/16", "10/16/2017", "", " 1/ 2/17", "1/2/17\n"]
    texts = texts if data is None else [data.draw(st.text(letters, max_size=20))]
    for text in texts:
        assert DateFormat(pattern).read_minute(text) == strptime(text, pattern), text


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("%m/%d/%y", "10/16/17", datetime(2017, 10, 16)),
        ("%m/%d/%y", " 1/2/69 ", datetime(1969, 1, 2)),
        ("%b %d %Y", "Jun 12 1998", datetime(1998, 6, 12)),
        ("%b %d %Y", "JUN  2 1998", datetime(1998, 6, 2)),
        ("%A, %B %d, %Y", "sunday, May 3, 2026", datetime(2026, 5, 3)),
        ("%d.%m.%Y %I:%M %p", "16.10.2017 12:05 AM", datetime(2017, 10, 16, 0, 5)),
        ("%d.%m.%Y %I:%M %p", "16.10.2017 12:05 pm", datetime(2017, 10, 16, 12, 5)),
        ("%Y-%m-%dT%H:%M:%S.%f%z", "2017-10-16T23:30:59.999999-0545", datetime(2017, 10, 17, 5, 15)),
        ("%Y%m%d", "20171016", datetime(2017, 10, 16)),
        ("100%% %Y", "100% 2017", datetime(2017, 1, 1)),
        ("%Y年%m月", "2017年10月", datetime(2017, 10, 1)),
        ("%m/%d/%y", "10/16/2017", None),
        ("%m/%d/%y", "31/12/17", None),
        ("%d/%m/%Y", "30/02/2016", None),
        ("%Y", "0000", None),
        ("%H:%M:%S %Y", "12:00:60 2017", None),
        ("%m/%d/%y", "1\u0660/16/17", None),  # digits of other scripts
        ("%b %Y", "\u017fep 2017", None),  # a long s
        ("%m/%d/%y", "2017-10-16", None),
    ],
)
def test_examples(pattern, text, expected):
    found = DateFormat(pattern).read_minute(text)
    assert found == (None if expected is None else (expected - EPOCH) // timedelta(minutes=1))


def test_the_locale_has_no_influence(monkeypatch):
    """No installed locale is needed: the names are never asked for."""
    monkeypatch.setattr(locale, "getlocale", lambda *_: 1 / 0)
    assert DateFormat("%b %Y").read_minute("Oct 2017") == DateFormat("%m/%Y").read_minute("10/2017")


@pytest.mark.parametrize(
    ("pattern", "by", "reason"),
    [
        (7, "year", "date_format must be text, such as .* got int"),
        ("", "year", "date_format must have a year"),
        ("%m/%d", "day", "date_format must have a year"),
        ("%Y %q", "year", "directives among .* with %q"),
        ("%Y %", "year", "directives among .* with %"),
        ("%c", "day", "directives among"),
        ("%Y %y", "year", "must have the year once"),
        ("%Y-%m %b", "month", "must have the month once"),
        ("%Y", "month", "must have the month to count by month"),
        ("%m/%Y", "week", "must have the day to count by week"),
        ("%m/%d/%Y", "hour", "must have the hour to count by hour"),
        ("%Y" + "x" * 100, "year", "at most 100 characters, got 102"),
    ],
)
def test_a_wrong_format_is_one_clear_error(pattern, by, reason):
    with pytest.raises(ParameterError, match=reason):
        Periods(by, start="2026", stop="2027", date_format=pattern)


def test_periods_with_a_format_compare_print_and_pickle():
    given = Periods("month", start="2026", stop="2027", date_format="%m/%d/%y")
    assert given == Periods("month", start="2026", stop="2027", date_format=DateFormat("%m/%d/%y"))
    assert given != Periods("month", start="2026", stop="2027")
    assert repr(given) == "Periods('month', start='2026-01-01', stop='2027-01-01', date_format='%m/%d/%y')"
    assert pickle.loads(pickle.dumps(given)).read_minute("10/16/26") == given.read_minute("10/16/26")

"""Errors and their tracebacks contain no personal value."""

import traceback

import pytest

from shuffledp.errors import ShuffledpError
from shuffledp.histogram.domain import Domain
from shuffledp.protocols import Histogram

SECRET = "sekrit-4711"
HISTOGRAM = Histogram(users=3, bins=4, missing_probability=0.25)


@pytest.mark.parametrize(
    "look_up",
    [
        lambda: Domain.of(["a", "b"]).encode([SECRET]),
        lambda: Domain.of(["a", "b"]).encode([[SECRET]]),
        lambda: Domain.range(3).encode([4711]),
        lambda: HISTOGRAM.randomize([SECRET]),
        lambda: HISTOGRAM.randomize([4711]),
        lambda: HISTOGRAM.tally([4711]),
        lambda: HISTOGRAM.sample_tally({4711: 3}),
    ],
)
def test_a_traceback_shows_no_value(look_up):
    """The traceback of an uncaught error, apart from the source lines of this test."""
    with pytest.raises(ShuffledpError) as caught:
        look_up()
    error = caught.value
    assert "4711" not in "".join(traceback.format_exception_only(error))
    while error.__cause__ is not None or (error.__context__ is not None and not error.__suppress_context__):
        error = error.__cause__ or error.__context__
        assert "4711" not in "".join(traceback.format_exception_only(error))

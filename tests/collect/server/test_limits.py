import asyncio
from contextlib import suppress

import pytest
from starlette.requests import Request

from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server import http
from shuffledp.collect.server.http import (
    LOOK_EVERY,
    MOST_IN_FLIGHT,
    SLOWEST_BYTES_PER_SECOND,
    InFlight,
    Rate,
    body_of,
    most_in_flight,
)


def asked(*parts, length=None, stuck=False):
    """A request whose body arrives in parts, and a counter of the parts read."""
    read = []

    async def receive():
        if len(read) == len(parts):
            if stuck:
                await asyncio.sleep(60)
            return {"type": "http.disconnect"}
        read.append(None)
        return {"type": "http.request", "body": parts[len(read) - 1], "more_body": stuck or len(read) < len(parts)}

    headers = [] if length is None else [(b"content-length", length)]
    return Request({"type": "http", "method": "POST", "headers": headers}, receive), read


def reason_of(request, most, **options):
    with pytest.raises(Refused) as error:
        asyncio.run(body_of(request, most, **options))
    return error.value.reason


def test_a_body_is_read_whole():
    request, _ = asked(b"ab", b"", b"cde")
    assert asyncio.run(body_of(request, 5)) == b"abcde"


@pytest.mark.parametrize("length", [b"2", b"4"])
def test_a_body_of_another_length_is_not_whole(length):
    """A client drops a report that cannot be opened, and sends one again that did not arrive."""
    request, _ = asked(b"abc", length=length)
    assert reason_of(request, 5) is Reason.UNAVAILABLE


def test_a_body_with_a_too_large_content_length_is_not_read():
    request, read = asked(b"abc", length=b"6")
    assert reason_of(request, 5) is Reason.TOO_LARGE
    assert not read


@pytest.mark.parametrize(
    "length",
    [None, b"3", b"-1", b"x", b"9" * 5000, "\u0663".encode()],
    ids=["none", "less", "negative", "a-letter", "endless", "arabic"],
)
def test_reading_stops_at_the_limit_whatever_the_content_length(length):
    request, read = asked(b"abc", b"def", b"ghi", b"jkl", length=length)
    assert reason_of(request, 5) is Reason.TOO_LARGE
    assert len(read) == 2


@pytest.mark.slow
def test_a_body_that_does_not_end_is_given_up():
    request, _ = asked(b"abc", stuck=True)
    assert reason_of(request, 5, seconds=0.01) is Reason.UNAVAILABLE


@pytest.mark.slow
def test_only_received_bytes_extend_the_time():
    """Large parts extend the time; small parts do not."""

    def slowly(part):
        parts = [part] * 10

        async def receive():
            await asyncio.sleep(LOOK_EVERY / 2)
            return {"type": "http.request", "body": parts.pop(), "more_body": bool(parts)}

        return Request({"type": "http", "method": "POST", "headers": []}, receive)

    enough = bytes(SLOWEST_BYTES_PER_SECOND)  # one second each
    assert len(asyncio.run(body_of(slowly(enough), 10**9, seconds=2 * LOOK_EVERY))) == 10 * len(enough)
    assert reason_of(slowly(b"x"), 10**9, seconds=LOOK_EVERY) is Reason.UNAVAILABLE


@pytest.mark.slow
def test_senders_have_a_time_of_their_own_and_are_forgotten():
    """They share a timer, which ends with the last of them."""

    async def run():
        slow = [asyncio.create_task(body_of(asked(b"abc", stuck=True)[0], 5, seconds=seconds)) for seconds in (0, 60)]
        done, waiting = await asyncio.wait(slow, return_when=asyncio.FIRST_COMPLETED)
        for each in waiting:
            each.cancel()
        await asyncio.wait(waiting)
        while asyncio.get_running_loop() in http._AWAITED:
            await asyncio.sleep(0.01)
        return [type(each.exception()) for each in done], len(waiting)

    assert asyncio.run(run()) == ([Refused], 1)


def test_a_cancelled_request_stays_cancelled():
    """A stopping server cancels requests; that is no slow sender."""
    request, _ = asked(b"abc", stuck=True)

    async def run():
        reading = asyncio.create_task(body_of(request, 5))
        await asyncio.sleep(0.01)
        reading.cancel()
        await reading

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())


def test_a_closed_connection_is_not_a_report():
    request, _ = asked()
    assert reason_of(request, 5) is Reason.UNAVAILABLE


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def taken(rate, number):
    """The number of accepted requests out of this number."""
    count = 0
    for _ in range(number):
        with suppress(Refused):
            rate.take()
            count += 1
    return count


def test_the_rate_is_limited():
    clock = Clock()
    rate = Rate(10, clock=clock)
    assert taken(rate, 50) == 10
    clock.now += 0.5
    assert taken(rate, 50) == 5
    clock.now += 1000.0
    assert taken(rate, 50) == 10


def test_less_than_one_per_second_is_possible():
    clock = Clock()
    rate = Rate(0.1, clock=clock)
    assert taken(rate, 5) == 1
    clock.now += 9
    assert taken(rate, 5) == 0
    clock.now += 1.01
    assert taken(rate, 5) == 1


def test_without_a_limit_all_are_taken():
    assert taken(Rate(None), 1000) == 1000


def test_requests_in_flight_are_limited():
    in_flight = InFlight(2)
    with in_flight, in_flight:
        with pytest.raises(Refused) as error, in_flight:
            pass
        assert error.value.reason is Reason.TOO_MANY_REQUESTS
    with in_flight:
        pass


def test_long_reports_lower_the_limit_in_flight():
    assert most_in_flight(5_000) == MOST_IN_FLIGHT
    assert 8 <= most_in_flight(10**7) < 100
    assert most_in_flight(10**12) == 8

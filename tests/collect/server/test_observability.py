import json
import logging
import re
import time
from pathlib import Path

import pytest

from shuffledp.collect.server.observability import (
    Event,
    RateLimit,
    StderrHandler,
    log,
    log_error,
    log_ready,
    rounded_time,
)
from shuffledp.collect.store.database import Fault, StoreError

ENDPOINTS = Path(__file__).parents[3] / "docs/reference/endpoints.md"


def lines(capsys):
    """The lines without their time, which must be a full hour."""
    found = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    for line in found:
        assert list(line)[:3] == ["time", "level", "event"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:00:00Z", line.pop("time"))
    return found


def test_a_line_has_a_level_an_event_a_task_and_numbers(capsys):
    log(Event.BATCH_CLOSED, task=b"\x01\x02", people=5)
    assert lines(capsys) == [{"level": "info", "event": "batch-closed", "task": "0102", "people": 5}]


def test_only_numbers_fit_into_a_log_line(capsys):
    with pytest.raises(ValueError, match="invalid literal"):
        log(Event.BATCH_CLOSED, people="192.0.2.7")
    assert lines(capsys) == []


def test_times_are_rounded_down_to_the_hour():
    """Otherwise the line of a complete batch says when its last person reported."""
    assert {rounded_time(3600.0 * 5 + second) for second in (0.0, 0.5, 1.0, 59.0, 3599.99)} == {"1970-01-01T05:00:00Z"}
    assert rounded_time(3600.0 * 6) == "1970-01-01T06:00:00Z"


def test_an_error_is_logged_without_its_message(capsys):
    try:
        raise KeyError("somebody's value")
    except KeyError as error:
        log_error(Event.UNEXPECTED_ERROR, error, reports=3)
    (line,) = lines(capsys)
    assert line.pop("place").startswith("test_observability.py:")
    assert line == {"level": "error", "event": "unexpected-error", "error": "KeyError", "reports": 3}


def test_only_a_reason_of_a_fixed_list_is_logged(capsys):
    log_error(Event.STORE_FAILED, StoreError("/srv/store.db", Fault.DISK_FULL))
    error = ValueError("x")
    error.reason = "192.0.2.7"
    log_error(Event.UNEXPECTED_ERROR, error)
    first, second = lines(capsys)
    assert first == {"level": "error", "event": "store-failed", "error": "StoreError", "reason": "disk-full"}
    assert "reason" not in second


def test_library_messages_are_reduced_to_their_level(capsys):
    logger = logging.getLogger("shuffledp.tests.logs")
    logger.addHandler(StderrHandler())
    logger.propagate = False
    logger.error("from %s", "192.0.2.7")
    try:
        raise OSError("192.0.2.7")
    except OSError:
        logger.critical("from %s", "192.0.2.7", exc_info=True)
    first, second = lines(capsys)
    assert first == {"level": "error", "event": "library-message"}
    assert second["error"] == "OSError"
    assert "192.0.2.7" not in json.dumps([first, second])


def test_the_own_address_is_logged(capsys):
    log_ready("http://127.0.0.1:8001")
    assert lines(capsys) == [{"level": "info", "event": "ready", "address": "http://127.0.0.1:8001"}]


def record(event=Event.REPORTS_NOT_STORED, level=logging.ERROR, **fields):
    made = logging.LogRecord("a", level, "a.py", 1, "%s", (event,), None)
    made.fields = fields
    return made


def test_the_same_error_is_written_once_a_minute_with_the_number_left_out():
    now = [0.0]
    limit = RateLimit(clock=lambda: now[0])
    written = []
    for second in range(180):
        now[0] = float(second)
        for _ in range(100):
            line = record(reason="disk-full", reports=second)
            if limit.filter(line):
                written.append((second, line.suppressed))
    assert written == [(0, 0), (60, 5999), (120, 5999)]


def test_other_reasons_tasks_and_events_are_not_left_out():
    limit = RateLimit(clock=lambda: 0.0)
    kinds = [
        record(reason="disk-full"),
        record(reason="read-only"),
        record(reason="disk-full", task="01"),
        record(Event.STORE_FAILED, reason="disk-full"),
        record(Event.KEY_SHARED),
        record(Event.STORE_RECOVERED),
    ]
    assert [limit.filter(kind) for kind in (*kinds, *kinds)] == [True] * 6 + [False] * 6


def test_a_burst_of_batches_is_written():
    limit = RateLimit(clock=lambda: 0.0)
    assert sum(limit.filter(record(Event.BATCH_CLOSED, logging.INFO, task="01")) for _ in range(1000)) == 30


def test_time_is_the_time_of_the_record(capsys):
    before = rounded_time(time.time())
    log(Event.STOPPED)
    assert json.loads(capsys.readouterr().err)["time"] in {before, rounded_time(time.time())}


def test_event_names_are_stable_words():
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", event) for event in Event)
    assert len(set(Event)) == len(list(Event))


def test_every_event_is_used_in_the_code():
    package = Path(__file__).parents[3] / "src/shuffledp/collect"
    written = "".join(file.read_text() for file in package.rglob("*.py"))
    assert [event for event in Event if f"Event.{event.name}" not in written] == []


def test_every_event_is_documented():
    table = ENDPOINTS.read_text().partition("<!-- events -->")[2].partition("<!-- /events -->")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \| [A-Z].+\. \|$", table, flags=re.MULTILINE)
    assert rows == list(Event)
    assert len(table.strip().splitlines()[2:]) == len(rows)

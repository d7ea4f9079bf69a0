import json
import logging

import pytest

from shuffledp.collect.server.observability import StderrHandler, log, log_error, log_ready


def lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_line_has_an_event_a_task_and_numbers(capsys):
    log("batch closed", task=b"\x01\x02", people=5)
    assert lines(capsys) == [{"event": "batch closed", "task": "0102", "people": 5}]


def test_only_numbers_fit_into_a_log_line(capsys):
    with pytest.raises(ValueError, match="invalid literal"):
        log("batch closed", people="192.0.2.7")
    assert lines(capsys) == []


def test_an_error_is_logged_without_its_message(capsys):
    try:
        raise KeyError("somebody's value")
    except KeyError as error:
        log_error("unexpected error", error, reports=3)
    (line,) = lines(capsys)
    assert line.pop("place").startswith("test_observability.py:")
    assert line == {"event": "unexpected error", "error": "KeyError", "reports": 3}


def test_library_messages_are_reduced_to_their_level(capsys):
    logger = logging.getLogger("shuffledp.tests.logs")
    logger.addHandler(StderrHandler())
    logger.propagate = False
    logger.error("from %s", "192.0.2.7")
    try:
        raise OSError("192.0.2.7")
    except OSError:
        logger.exception("from %s", "192.0.2.7")
    first, second = lines(capsys)
    assert first == {"event": "server error"}
    assert second["error"] == "OSError"
    assert "192.0.2.7" not in json.dumps([first, second])


def test_the_own_address_is_logged(capsys):
    log_ready("http://127.0.0.1:8001")
    assert lines(capsys) == [{"event": "ready", "address": "http://127.0.0.1:8001"}]

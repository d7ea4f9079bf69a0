"""The JavaScript client verifies the guarantee and answers a task once, in Node and in a real Chromium."""

import hashlib
from datetime import UTC, datetime

import msgspec
import pytest

from shuffledp.collect.reasons import Reason
from shuffledp.collect.task import AnswersElsewhere, Claim, task_of
from tests.clients.pages import in_page, new_page
from tests.clients.scripts import assert_passed, in_node
from tests.collect.tasks import small_task

LIST = "dark\nlight\nsystem\n"
OF_REPORTS = list(Reason)[: list(Reason).index(Reason.NO_TOKEN)]
"""Reasons of a shuffler to refuse a report; the other reasons are for servers."""


@pytest.fixture(scope="module")
def setting():
    """The input of the checks: tasks of all kinds, and the statuses of refusals."""
    small = small_task().task
    elsewhere = AnswersElsewhere(
        address="http://127.0.0.1:9/themes.txt", sha256=hashlib.sha256(LIST.encode()).hexdigest(), size=3
    )
    text = small_task(texts=True, users=500).task
    years = {year: datetime(year, 1, 1, tzinfo=UTC) for year in (2020, 2021, 2099, 2100)}
    tasks = {
        "small": small,
        "other": small_task(users=201).task,
        "weaker": msgspec.structs.replace(small, claim=Claim("0.5", small.claim.delta)),
        "next_to_nothing": small_task(users=20, epsilon=1.0, delta=0.9).task,
        "text": text,
        "weaker_text": msgspec.structs.replace(text, claim=Claim("0.9", text.claim.delta)),
        "closed": small_task(opens=years[2020], closes=years[2021]).task,
        "later": small_task(opens=years[2099], closes=years[2100]).task,
        "tokens": small_task(admission="tokens").task,
        "listed": task_of(msgspec.structs.replace(small, answers=elsewhere).canonical),
    }
    return {
        "tasks": {name: task.canonical.decode() for name, task in tasks.items()},
        "names": {name: task.name for name, task in tasks.items()},
        "statuses": {reason.value: reason.status.value for reason in OF_REPORTS},
        "list": LIST,
        "key": small_task().keys[0].private_bytes.hex(),
    }


@pytest.mark.slow
def test_a_client_answers_once_in_node(setting, tmp_path):
    found = in_node("test/client_node.js", "run", setting | {"folder": str(tmp_path)})
    assert_passed(found, more_than=20)


@pytest.mark.slow
def test_a_client_answers_once_in_a_browser(setting, browser):
    found = in_page(new_page(*browser), "test/client_browser.js", "run", setting)
    assert_passed(found, more_than=20)


@pytest.mark.slow
def test_reasons_mean_what_they_mean_in_python():
    table = {reason: {"again": reason.again, "meaning": reason.meaning} for reason in OF_REPORTS}
    assert in_node("test/client_network.js", "reasons") == table

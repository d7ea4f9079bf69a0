"""A browser and servers for the tests of the survey page; every test has new visitors."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.browser import running_browser
from tests.collect.tasks import text_answers
from tests.collect.web.survey.asking import HOSTILE, MANY, Asking

from shuffledp.collect.task import AnswerRange


@pytest.fixture(scope="module")  # it keeps an asyncio loop running, so other modules could not run one
def browser():
    with running_browser() as found:
        yield found


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    """Several tasks at one shuffler, in the order of MAIN, CLOSED and so on."""
    now = datetime.now(UTC)
    tasks = [
        {},
        {"closes": now - timedelta(days=1)},
        {"opens": now + timedelta(days=3)},
        {"claims": ("1", "0.000001")},
        {"question": HOSTILE, "answers": (HOSTILE, "A" * 300, "مرحبا")},
        {"answers": MANY},
        {"answers": AnswerRange(-5, 120)},
        {"answers": text_answers(normalisation=("trim", "lower", "query", "slash")), "protocol": None},
    ]
    with Asking(tmp_path_factory.mktemp("shuffler"), *tasks) as running:
        yield running


@pytest.fixture
def own(tmp_path):
    """A shuffler of one task, for one test."""
    with Asking(tmp_path) as running:
        yield running

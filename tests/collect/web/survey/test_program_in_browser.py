"""Which files of its program the survey page loads, in Chromium, and what it does with changed or missing ones."""

import re
from urllib.parse import urlsplit

import pytest
from tests.collect.tasks import text_answers
from tests.collect.web.survey.asking import Asking
from tests.collect.web.survey.visitor import visiting

from shuffledp.collect.task import AnswerChoices, AnswerEdges, AnswerRange

pytestmark = pytest.mark.slow

HASHED = {"answers": [str(at) for at in range(300)], "protocol": "hashed", "users": 2000, "epsilon": 1.0, "delta": 1e-6}
TASKS = {
    "list": ({}, []),
    "hashed list": (HASHED, ["hashed.js"]),
    "range": ({"answers": AnswerRange(0, 500)}, ["number_field.js"]),
    "numbers": ({"answers": AnswerEdges("0:30:10", []), "protocol": None}, ["decimal_field.js"]),
    "choices": ({"answers": AnswerChoices(["a", "b", "c"], 2), "protocol": None}, ["check_boxes.js"]),
    "text": ({"answers": text_answers(), "protocol": None}, ["hashed.js", "text_field.js"]),
}
"""Tasks, and the parts of the program that only some tasks need."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The address of the page of each task."""
    with Asking(tmp_path_factory.mktemp("shuffler"), *(task for task, _ in TASKS.values())) as running:
        yield {name: running.page(at) for at, name in enumerate(TASKS)}


def loaded(visitor):
    """The names of the scripts that the page fetched."""
    paths = (urlsplit(request.url).path for request in visitor.requests)
    return sorted(path.removeprefix("/page/") for path in paths if path.startswith("/page/") and path.endswith(".js"))


@pytest.mark.parametrize(("name", "parts"), [(name, parts) for name, (_, parts) in TASKS.items()])
def test_a_page_loads_the_parts_that_its_task_needs_and_names_their_hashes(browser, pages, name, parts):
    with visiting(browser) as visitor:
        page = visitor.visit(pages[name]).page
        named = page.locator("script[src], link[rel=modulepreload]").all()
        hashes = [each.get_attribute("integrity") for each in named]
        assert all(re.fullmatch("sha384-[A-Za-z0-9+/=]{64}", each) for each in hashes)
        assert len(set(hashes)) == len(named) == len(parts) + 1
        assert loaded(visitor) == sorted(["survey.js", *parts])
        assert visitor.complaints == []


def test_a_changed_part_does_not_run(browser, pages):
    with visiting(browser) as visitor:
        visitor.visit(pages["numbers"])

        def changed(route):
            answer = route.fetch()
            route.fulfill(response=answer, body=answer.text() + "\ndocument.title = 'changed';")

        visitor.context.route("**/page/decimal_field.js", changed)
        visitor.page.reload()
        visitor.until("unavailable")
        assert visitor.page.title() != "changed"
        assert any("integrity" in each for each in visitor.complaints)


def test_a_part_that_did_not_load_is_loaded_later(browser, pages):
    with visiting(browser) as visitor:
        visitor.visit(pages["choices"])
        visitor.context.route("**/page/check_boxes.js", lambda route: route.abort())
        visitor.page.reload()
        visitor.until("unavailable")
        visitor.context.unroute("**/page/check_boxes.js")
        visitor.page.locator('[data-state="unavailable"]').get_by_role("button").click()
        visitor.until("new")
        assert visitor.page.get_by_role("checkbox").count() > 2

"""The survey page as served: the same for every visitor, escaped, with a strict policy."""

import asyncio
import gzip
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from html.parser import HTMLParser
from itertools import pairwise, product

import pytest
from msgspec.structs import replace
from starlette.requests import Request
from tests.clients.scripts import CLIENT
from tests.collect.in_process import client_in_process
from tests.collect.shuffler.running import settings_for
from tests.collect.shuffler.test_settings import Folder
from tests.collect.tasks import small_task
from tests.collect.web.survey.asking import HOSTILE, asked_task
from tests.oracles.exact import exact_exp

from shuffledp.accounting.curve import Guarantee
from shuffledp.collect.shuffler.app import make_app
from shuffledp.collect.task import AnswersElsewhere, Place
from shuffledp.collect.web import survey as routes
from shuffledp.collect.web.survey import SHIPPED, _connects, ask_page, catalogue_for
from shuffledp.errors import ParameterError, TaskError
from shuffledp.explain.protocols import Protection, one_in, times

SOURCES = CLIENT / "survey"
TASK = asked_task(9).task
WEAK = ("1", "0.000001")
"""A claim that the noise of five people does not reach."""


def asked(settings, *requests):
    """The responses of a shuffler to requests, each a path and headers."""

    async def run():
        async with client_in_process(make_app(settings)) as client:
            return [await client.get(path, headers=headers) for path, headers in requests]

    return asyncio.run(run())


def settings_with_page(path, **more):
    return settings_for(path, asked_task(9), page=True, **more)


def test_the_page_is_the_same_for_everybody(tmp_path):
    settings = settings_with_page(tmp_path)
    path = f"/ask/{settings.served[0].task.name}"
    one, other = asked(settings, (path, {}), (path, {"user-agent": "x", "cookie": "a=b", "accept-language": "de"}))
    assert one.status_code == 200
    assert one.content == other.content
    assert one.headers == other.headers
    assert "set-cookie" not in one.headers


def test_the_policy_allows_only_the_page_itself(tmp_path):
    settings = settings_with_page(tmp_path)
    paths = [f"/ask/{settings.served[0].task.name}", "/ask/unknown", "/"]
    answers = asked(settings, *((path, {}) for path in paths))
    assert [answer.status_code for answer in answers] == [200, 404, 307]
    for answer in answers[:2]:
        allowed = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
        assert allowed["default-src"] == allowed["form-action"] == allowed["frame-ancestors"] == "'none'"
        assert allowed["script-src"] in ("'self'", "'none'")
        assert answer.headers["referrer-policy"] == "no-referrer"
    assert "connect-src 'self' http://127.0.0.1:9;" in answers[0].headers["content-security-policy"]
    assert answers[2].headers["location"] == paths[0]


def test_servers_of_the_task_stand_in_the_policy():
    """Characters that could end a policy are refused in addresses of tasks."""
    for host, end in product(("a", "[::1]"), (";", " ", ",", "'", '"', "*")):
        for address in (f"http://{host}{end}script-src", f"http://script-src{end}{host}"):
            with pytest.raises(TaskError):
                replace(TASK, shufflers=[Place(address, TASK.shufflers[0].key)])
    named = replace(TASK, shufflers=[Place("https://my_host:8443/x", TASK.shufflers[0].key)])
    assert _connects(named) == ["'self'", "https://my_host:8443"]
    elsewhere = replace(TASK, answers=AnswersElsewhere("https://lists.example/a/list.txt", "0" * 64, 3))
    assert _connects(elsewhere) == ["'self'", "http://127.0.0.1:9", "https://lists.example"]


def test_the_files_of_the_page_are_served(tmp_path):
    paths = ["/page/survey.js", "/page/survey.css", "/page/survey.svg"]
    kinds = ["text/javascript", "text/css", "image/svg+xml"]
    for answer, kind in zip(asked(settings_with_page(tmp_path), *((path, {}) for path in paths)), kinds, strict=True):
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(kind)


def test_without_the_option_there_is_no_page(tmp_path):
    settings = settings_for(tmp_path, asked_task(9))
    paths = ["/", f"/ask/{settings.served[0].task.name}", "/page/survey.js"]
    assert {answer.status_code for answer in asked(settings, *((path, {}) for path in paths))} == {404}


def test_several_questions_are_listed(tmp_path):
    kept = [
        asked_task(9, question=question, asker=asker)
        for question, asker in (("Tea?", "Café"), (HOSTILE, "<img src=x>"))
    ]
    settings = settings_for(tmp_path, kept[0], page=True)
    (one,) = settings.served
    both = [one, type(one)(task=kept[1].task, position=0, key=kept[1].keys[0])]
    (answer,) = asked(type(settings)(**{**vars(settings), "served": both}), ("/", {}))
    assert answer.status_code == 200
    for each in kept:
        assert f'href="/ask/{each.task.name}"' in answer.text
    assert "<img" not in answer.text
    assert "Asked by Café" in answer.text


class Tags(HTMLParser):
    """The tags and texts of a page."""

    def __init__(self, text):
        super().__init__()
        self.found, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.words.append(data)


def test_every_word_of_a_task_is_escaped():
    hostile = asked_task(9, question=HOSTILE).task
    tags = Tags(ask_page(hostile))
    assert not [tag for tag, _ in tags.found if tag == "img"]
    assert "<img src=x" in " ".join(tags.words)
    broken = asked_task(9, question=HOSTILE, claims=WEAK).task
    assert not [tag for tag, _ in Tags(ask_page(broken)).found if tag in ("img", "form")]


def test_an_unprotected_answer_is_not_called_hidden():
    kept, broken = (text_of(ask_page(asked_task(9, claims=claims).task)) for claims in (None, WEAK))
    for words_of_secrecy in ("protection:", "nobody can see who sent a message", "1 in "):
        assert words_of_secrecy in kept
        assert words_of_secrecy not in broken
    assert "Not kept: the noise of this survey protects you less than it promises. Do not answer." in broken
    assert "which is false: the task claims delta=1e-06" in broken
    assert "shuffledp send" in kept
    assert "shuffledp send" not in broken
    tags = Tags(ask_page(asked_task(9, claims=WEAK).task)).found
    assert not [attributes for _, attributes in tags if "data-strength" in attributes]


def test_concurrent_visitors_render_a_page_once(monkeypatch):
    made, come = [], threading.Barrier(5)
    monkeypatch.setattr(routes, "ask_page", lambda task: made.append(task) or time.sleep(0.2) or "page")
    pages = routes._Pages(lambda: {TASK.name: TASK}, dict, time.time, lambda _: False)

    def visit():
        come.wait()
        assert (
            asyncio.run(
                pages.show_task(Request({"type": "http", "path_params": {"name": TASK.name}, "headers": []}))
            ).body
            == b"page"
        )

    with ThreadPoolExecutor(5) as visitors:
        for visited in [visitors.submit(visit) for _ in range(5)]:
            visited.result()
    assert made == [TASK]


def test_a_page_is_compressed_once(tmp_path, monkeypatch):
    compressed = []
    compress = gzip.compress
    monkeypatch.setattr(gzip, "compress", lambda content, **how: compressed.append(1) or compress(content, **how))
    settings = settings_with_page(tmp_path)
    path = f"/ask/{settings.served[0].task.name}"
    packed, plain, again = asked(settings, *((path, {"accept-encoding": how}) for how in ("gzip", "identity", "gzip")))
    assert compressed == [1]
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.text == plain.text == again.text


def test_the_page_needs_nothing_that_the_policy_forbids():
    """No inline scripts, styles or handlers, and nothing from other origins."""
    for tag, attributes in Tags(ask_page(TASK)).found:
        assert tag != "style"
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        if tag in ("script", "link"):
            assert attributes.get("src", attributes.get("href")).startswith("/page/")
        if tag == "form":
            assert set(attributes) <= {"id", "autocomplete", "novalidate"}


def test_the_page_has_all_elements_that_scripts_use():
    tags = Tags(ask_page(asked_task(9, admission="secret").task)).found
    ids = {attributes["id"] for _, attributes in tags if "id" in attributes}
    states = {attributes["data-state"] for _, attributes in tags if "data-state" in attributes}
    shown = {word for _, attributes in tags for word in attributes.get("data-shown", "").split()}
    scripts = "".join(path.read_text() for path in SOURCES.glob("*.js"))
    assert set(re.findall(r'(?:ElementById|\bat)\("([a-z-]+)"\)', scripts)) <= ids
    assert set(re.findall(r'\bshow\("([a-z-]+)"', scripts)) <= states | shown
    assert states <= set(re.findall(r'"([a-z-]+)"', scripts))
    assert len(states) == 23


def test_headings_are_in_order_and_fields_have_labels():
    tags = Tags(ask_page(asked_task(9, admission="tokens").task)).found
    levels = [int(tag[1]) for tag, _ in tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = {attributes["id"] for _, attributes in tags if "id" in attributes}
    for _, attributes in tags:
        for name in ("aria-labelledby", "aria-describedby"):
            assert attributes.get(name, next(iter(ids))) in ids
    assert ("html", {"lang": "en"}) in tags


def test_the_bar_is_named_by_what_it_shows():
    """It grows with the answers, so that it is not called the number of missing ones."""
    tags = Tags(ask_page(TASK)).found
    (bar,) = [attributes for tag, attributes in tags if tag == "progress"]
    assert bar["aria-labelledby"] == "standing-words"


def test_every_chain_states_whom_to_trust():
    one, two = (" ".join(Tags(ask_page(asked_task(9, shufflers=number).task)).words) for number in (1, 2))
    trusted = "You trust 127.0.0.1:9 not to change this page, and {} not to cheat together."
    assert trusted.format("both servers") in one
    assert trusted.format("all three servers") in two
    assert "As long as one server is honest" in two
    assert "except in the cases above" in two
    for address in ("http://127.0.0.1:9", "http://127.0.0.1:10"):
        assert address in two


def test_the_conditions_are_on_the_page():
    """The one of the page itself is in view; who could add made-up people depends on the admission."""
    for admission, forgers in (
        ("anybody", "anyone could send many made-up reports"),
        ("secret", "someone who knows the secret could send many"),
        ("tokens", "the operator could give tokens to made-up people"),
    ):
        task = asked_task(9, admission=admission).task
        assert forgers in text_of(ask_page(task))
        assert "This page's server could change this page, so that it sends your answer as it is" in text_of(
            ask_page(task)
        )
        assert "You trust 127.0.0.1:9 not to change this page" in in_view(task)


@pytest.mark.parametrize(("honest", "said"), [(150, "150 of these 200"), (None, "200 of these 200")])
def test_the_page_says_how_many_people_must_be_real(honest, said):
    """The promise holds for this number; with fewer the noise is less."""
    task = asked_task(9, users=200, honest_users=honest, epsilon=1.0, delta=1e-6).task
    needs = f"The protection needs at least {said} people to be real and to follow the rules. With fewer it is weaker."
    assert needs in text_of(ask_page(task))
    assert "protection needs at least" not in text_of(ask_page(asked_task(9, claims=WEAK).task))


def in_view(task):
    """Return the text of a page without its folds."""
    page = ask_page(task)
    for _ in range(2):  # folds inside folds
        page = re.sub(r"<details(?:(?!<details).)*?</details>", "", page, flags=re.DOTALL)
    return text_of(page)


def text_of(page):
    """Return the text of a page without the texts that its program may show."""
    shown = re.sub(r"<template.*?</template>", "", page, flags=re.DOTALL)
    return " ".join("".join(Tags(shown).words).split())


def test_the_figures_of_the_promise_hold():
    """Rounded up: e^8 is 2980.96, and 0.01 is exact."""
    text = " ".join(Tags(ask_page(TASK)).words)
    assert "is at most 2,981 times what it would be with any other answer, plus at most 0.01." in text
    assert "Weak protection" in text
    assert "1 in 100 at most" in " ".join(text.split())
    chances = ("1e-6", "0.5", "0.3", "0.00000123", "1e-20")
    assert [one_in(chance) for chance in chances[:3]] == ["1 in 1,000,000", "1 in 2", "1 in 3"]
    for chance in chances:
        assert Fraction(1, int(one_in(chance).removeprefix("1 in ").replace(",", ""))) >= Fraction(chance)


def test_no_greek_letters_outside_the_fold_for_experts():
    for task in (TASK, asked_task(9, claims=WEAK).task):
        assert not [word for word in ("epsilon", "delta") if word in in_view(task).lower()]
    for_experts = {"bound", "budget_figures"}
    for language in SHIPPED:
        for key, text in catalogue_for(language).script.items():
            shown = re.sub(r"{\w+}", "", str(text)).lower()
            assert key in for_experts or not re.search("epsilon|delta", shown), key


@pytest.mark.parametrize(("epsilon", "strength"), [(0.5, "strong"), (2.0, "moderate"), (8.0, "weak")])
def test_the_strength_is_in_view(epsilon, strength):
    task = small_task(epsilon=epsilon, delta=1e-6).task
    text = in_view(task)
    assert f"Send{strength.capitalize()} protection" in text
    assert f"{strength.capitalize()} protection: your answer can make any result up to" in text
    assert ("Think twice before you answer" in text) == (strength == "weak")
    assert [each["data-strength"] for _, each in Tags(ask_page(task)).found if "data-strength" in each] == [strength]
    experts = "Protection is called strong up to epsilon 1, delta 1e-5, moderate up to epsilon 3, delta 0.001, and weak"
    assert experts in ask_page(task)
    assert "and delta 1e-6: whatever you answer" in ask_page(task)


def test_a_page_without_its_program_claims_no_check():
    text = text_of(ask_page(TASK))
    assert "is checking" not in text
    assert "has checked" not in text
    assert "The program of this page did not load." in text


def test_the_page_does_not_vouch_for_the_asker():
    assert "The survey itself says who asks" in text_of(ask_page(asked_task(9, asker="City Library").task))
    assert "The survey itself says who asks" not in text_of(ask_page(TASK))


def test_factors_are_rounded_up():
    assert Protection.of(Guarantee(epsilon=1.0, delta=1e-5, basis="stated")) == ("2.72", "1 in 100,000", "strong")
    assert (times(0.0), times(8.0), times(1000.0)) == ("1", "2,981", "any number of")
    for epsilon in (0.001, 0.3, 1.0, 4.6, 4.7, 8.0, 13.8, 13.9, 20.0, 50.0):
        said = int(Fraction(times(epsilon).replace(",", "")) * 10**6)
        assert exact_exp(epsilon) <= Fraction(said, 10**6) <= exact_exp(epsilon) * Fraction(102, 100)


def test_an_admission_is_asked_for_only_if_needed():
    fields = {
        kind: [
            tag
            for tag, attributes in Tags(ask_page(asked_task(9, admission=kind).task)).found
            if tag == "input" and attributes.get("id") == "admission"
        ]
        for kind in ("anybody", "secret", "tokens")
    }
    assert fields == {"anybody": [], "secret": ["input"], "tokens": ["input"]}
    assert "--admission FILE --value -" in ask_page(asked_task(9, admission="tokens").task)


def test_a_refused_token_may_have_been_used_already():
    for admission, used in (("secret", False), ("tokens", True)):
        text = text_of(ask_page(asked_task(9, admission=admission).task))
        assert f"The server did not accept this {admission.rstrip('s')}" in text
        assert ("or it was used already" in text) == used


def test_the_server_says_its_time(tmp_path):
    settings = settings_with_page(tmp_path)
    (answer,) = asked(settings, ("/page/time", {}))
    assert answer.text == str(int(settings.clock()))
    assert answer.headers["cache-control"] == "no-store"


def test_a_later_shuffler_has_no_page(tmp_path):
    folder = Folder(tmp_path, shufflers=2)
    later = folder.options(1, token=folder.secret("token", "word"), page=True)
    with pytest.raises(ParameterError, match="page is for the first shuffler"):
        later()

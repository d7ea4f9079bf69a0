"""The languages of the survey page: every text in every language, with the same placeholders."""

import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.clients.scripts import CLIENT
from tests.collect.web.survey.asking import asked_task
from tests.collect.web.survey.test_page import Tags, text_of

from shuffledp.collect import web
from shuffledp.collect.task import AnswerChoices, AnswerEdges
from shuffledp.collect.web.survey import SHIPPED, Catalogue, ask_page, catalogue_for, task_list

FOLDER = Path(web.__file__).parent
TEMPLATES = "".join(path.read_text() for path in (FOLDER / "templates" / "survey").glob("*.html"))
SCRIPTS = "".join(path.read_text() for path in (CLIENT / "survey").glob("*.js"))
ASKED = {"question": "Tee oder Kaffee?", "answers": ("Tee", "Kaffee")}


def texts(found, key=""):
    """Every text of a catalogue by its path."""
    if isinstance(found, str):
        return {key: found}
    return {path: text for name, part in found.items() for path, text in texts(part, f"{key}.{name}").items()}


def catalogue(language):
    return json.loads((FOLDER / "catalogues" / f"{language}.json").read_text())


def placeholders(text):
    return sorted(set(re.findall(r"\{(\w+)\}", text)))


@pytest.mark.parametrize("language", SHIPPED)
def test_every_language_has_every_text_with_the_same_placeholders(language):
    english, other = texts(catalogue("en")), texts(catalogue(language))
    assert set(other) == set(english)
    singular = {key for key in english if key.endswith(".one")}  # "1 group" needs no placeholder
    for key in set(english) - singular:
        assert placeholders(other[key]) == placeholders(english[key]), key
    assert all(text.strip() == text != "" for text in other.values())


def test_every_text_is_used_and_every_used_text_exists():
    english = catalogue("en")
    in_scripts = set(re.findall(r'"([a-z_-]+)"', SCRIPTS)) | {key for key in english["script"] if "reason_" in key}
    assert set(english["script"]) <= in_scripts
    assert set(re.findall(r'\bt\("([a-z_]+)"', SCRIPTS)) <= set(english["script"])
    named = {word.replace("-", "_") for word in re.findall(r'"([a-z_-]+)"', TEMPLATES)}
    built = {f"{state}_title" for state in named} | {"note_text", "note_numbers", "the_task", "the_series"}
    in_python = set(re.findall(r'"([a-z_]+)"', (FOLDER / "survey.py").read_text()))
    assert set(english["page"]) <= named | built | in_python
    assert set(re.findall(r'\bt\("([a-z_]+)"', TEMPLATES)) <= set(english["page"]) | {"the_", "note_"}


@pytest.mark.slow
def test_nothing_is_left_in_english_on_a_page_in_german():
    """Words that are common in English and none in German."""
    kinds = [{}, {"answers": AnswerChoices(["a", "b", "c"], 2)}, {"answers": AnswerEdges("0:120:10", [])}]
    for kind in kinds:
        more = {"users": 300, "protocol": None} if kind else {}
        page = ask_page(asked_task(9, language="de", admission="tokens", shufflers=2, **(ASKED | more | kind)).task)
        of_script = texts(json.loads(re.search(r"<template.*?>(.*?)</template>", page)[1]))
        shown = re.sub(r"shuffledp send .*? --value -|{\w+}", "", " ".join([text_of(page), *of_script.values()]))
        assert not re.findall(r"\b(?:the|your|you|is|are|of|this|and|not|answer|answers|with|people)\b", shown)
        assert ("html", {"lang": "de"}) in Tags(page).found
        assert "Schwacher Schutz" in page


@pytest.mark.parametrize(
    ("language", "page", "question"),
    [("de", "de", None), ("de-AT", "de", None), ("fr", "en", "fr"), (None, "en", None)],
)
def test_a_page_has_the_language_of_its_task_if_it_is_shipped(language, page, question):
    """Otherwise the page is in English, and says that the question is not."""
    tags = Tags(ask_page(asked_task(9, language=language, **ASKED).task)).found
    assert ("html", {"lang": page}) in tags
    (title,) = [attributes for tag, attributes in tags if tag == "h1"]
    assert title.get("lang") == question
    labels = [attributes.get("lang") for tag, attributes in tags if tag == "span" and attributes.get("dir") == "auto"]
    assert labels == [question, question, None, None]  # the last two are the page's own


def test_the_words_of_a_task_have_its_language_and_those_of_the_page_have_not():
    task = asked_task(9, language="fr", asker="Bibliothèque", purpose="Choisir le thème.", **ASKED).task
    page = ask_page(task)
    assert 'Asked by <bdi lang="fr">Bibliothèque</bdi>' in page
    assert '<p class="under">Purpose: <bdi lang="fr">Choisir le thème.</bdi></p>' in page


def test_numbers_and_plural_forms():
    german = catalogue_for("de")
    assert german.number("2.72") == "2,72"
    assert german.number(1_000_000) == "1.000.000"
    assert german.plural("steps", "hour", number=1) == "einer Stunde"
    assert german.plural("steps", "hour", number=1_200) == "1.200 Stunden"
    assert Catalogue("en").plural("steps", "day", number=2) == "2 days"


def test_the_figures_for_experts_have_the_decimal_mark_of_the_page():
    task = asked_task(9, language="de", epsilon=0.5, delta=0.00001, users=300, **ASKED).task
    page = ask_page(task)
    shown = text_of(page)
    assert "Die Aufgabe verspricht epsilon 0,5 und delta 1e-5" in shown
    assert "mittel bis epsilon 3, delta 0,001 und darüber" in shown
    assert not re.search(r"(epsilon|delta|höchstens) \d+\.\d", shown)
    assert 'data-epsilon="0.5"' in page  # for the program


def test_texts_of_a_task_are_escaped():
    hostile = "<b>&{users}"
    task = asked_task(9, asker=hostile, purpose=hostile, contact="https://example.org/a", language="de").task
    page = ask_page(task)
    assert "<b>&{" not in page
    assert page.count("&lt;b&gt;&amp;{users}") == 2
    assert 'href="https://example.org/a"' in page
    mail = ask_page(replace(task, contact="ask@example.org"))
    assert 'href="mailto:ask@example.org"' in mail


def test_a_list_of_questions_has_their_common_language():
    german, other = (asked_task(9, language=language).task for language in ("de", None))
    assert 'lang="de"' in task_list([german, german])
    assert '<html lang="en">' in task_list([german, other])

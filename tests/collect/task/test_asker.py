"""Who asks: the fields are part of the id, have one form, and are shown as the file has them."""

import json

import msgspec
import pytest

from shuffledp.collect.task import series_of, task_of
from shuffledp.collect.task.series import Series
from shuffledp.collect.task.servers import ASKER_FIELDS, asker_fields
from shuffledp.collect.task.task import Task
from shuffledp.errors import TaskError
from shuffledp.explain import task as about_tasks
from shuffledp.explain import task_series as about_series
from tests.collect.series import small_series
from tests.collect.tasks import small_task

TASK, SERIES = small_task().task, small_series().series
WHO = {
    "asker": "Example University",
    "purpose": "To choose a theme.",
    "contact": "privacy@university.example",
    "language": "pt-BR",
}


def with_fields(asked: Task | Series, **fields: str | None) -> Task | Series:
    return msgspec.structs.replace(asked, version=2, **fields)


@pytest.mark.parametrize("name", ASKER_FIELDS)
def test_each_field_is_part_of_the_id(name):
    task, series = with_fields(TASK, **{name: WHO[name]}), with_fields(SERIES, **{name: WHO[name]})
    assert len({task.id, with_fields(TASK, **WHO).id, TASK.id}) == 3
    assert len({series.id, with_fields(SERIES, **WHO).id, SERIES.id}) == 3
    assert task_of(task.to_json().encode()) == task_of(task.canonical) == task
    assert series_of(series.to_json().encode()) == series_of(series.canonical) == series
    assert asker_fields(task) == {name: WHO[name]}


def test_a_file_without_them_does_not_mention_them():
    """A task of version 1 has the bytes and the id that it had before these fields existed."""
    for asked in (TASK, SERIES):
        plain = json.loads(asked.to_json())
        assert plain["version"] == 1
        assert not set(plain) & {*ASKER_FIELDS, "series"}


def test_the_rounds_of_a_series_inherit_them():
    series = with_fields(SERIES, **WHO)
    for task in series.tasks:
        assert asker_fields(task) == WHO
        assert task.version == 2
        assert task_of(task.canonical) == task


@pytest.mark.parametrize(
    "language", ["de", "gsw", "pt-BR", "es-419", "zh-Hant", "zh-Hant-TW", "ca-valencia", "sl-1994"]
)
def test_languages(language):
    assert with_fields(TASK, language=language).language == language


@pytest.mark.parametrize("contact", ["a@b.c", "A.b+c_d-e@x-y.example", "https://a.example", "https://[::1]:8/privacy"])
def test_contacts(contact):
    assert with_fields(TASK, contact=contact).contact == contact


@pytest.mark.parametrize("length", [1, 200])
def test_names_of_any_letters(length):
    """Joiners and marks of direction are letters of some scripts; only what turns other text around is refused."""
    for letter in ("\u00e9", "\N{PILE OF POO}", "\u05d0", "\u200f", "\u200d", "<"):
        assert with_fields(TASK, asker=letter * length).asker == letter * length


@pytest.mark.parametrize("asked", [TASK, SERIES], ids=["task", "series"])
@pytest.mark.parametrize("wrong", [{"asker": ""}, {"asker": " "}, {"purpose": ""}, {"contact": ""}, {"language": ""}])
def test_an_empty_field_is_refused_and_not_left_out(asked, wrong):
    """Otherwise two files would have one id."""
    with pytest.raises(TaskError, match=next(iter(wrong))):
        with_fields(asked, **wrong)


def test_they_are_shown_and_called_a_claim():
    task, series = with_fields(TASK, **WHO), with_fields(SERIES, **WHO)
    titles = {"Asked by": WHO["asker"], "Purpose": WHO["purpose"], "Contact": WHO["contact"], "Language": "pt-BR"}
    for summary in (about_tasks.summary(task), about_series.summary(series)):
        assert {title: summary[title] for title in titles} == titles
    for details in (about_tasks.details(task), about_series.details(series)):
        assert details["Asked by"] == "Example University (as the task says: nothing in it proves this)"
        assert details["Purpose"] == WHO["purpose"]
    for plain in (about_tasks.about(task), about_series.about(series)):
        assert {name: plain[name] for name in ASKER_FIELDS} == WHO
    assert "Asked by" not in about_tasks.summary(TASK)
    assert about_tasks.about(TASK)["asker"] is None

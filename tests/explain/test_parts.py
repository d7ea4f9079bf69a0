"""The parts of pages about a release: each is complete markup, and all warnings and notes are included."""

import sys
from dataclasses import replace

import pytest
from jinja2 import UndefinedError

from shuffledp.errors import MissingExtraError
from shuffledp.explain.html import environment, render
from shuffledp.explain.page import page, parts
from shuffledp.explain.release import evaluation_sentence
from shuffledp.formatting import sentence
from tests.explain.cases import CASES, HOSTILE, hostile
from tests.oracles.html_pages import read_page


@pytest.mark.slow
@pytest.mark.parametrize("name", ["result", "rank_chart", "protection", "meaning", "recipe", "value_table"])
def test_each_is_whole_and_hostile_labels_stay_text_in_it(name):
    bad = hostile()
    bad = replace(bad, warnings=HOSTILE[:3], notes=HOSTILE[:3])
    for release in (bad, CASES["no value"](), CASES["pairs"](), CASES["two values"]()):
        read = read_page(getattr(parts(release), name)())
        assert {tag for tag, _ in read.seen}.isdisjoint({"script", "img", "style", "a", "form"})
        names = {name for _, attributes in read.seen for name in attributes}
        assert not [name for name in names if name == "style" or name.startswith("on")]


def test_a_page_has_every_warning_and_note_and_what_is_not_protected():
    release = replace(CASES["two values"](), warnings=("few <people>", "late"), notes=("Each row is one <person>.",))
    texts = " ".join(read_page(page(release)).texts)
    for needed in ("Few <people>.", "Late.", "Each row is one <person>.", "Not protected:", "Guarantee:"):
        assert needed in texts
    assert "Not private: do not publish this page." in texts
    assert sentence(evaluation_sentence(release.evaluation)) in texts
    assert "Not private" not in page(CASES["one value"]())


def test_absent_parts_are_left_out():
    release = CASES["no value"]()
    assert parts(release).value_table().strip() == ""
    without = replace(release, estimate=replace(release.estimate, guarantee=None))
    assert parts(without).protection().strip() == ""
    assert "<h2>How well each row is protected</h2>\n<p><b>Strong protection.</b>" in parts(release).protection()
    of_people = replace(release, asked={**release.asked, "user": "person"})
    assert "<h2>How well each person is protected</h2>\n<p><b>Strong protection.</b>" in parts(of_people).protection()


@pytest.fixture
def without_jinja2(monkeypatch):
    """Make Jinja2 unavailable, and the library that comes with it."""
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setitem(sys.modules, "markupsafe", None)
    environment.cache_clear()
    yield
    environment.cache_clear()


def test_without_jinja2_a_report_names_the_extra_and_a_notebook_shows_the_repr(without_jinja2):
    release = CASES["one value"]()
    with pytest.raises(MissingExtraError, match=r"pip install 'shuffledp\[html\]'"):
        release.to_html()
    assert release._repr_html_() is None
    assert release.estimate._repr_html_() is None


def test_an_undefined_name_is_an_error():
    with pytest.raises(UndefinedError):
        render("report.html")

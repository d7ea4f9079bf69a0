"""A release of texts in English and as pages: numbers, nouns, and texts that strangers wrote."""

import io
from dataclasses import replace

import pytest
from rich.console import Console
from rich.text import Text

from shuffledp.cli import release_output
from shuffledp.collect.analyzer.releases import release_of
from shuffledp.collect.task.follow_up import LookedUp
from shuffledp.explain.collected import lookup_lines
from shuffledp.explain.page import context
from shuffledp.explain.release import lines
from shuffledp.formatting import shown
from shuffledp.histogram.labels import NoText, text_label
from shuffledp.release.free_text import Blocklist, hide
from shuffledp.release.release import Release
from tests.cli.commands import command
from tests.collect.analyzer.texts import HOSTILE, LONG, RIGHT_TO_LEFT, SCRIPT, tally_of, text_task


@pytest.fixture(scope="module")
def release():
    task = text_task().task
    return release_of(task, [tally_of(task, dict.fromkeys(HOSTILE, 80) | {None: 50})], refused={})


@pytest.fixture(scope="module")
def empty():
    task = text_task().task
    return release_of(task, [tally_of(task, {})], refused={})


def test_the_answer_comes_first(release):
    limit, most = release.detection_limit, release.estimate.simultaneous.unreported_high
    guarantee, bounds, not_shown, *_ = lines(release)
    assert guarantee.startswith("Guarantee: (2, 1e-6)")
    assert bounds.startswith("95% confidence, all texts at once: shown counts are within ±")
    assert bounds.endswith(
        f"any text not shown has at most {most}. Any text with at least {limit} people is shown with 95% probability."
    )
    assert "A text not shown has too few people to be detected, or none." in not_shown
    assert "at most 1 in 1,000" in not_shown
    assert "of 1,000 people" in str(release).splitlines()[0]
    assert f"{len(HOSTILE)} texts of 1,000 people" in str(release)


def test_people_without_a_text_come_last_and_are_not_texts(release):
    assert release.estimate.values_shown == len(HOSTILE)
    assert [row.label for row in release.top()][-2:] == sorted(
        (NoText("other"), NoText("none")), key=lambda label: -release[label]
    )
    assert context(release)["bars_title"] == f"All {len(HOSTILE)} texts that are shown"


def test_a_page_says_what_stands_for_no_text(release):
    page = " ".join(release.to_html().split())
    assert (
        "(other) stands for texts that are too long or have characters that are not counted; (none) stands for no"
        in page
    )
    hidden = hide(release, Blocklist.of(["script"])).to_html()
    assert "(hidden) stands for texts that the publisher does not show" in hidden


def test_a_release_without_texts_says_so(empty):
    assert "No text is frequent enough to be shown" in empty.to_html()
    assert "No text is frequent enough to be shown." in str(empty)
    assert "its bucket, one of " in empty.explain()
    assert "Each possible beginning receives " in empty.explain()
    assert "0 texts shown, for 1,000 people. Any other text of up to 256 bytes is possible." in empty.explain()
    assert Release.from_json(empty.to_json()).to_json() == empty.to_json()


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("(other)", '"(other)"'),
        ('"(other)"', '""(other)""'),
        ("(none)", '"(none)"'),
        ("(hidden)", '"(hidden)"'),
        ("other", "other"),
        ("(others)", "(others)"),
    ],
)
def test_no_text_reads_like_the_label_of_a_rest(text, label):
    assert text_label(text) == label


def test_labels_differ_for_different_texts():
    texts = ["(other)", '"(other)', '(other)"', '"(other)"', '""(other)""']
    assert len({text_label(text) for text in texts}) == len(texts)
    assert not {text_label(text) for text in texts} & {"(other)", "(none)", "(hidden)"}


def test_a_terminal_shows_texts_as_they_are(release, monkeypatch, capsys):
    """Markup of the terminal library is not applied, long texts are cut, and nothing moves the cursor."""
    release_output.publish(release, out=[], top=None, as_json=False, explain=True)
    printed = capsys.readouterr().out
    assert "[bold red]" in printed
    assert SCRIPT in printed
    assert LONG not in printed
    assert "\x1b" not in printed
    nasty = "\x1b[2Jclear\u202eevil\x07\r\n\u2066x"
    assert shown(nasty).isprintable()
    drawn = Console(file=io.StringIO(), width=60)
    drawn.print(Text(shown(nasty)))
    assert "\x1b" not in drawn.file.getvalue()
    labels = replace(release.estimate, symbols=release.estimate.symbols.copy())
    labels.symbols[labels.symbols == "[bold red]"] = nasty
    worse = replace(release, estimate=labels)
    for text in (str(worse), repr(worse), worse.to_html(), worse._repr_html_(), worse.explain()):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\u2066" not in text


def test_every_text_of_a_page_is_isolated_and_escaped(release):
    for page in (release.to_html(), release._repr_html_()):
        assert f"<bdi>{RIGHT_TO_LEFT}</bdi>" in page
        assert "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>" in page
        assert SCRIPT not in page
        assert "<a href" not in page  # a published link cannot be clicked


def test_looked_up_answers_are_one_line_each():
    one = LookedUp(value="\x1b[2Jx", count=812.4, low=0, high=1853, beta=0.025, people=2000, batches=1)
    assert list(lookup_lines([one, replace(one, value="(other)")], ["\x1b[2Jx", "\x1by"])) == [
        "\N{REPLACEMENT CHARACTER}[2Jx: about 812 (0 to 1,853 people).",
        "\N{REPLACEMENT CHARACTER}y, counted as (other): about 812 (0 to 1,853 people).",
        "95% confidence, all 2 answers looked up at once.",
    ]
    assert list(lookup_lines([], [])) == []


def test_run_hides_blocked_words(tmp_path):
    (tmp_path / "people.csv").write_text("page\n" + "insult.test\n" * 900 + "news.test\n" * 800)
    (tmp_path / "blocked.txt").write_text("Insult\n")
    given = ("run", "people.csv", "--column", "page", "--epsilon", "1", "--delta", "1e-6", "--block", "blocked.txt")
    result = command(*given, "--out", "r.csv", cwd=tmp_path)
    assert result.returncode == 0, result
    assert "insult" not in result.stdout + (tmp_path / "r.csv").read_text()
    assert "(hidden)" in result.stdout
    for more in (("--evaluate",), ("--values-per-person", "2", "--user", "page")):
        refused = command(*given, *more, cwd=tmp_path)
        assert refused.returncode == 2
        assert "blocklist must be left out" in " ".join(refused.stderr.split())

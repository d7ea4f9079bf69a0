"""`shuffledp task new --free-text`, a split budget, and the task that counts found texts."""

import json

import numpy as np
import pytest

from shuffledp.accounting.composition import composed
from shuffledp.collect.analyzer.releases import release_of
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.task import AnswerText, read_task
from shuffledp.collect.task.follow_up import found_texts
from shuffledp.histogram.text_code import TextCode
from shuffledp.release.free_text import Blocklist, hide
from shuffledp.release.release import Release
from tests.cli.commands import command

KEYS = [KeyPair.generate() for _ in range(2)]
SERVERS = ["--shuffler", f"http://127.0.0.1:1={KEYS[0].public}", "--analyzer", f"http://two.test={KEYS[1].public}"]
TEXTS = ["--free-text", "6", "--alphabet", "letters", "--levels", "3", "--width", "2"]
PEOPLE = ["--users", "20000", "--epsilon", "1", "--delta", "1e-6"]


def new(folder, *arguments, texts=TEXTS, people=PEOPLE, out="t.json"):
    asked = ["--question", "Your home page?", *people, *SERVERS, *texts, "--out", out, "--force"]
    return command("task", "new", *asked, *arguments, cwd=folder)


def test_a_task_for_texts_is_created_and_explained(tmp_path):
    made = new(tmp_path, "--normalise", "slash,lower", "--admission", "secret")
    assert made.returncode == 0, made.stderr
    task = read_task(tmp_path / "t.json")
    code = TextCode(
        levels=3, longest=6, alphabet="abcdefghijklmnopqrstuvwxyz", width=2, normalisation=("lower", "slash")
    )
    assert task.answers == AnswerText.of(code)
    plan = task.text_plan
    assert f"a text of at least {plan.detection_limit} of 20,000 people is found with 95% probability" in made.stdout
    assert f"{task.report_length(task.expected_messages):,.0f} bytes on average" in made.stdout
    assert "Warning" not in made.stdout
    assert command("task", "show", "t.json", cwd=tmp_path).stdout == made.stdout
    explained = command("task", "show", "t.json", "--explain", cwd=tmp_path).stdout
    for words in (
        "Unicode is normalised (NFC), letters become small, slashes at the end are removed.",
        "A text of more than 6 bytes, or one that cannot be cut into at most 3 pieces, is counted as (other)",
        "no answer as (none)",
        "A piece is up to 2 characters of “abcdefghijklmnopqrstuvwxyz”.",
        "one message for each of 3 beginnings of the text",
        "is found with 95% probability",
        "given by nobody is at most 0.001, if no report is forged",
        "forged reports can make a text appear",
        "a batch should be the whole population",
    ):
        assert words in explained


def test_a_task_for_texts_in_json(tmp_path):
    made = json.loads(new(tmp_path, "--json").stdout)
    texts = made["texts"]
    assert (texts["longest"], texts["levels"], texts["pieces"]) == (6, 3, 26 + 26**2)
    assert texts["normalisation"] == ["trim", "lower"]
    assert 0 < texts["detection_limit"] <= texts["all_reported"] < 20_000
    assert made["error"] is None
    assert made["cost"]["messages"] == read_task(tmp_path / "t.json").protocol.messages_per_user.expected
    assert "anyone can send reports" in made["warnings"][0]


def test_too_few_people_for_any_text_are_warned(tmp_path):
    assert "Warning: only a text of at least" in new(tmp_path, people=["--users", "500", *PEOPLE[2:]]).stdout
    hidden = new(tmp_path, people=["--users", "60", *PEOPLE[2:]]).stdout
    assert "no text can be found" in hidden


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--domain", "a,b"], "exactly one of --domain, --range, --edges, --free-text or --answers-from"),
        (["--protocol", "sparse"], "protocol must be hashed for answers of kind text"),
        (["--free-text", "0"], "--free-text must be 1 to 256 bytes, got 0"),
        (["--free-text", "300"], "--free-text must be 1 to 256 bytes, got 300"),
        (["--levels", "65"], "levels must be 1 to 64, got 65"),
        (["--normalise", "upper"], "normalisation must be some of trim, lower, query, slash"),
        (["--alphabet", "aa"], "characters of the alphabet must differ"),
        (["--confirm", "1"], "confirm must lie strictly between 0 and 1"),
        (["--confirm", "0"], "confirm must lie strictly between 0 and 1"),
    ],
)
def test_wrong_texts_are_errors(tmp_path, arguments, reason):
    result = new(tmp_path, *arguments)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert reason in result.stderr
    assert not (tmp_path / "t.json").exists()


def test_options_of_texts_need_texts(tmp_path):
    listed = new(tmp_path, "--confirm", "0.4", texts=["--range", "1:5"])
    assert "--confirm needs --free-text" in listed.stderr
    assert "levels must be given with --free-text" in new(tmp_path, texts=["--range", "1:5", "--levels", "3"]).stderr


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """A task with a split budget, as JSON and as a file, and its release of people with three texts."""
    folder = tmp_path_factory.mktemp("found")
    made = json.loads(new(folder, "--confirm", "0.4", "--json").stdout)
    task = read_task(folder / "t.json")
    rng = np.random.default_rng(7)
    answers = ["tea"] * 9_000 + ["Coffee "] * 7_000 + ["milk"] * 3_000 + ["too long"] * 1_000
    values = np.array([task.values_of(answer) for answer in answers])
    tally = task.protocol.tally(task.protocol.randomize(values, rng=rng))
    release = release_of(task, [tally], refused={})
    (folder / "release.json").write_text(release.to_json())
    return folder, made, release


@pytest.mark.slow
def test_the_budget_is_split_by_exact_composition(found):
    """More than 60% and 40% of epsilon; test_confirm.py composes the curves."""
    _, made, _ = found
    find, count, both = (made["same_people"][name] for name in ("find", "count", "together"))
    assert (both["epsilon"], both["delta"]) == (1.0, 1e-6)
    assert find["delta"] == count["delta"] == 5e-7
    assert 0.6 < find["epsilon"] < 1
    assert count["epsilon"] / find["epsilon"] == pytest.approx(0.4 / 0.6, rel=0.01)
    assert made["guarantee"]["epsilon"] == find["epsilon"]
    assert 0 < count["error"] < 200


@pytest.mark.slow
def test_the_found_texts_are_the_answers_of_a_second_task(found):
    folder, made, release = found
    count = made["same_people"]["count"]
    guarantee = ["--epsilon", f"{count['epsilon']}", "--delta", f"{count['delta']}"]
    second = new(
        folder,
        "--json",
        texts=["--answers-from", "release.json"],
        people=["--users", "20000", *guarantee],
        out="second.json",
    )
    assert second.returncode == 0, second.stderr
    task = read_task(folder / "second.json")
    assert task.answers.values == ["tea", "coffee", "milk"]  # largest first, without (other) and (none)
    together = json.loads(second.stdout)["same_people"]["together"]
    assert together["delta"] == pytest.approx(1e-6)
    assert together["epsilon"] <= 1.0
    exact = composed([release.protocol.privacy, task.protocol.privacy]).epsilon(together["delta"])
    assert together["epsilon"] == pytest.approx(exact, rel=1e-6)
    words = new(folder, texts=["--answers-from", "release.json"], out="third.json").stdout
    assert "Both tasks:" in words
    assert Release.from_json(folder / "release.json").estimate.detection.longest == 6


@pytest.mark.slow
def test_hidden_texts_are_no_answers_of_the_second_task(found):
    _, _, release = found
    assert found_texts(hide(release, Blocklist.of(["coff"]))).values == ["tea", "milk"]


@pytest.mark.slow
def test_a_release_of_listed_values_has_no_found_texts(found):
    folder, _, release = found
    stored = json.loads(release.to_json())
    (folder / "listed.json").write_text(json.dumps({**stored, "detection": None}))
    result = new(folder, texts=["--answers-from", "listed.json"], out="none.json")
    assert (result.returncode, (folder / "none.json").exists()) == (3, False)
    assert "must be of a free-text task" in result.stderr
    rest = [row for row in stored["histogram"] if row["label"] in ("(other)", "(none)")]
    (folder / "empty.json").write_text(json.dumps({**stored, "histogram": rest}))
    assert "nothing to count" in new(folder, texts=["--answers-from", "empty.json"], out="none.json").stderr

"""`task new --edges`, `--range` and `--choose-up-to`, and the answers of one person and of a crowd in commands."""

import json

import pytest

from shuffledp.cli.send import answer_of
from shuffledp.cli.task_options import edges_tip
from shuffledp.cli.up import split_choices
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.simulation.people import SEPARATOR, Question
from shuffledp.collect.task import AnswerChoices, AnswerEdges, read_task
from shuffledp.errors import ParameterError
from shuffledp.explain.answers import note_on
from tests.cli.commands import command
from tests.collect.tasks import small_task

KEYS = [KeyPair.generate() for _ in range(2)]
SERVERS = ["--shuffler", f"http://127.0.0.1:1={KEYS[0].public}", "--analyzer", f"http://two.test={KEYS[1].public}"]
PEOPLE = ["--users", "2000", "--epsilon", "1", "--delta", "1e-6"]


def new(folder, *arguments):
    return command("task", "new", "--question", "Which?", *PEOPLE, *SERVERS, "--out", "t.json", *arguments, cwd=folder)


@pytest.mark.slow
def test_a_task_for_numbers(tmp_path):
    made = new(tmp_path, "--edges", "0:120:1.0", "--quantiles", "0.9,0.5", "--explain")
    assert made.returncode == 0, made.stderr
    task = read_task(tmp_path / "t.json")
    assert task.answers == AnswerEdges("0:120:1", ["0.5", "0.9"])
    for words in (
        "in each of 122 intervals of numbers",
        "The quantiles 50%, 90% are shown.",
        "A number below 0 or from 120 on has an interval too.",
        f"one message for each of {task.tree.levels} groups of intervals",
        "the numbers of people below all edges within ±",
    ):
        assert words in " ".join(made.stdout.split())
    assert command("task", "check", "t.json", cwd=tmp_path).returncode == 0
    shown = json.loads(command("task", "show", "t.json", "--json", cwd=tmp_path).stdout)
    assert shown["numbers"]["range_error"] == pytest.approx(task.range_plan.below)
    assert shown["values_per_person"] == task.tree.levels


@pytest.mark.slow
def test_a_task_for_a_range(tmp_path):
    made = new(tmp_path, "--range", "0:1000", "--protocol", "dummy-poisson", "--explain")
    assert made.returncode == 0, made.stderr
    assert "tip: the intervals of the median and the quantiles are about 4 times as narrow" in made.stderr
    task = read_task(tmp_path / "t.json")
    for words in ("whole numbers from 0 to 1,000, and the quantiles, such as the median", "up to all answers within ±"):
        assert words in " ".join(made.stdout.split())
    shown = json.loads(command("task", "show", "t.json", "--json", cwd=tmp_path).stdout)
    assert shown["numbers"]["range_error"] == pytest.approx(task.range_plan.below)
    assert (shown["numbers"]["edges"], shown["numbers"]["quantiles"]) == (None, [])
    assert "the number of people up to any answer" in command("task", "show", "t.json", cwd=tmp_path).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "tip"),
    [
        ({"numbers": (0, 123)}, None),
        ({"numbers": (-500, 501)}, "about 4 times as narrow with --edges -500:501:1"),
        ({"numbers": (0, 123), "protocol": "hashed"}, "no median and no quantiles; with --edges 0:123:1 it has them"),
        ({"numbers": (0, 10**6), "protocol": "hashed"}, "with --edges and fewer, wider intervals it has them"),
        ({}, None),
    ],
)
def test_edges_are_recommended_where_a_range_gives_much_less(options, tip):
    found = edges_tip(small_task(users=10_000, **options).task)
    assert (found is None) if tip is None else tip in found


@pytest.mark.slow
def test_a_task_for_choices(tmp_path):
    made = new(tmp_path, "--domain", "tea,milk,beer", "--choose-up-to", "2")
    assert made.returncode == 0, made.stderr
    assert "up to 2 of tea, milk, beer" in made.stdout
    assert read_task(tmp_path / "t.json").answers == AnswerChoices(["tea", "milk", "beer"], 2)
    explained = " ".join(command("task", "show", "t.json", "--explain", cwd=tmp_path).stdout.split())
    assert "Of more than 2 choices, the device reports 2 chosen at random." in explained
    assert "always sends messages for 2 choices" in explained


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--edges", "0:120:7"], "do not meet 120"),
        (["--edges", "x"], "edges must be numbers"),
        (["--edges", "0:200000:1"], "at most 100,000 intervals"),
        (["--edges", "0,1", "--quantiles", "2"], "strictly between 0 and 1"),
        (["--edges", "0,1", "--quantiles", "x"], "--quantiles must be shares"),
        (["--edges", "0,1", "--domain", "a,b"], "exactly one of"),
        (["--edges", "0,1", "--protocol", "hist"], "protocol must be ranges"),
        (["--domain", "a,b", "--quantiles", "0.5"], "--quantiles needs --edges"),
        (["--range", "1:5", "--quantiles", "0.5"], "a task with --range shows the quantiles 5%, 25%, 50%, 75%, 95%"),
        (["--edges", "0,1", "--choose-up-to", "2"], "--choose-up-to needs --domain"),
        (["--range", "1:5", "--choose-up-to", "2"], "--choose-up-to needs --domain"),
        (["--domain", "a,b", "--choose-up-to", "3"], "at most the 2 answers, got 3"),
        (["--domain", "a,b", "--choose-up-to", "1"], "must be at least 2"),
        (["--domain", "a,b", "--choose-up-to", "2", "--protocol", "hashed"], "for answers of kind choices"),
    ],
)
def test_wrong_options_are_one_clear_error(tmp_path, arguments, message):
    result = new(tmp_path, *arguments)
    assert result.returncode == 2
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "t.json").exists()


@pytest.mark.slow
def test_one_person_gives_one_value_or_several_choices():
    one, several, number = small_task().task, small_task(most=2).task, small_task(protocol="ranges").task
    assert answer_of(["dark"], one) == "dark"
    assert answer_of(["-5"], number) == "-5"
    assert answer_of(["dark", "light"], several) == ["dark", "light"]
    with pytest.raises(ParameterError, match="--value must be given once"):
        answer_of(["dark", "light"], one)


def test_what_is_counted_is_said_on_the_persons_screen():
    several, number = small_task(most=2).task, small_task(protocol="ranges", edges="0:8:1").task
    assert note_on(number, "4.5") == "This is what will be counted: 4 to below 5"
    assert "counts as (other)" in note_on(number, "four")
    assert note_on(number, None) is None
    assert note_on(several, ["dark"]) is None
    assert "(other)" in note_on(several, ["dark", "blue"])
    assert "2 of yours are chosen at random" in note_on(several, ["dark", "light", "system"])


def test_cells_with_choices_are_split():
    several = small_task(most=2).task
    assert split_choices(["dark; light", None, "system"], several, ";") == [["dark", "light"], None, ["system"]]
    assert split_choices(["dark;light"], small_task().task, ";") == ["dark;light"]
    with pytest.raises(ParameterError, match="--separator must not be empty"):
        split_choices(["dark"], several, "")


def test_simulated_people_have_numbers_or_choices():
    numbers = Question.of(None, None, numbers=AnswerEdges("0:120:5", []))
    drawn = [float(answer) for answer in numbers.of_people(200)]
    assert 0 <= min(drawn) < 40 < 60 < max(drawn) <= 125
    choices = Question.of(None, ["tea", "milk", "beer"], choose_up_to=2)
    cells = [cell.split(SEPARATOR) if cell else [] for cell in choices.of_people(200)]
    assert {len(cell) for cell in cells} == {0, 1, 2}
    assert all(len(set(cell)) == len(cell) and set(cell) <= {"tea", "milk", "beer"} for cell in cells)
    assert isinstance(next(choices.of_others()), list)
    with pytest.raises(ParameterError, match="choose_up_to must be at least 2"):
        Question.of(None, ["tea", "milk"], choose_up_to=3)
    with pytest.raises(ParameterError, match="answers and edges"):
        Question.of(None, ["tea"], numbers=AnswerEdges("0", []))

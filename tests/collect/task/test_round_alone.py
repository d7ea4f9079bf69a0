"""A round of a series that is used without the series file: everything says that its guarantee is of one round."""

import json

import numpy as np
from typer.testing import CliRunner

from shuffledp.cli.app import app
from shuffledp.collect.analyzer.releases import release_of
from shuffledp.collect.client.journal import Journal
from shuffledp.collect.web.survey import ask_page
from shuffledp.explain.release import lines
from tests.collect.series import small_series
from tests.collect.tasks import small_task

SERIES = small_series(users=200).series
ROUND = SERIES.task(2)
CLAIMED = f"is round 2 of the series {SERIES.name}. Its guarantee is that of one round, and only the series file proves"


def shown(*arguments):
    """The output of a command in one line."""
    result = CliRunner().invoke(app, ["task", "show", *map(str, arguments)], catch_exceptions=False)
    return " ".join(result.stdout.split())


def test_task_show_says_that_it_is_one_round(tmp_path):
    alone, single = tmp_path / "round.task.json", tmp_path / "single.task.json"
    alone.write_text(ROUND.to_json())
    single.write_text(small_task().task.to_json())
    for more in ([], ["--explain"]):
        assert CLAIMED.replace(" ", "") in shown(alone, *more).replace(" ", "")  # lines may be broken within the id
        assert "series" not in shown(single, *more)
    found = json.loads(shown(alone, "--json"))["series"]
    assert found == {"id": SERIES.name, "round": 2, "total_proved": False}
    assert json.loads(shown(single, "--json"))["series"] is None


def test_the_survey_page_without_the_series_says_that_it_is_one_round():
    alone = ask_page(ROUND)
    assert "This question says that it is round 2 of a series. This is the protection of one round." in alone
    assert SERIES.name in alone
    for other in (ask_page(ROUND, SERIES), ask_page(small_task().task)):
        assert "This is the protection of one round" not in other


def test_a_release_of_a_round_has_a_guarantee_per_person_and_round():
    rng = np.random.default_rng(25)
    for task, unit in ((ROUND, "per person and round"), (small_task(users=200).task, "per person")):
        tally = task.protocol.sample_tally(np.array([120, 60, 20, 0, 0]), rng=rng)
        release = release_of(task, [tally], refused={})
        assert f"{release.estimate.guarantee} {unit}." in " ".join(lines(release))
        told = any("The guarantee is per person and round" in note for note in release.notes)
        assert told == (task is ROUND)


def test_the_history_says_who_claims_the_round(tmp_path):
    Journal(tmp_path / "journal").keep(ROUND, b"a report")
    result = CliRunner().invoke(app, ["budget", "--journal", str(tmp_path / "journal")], catch_exceptions=False)
    table = " ".join(result.stdout.split())
    assert f"2 of {SERIES.name[:8]}" in table
    assert "as the task says" in table

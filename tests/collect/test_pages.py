"""Documentation of collections matches the code: figures, reasons and options."""

import math
import re
import shlex
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest import mock

import pytest
import typer.main

from shuffledp.cli.app import app
from shuffledp.collect.analyzer import app as analyzer_counters
from shuffledp.collect.analyzer.app import make_app as analyzer_app
from shuffledp.collect.analyzer.settings import Settings as AnalyzerSettings
from shuffledp.collect.reasons import Reason
from shuffledp.collect.server import operation
from shuffledp.collect.server.auth import Accepted
from shuffledp.collect.server.settings import LOOKS_EVERY
from shuffledp.collect.server.storage import StoreHealth
from shuffledp.collect.shuffler import tasks as shuffler_status
from shuffledp.collect.shuffler.app import make_app as shuffler_app
from shuffledp.collect.shuffler.settings import Served as ShufflerServed
from shuffledp.collect.shuffler.settings import Settings as ShufflerSettings
from shuffledp.collect.store import Standing, TallyStanding
from shuffledp.formatting import share_at_most
from tests.collect.tasks import small_task

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SIX = ("dark", "light", "system", "high contrast", "solarized", "sepia")


def table(page, name):
    """The rows of a marked table, as lists of cells."""
    (found,) = re.findall(rf"^<!-- {name} -->\n(.*?)^<!-- /{name} -->", page.read_text(), flags=re.M | re.S)
    return [[cell.strip() for cell in row.strip("|\n").split("|")] for row in found.strip().splitlines()[2:]]


def test_the_table_of_dishonest_people_is_computed():
    protocol = small_task(users=10_000, protocol=None, answers=SIX).task.protocol
    rows = table(ROOT / "docs" / "explanation" / "collection.md", "honest")
    assert len(rows) >= 5
    for honest, shown in rows:
        fewer = replace(protocol, honest_users=int(honest.replace(",", "")), guarantee=None)
        epsilon = fewer.privacy.epsilon(1e-6)
        assert shown == (share_at_most(epsilon, digits=3) if math.isfinite(epsilon) else "none")


def test_the_figures_on_honest_users_are_computed():
    text = (ROOT / "docs" / "explanation" / "collection.md").read_text()
    every, nine = (
        small_task(users=10_000, protocol=None, answers=SIX, honest_users=honest).task for honest in (None, 9_000)
    )
    errors = [math.ceil(task.protocol.error(0.05).simultaneous) for task in (every, nine)]
    assert f"the largest error grows from {errors[0]} to {errors[1]} people" in text
    assert f"With at most {every.most_messages} messages per report" in text
    assert f"100 forged reports move a count by up to {100 * every.most_messages} people" in text


def test_the_table_of_reasons_matches_the_code():
    documented = table(ROOT / "docs" / "reference" / "endpoints.md", "reasons")
    assert documented == [
        [f"`{reason}`", str(int(reason.status)), str(reason.again), reason.meaning] for reason in Reason
    ]


@cache
def all_commands():
    return typer.main.get_command(app)


def command_of(words):
    """The command of a command line, and its arguments."""
    command = all_commands()
    while words and hasattr(command, "commands"):
        name, *words = words
        assert name in command.commands, f"there is no command {name}"
        command = command.commands[name]
    return command, words


def check_options(words):
    """Check that all options exist and none is missing; a configuration may have them."""
    command, rest = command_of(words)
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    given = {word.partition("=")[0] for word in rest if word.startswith("--")}
    assert given <= known | {"--help"}, f"{command.name} does not know {given - known}"
    needed = {parameter.opts[0] for parameter in command.params if parameter.required and parameter.opts[0][:1] == "-"}
    assert needed <= given or "--config" in given, f"{command.name} needs {needed - given}"


def calls(text):
    """The calls of shuffledp in shell lines, without comments."""
    joined = re.sub(r"\\\n\s*", " ", text)
    return [
        shlex.split(line, comments=True)[1:]
        for line in joined.splitlines()
        if re.match(r"(\$ )?shuffledp ", line) and "..." not in shlex.split(line, comments=True)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_call_on_a_page_has_options_that_exist(page):
    for block in re.findall(r"^```(?:sh|console)\n(.*?)^```", page.read_text(), flags=re.M | re.S):
        for words in calls(block.replace("$ shuffledp", "shuffledp")):
            check_options(words)


@pytest.mark.parametrize(
    "line", ["shuffledp run data.csv --colum x", "shuffledp rum data.csv", "shuffledp plan --users 5"]
)
def test_an_invalid_call_is_detected(line):
    (words,) = calls(line)
    with pytest.raises(AssertionError):
        check_options(words)


def families_of_servers():
    """The metrics of both servers, as rows of the table."""
    standing = Standing(
        reports=0,
        messages=0,
        waiting=0,
        batches=0,
        closing=0,
        ready=0,
        acknowledged=0,
        short_by=0,
        refused={"closed": 1},
    )
    counted = TallyStanding(batches=0, problems=0, people=0, releases=0, refused={"repeated": 1})
    of_shuffler = shuffler_status.families({"task": standing}, {"task": []}, {"task": 0}, {}, of_no_task=0)
    of_analyzer = analyzer_counters.families({"task": counted}, {"task": []}, {"task": False}, {"task": False}, {})
    of_both = [
        *operation.server_families(StoreHealth(mock.Mock(file=None, version=1))),
        *operation.task_families([], {}),
    ]
    return [
        [f"`{family.name}{'_total' if family.type == 'counter' else ''}`", server, family.documentation]
        for server, families in (("both", of_both), ("shuffler", of_shuffler), ("analyzer", of_analyzer))
        for family in families
    ]


def test_the_table_of_metrics_matches_the_code():
    assert table(ROOT / "docs" / "reference" / "endpoints.md", "metrics") == families_of_servers()


def test_the_delay_of_counters_is_documented():
    page = " ".join((ROOT / "docs" / "reference" / "endpoints.md").read_text().split())
    assert LOOKS_EVERY == 0.5
    assert "counts refusals of another process up to half a second later" in page


def test_the_table_of_addresses_matches_the_servers():
    """No address is missing from the page either."""
    page = (ROOT / "docs" / "reference" / "endpoints.md").read_text()
    documented = {
        (method, path.replace("{id}", "{name}").replace("/{number}", "/{which}"))
        for method, path in re.findall(r"`(GET|POST|DELETE) (/[^`]*)`", page)
    }
    assert documented == set(routes_of_servers())


def routes_of_servers():
    kept = small_task(users=5, epsilon=8.0, delta=1e-2)
    settings = ShufflerSettings(
        served=[ShufflerServed(task=kept.task, position=0, key=kept.keys[0])],
        store=FakeStore(),
        next_servers=Accepted(()),
        operators=Accepted((b"",)),
    )
    for app_ in (shuffler_app(settings).app, analyzer_app(AnalyzerSettings(served=[], store=FakeStore()))):
        for route in app_.routes:
            yield from ((method, route.path) for method in route.methods - {"HEAD"})


class FakeStore:
    """A store that is never used."""

    add = files = None
    database = mock.Mock()

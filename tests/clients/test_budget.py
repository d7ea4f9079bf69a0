"""A person's budget in JavaScript: the figures of Python, and clients that share a journal and race."""

import json
import sys
import time

import pytest

from shuffledp.collect import Client
from shuffledp.collect.client.budget import Total, fitting
from shuffledp.collect.client.journal import Journal
from shuffledp.collect.task.spending import Spending
from shuffledp.errors import AnswerBudgetError
from shuffledp.ledger.budget import Budget
from tests.clients.pages import in_page, new_page
from tests.clients.scripts import CLIENT, assert_passed, in_node, run_script
from tests.collect.client.test_budget import KINDS, LIMIT, RACER, racing, tasks
from tests.collect.tasks import small_task
from tests.node import node_path


@pytest.fixture(scope="module")
def setting():
    """Tasks and their figures, computed in Python."""
    alike, mixed = tasks(4), [small_task(**more).task for more in KINDS.values()]
    spending = Spending.of(alike[0])
    one = Budget(population="me", epsilon=1, delta=1e-5)
    return {
        "tasks": [task.canonical.decode() for task in alike],
        "mixed": [task.canonical.decode() for task in mixed],
        "figures": [Total([spending] * times).epsilon(LIMIT[1]) for times in (1, 2, 3)],
        "total": Total([Spending.of(task) for task in mixed]).epsilon(1e-5),
        "fits": fitting(one, Total([spending]), delta=1e-6),
    }


@pytest.mark.slow
def test_budgets_in_node(setting, tmp_path):
    found = in_node("test/client_node.js", "runBudgets", setting | {"folder": str(tmp_path)})
    assert_passed(found, more_than=10)


@pytest.mark.slow
def test_budgets_in_a_browser(setting, browser):
    found = in_page(new_page(*browser), "test/client_browser.js", "runBudgets", setting)
    assert_passed(found, more_than=10)


@pytest.mark.slow
def test_two_tabs_that_race_do_not_overspend(setting, browser):
    (first, address), rounds = browser, 20
    context = first.new_context()
    pages = [context.new_page() for _ in range(2)]
    starts = 1000 * time.time() + 2500
    for page, text in zip(pages, setting["tasks"], strict=False):
        page.goto(f"{address}/")
        page.evaluate(
            "async ([text, it]) => { window.said = (await import('/test/client_budget.js')).race(text, it); }",
            [text, {"name": "race", "rounds": rounds, "starts": starts, "pause": 60}],
        )
    said = list(zip(*(page.evaluate("() => window.said") for page in pages), strict=True))
    assert {word for words in said for word in words} == {"answered", "BudgetError"}
    assert all(words.count("answered") <= 1 for words in said)
    spent = in_page(pages[0], "test/client_budget.js", "spentIn", "race", rounds)
    assert spent == [words.count("answered") for words in said]
    context.close()


NODE_RACER = """
import { createInterface } from "node:readline";
import { readFile } from "node:fs/promises";
import { Client } from "CLIENT/src/node.js";
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const [task, journal] = line.split(" ");
  const client = await Client.open(await readFile(task), { journal, budget: [1, 1e-5] });
  try {
    await client.report("dark");
    console.log("answered");
  } catch (error) {
    console.log(error.name === "BudgetError" ? "refused" : String(error));
  }
}
"""


@pytest.mark.slow
def test_python_and_node_that_race_do_not_overspend(tmp_path):
    source = NODE_RACER.replace("CLIENT", CLIENT.as_uri())
    commands = [[sys.executable, "-c", RACER], [node_path(), "--input-type=module", "-e", source]]
    said = racing(commands, tmp_path, rounds=20)
    assert {word for words in said for word in words} == {"answered", "refused"}
    for at, words in enumerate(said):
        assert words.count("answered") <= 1
        assert len(Journal(tmp_path / f"journal{at}").spendings()) == words.count("answered")


IN_NODE = """
import { Client } from "./src/node.js";
const client = await Client.open(asked.text, { journal: asked.folder, budget: asked.budget });
try {
  results.use = await client.spending();
  await client.report("dark");
} catch (error) {
  results.error = error.message;
}
"""


@pytest.mark.slow
def test_python_and_node_share_one_ledger(tmp_path):
    first, second, third = tasks(3)
    folder = tmp_path / "journal"

    def node(task, budget):
        return run_script(IN_NODE, {"text": task.canonical.decode(), "folder": str(folder), "budget": budget})

    Client(first, journal=folder, budget=(1.25, 1e-5)).report("dark")
    assert node(second, [1.25, 1e-5])["use"]["before"] == pytest.approx(0.8508, abs=1e-3)
    assert "1.21 is used" in node(third, [1.25, 1e-5])["error"]
    with pytest.raises(AnswerBudgetError, match=r"1\.21 is used"):
        Client(third, journal=folder, budget=(1.25, 1e-5)).report("dark")
    spendings = [json.loads(Journal(folder).path(task).read_bytes())["spending"] for task in (first, second)]
    assert spendings[0] == spendings[1]  # written by Python and by Node, with the same parameters
    Journal(folder).claim(third)
    assert "with 1 answer that a client began" in node(tasks(4)[3], [1.25, 1e-5])["error"]


@pytest.mark.slow
def test_node_refuses_a_name_in_upper_case(tmp_path):
    from tests.clients.scripts import run_script

    (folder := tmp_path / "journal").mkdir(mode=0o700)
    (folder / f"{'A' * 64}.json").write_text("not looked at")
    asked = {"text": tasks(1)[0].canonical.decode(), "folder": str(folder), "budget": [40, 0.1]}
    assert "must have a name in lower case" in run_script(IN_NODE, asked)["error"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_node_writes_the_spendings_of_python(tmp_path, kind):
    task = small_task(**KINDS[kind]).task
    asked = {"text": task.canonical.decode(), "folder": str(tmp_path / "journal"), "budget": [40, 0.1]}
    assert "error" not in run_script(IN_NODE, asked)
    (spent,) = Journal(tmp_path / "journal").spendings()
    assert spent.spending == Spending.of(task)

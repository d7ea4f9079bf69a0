"""Python and JavaScript write the same record of what an answer spends, and compute the same privacy from it."""

import json

import msgspec
import pytest

from shuffledp.collect.task import read_task
from shuffledp.collect.task.spending import Spending
from shuffledp.protocols.shuffled_histogram import chance_of_more
from tests.clients.running import VECTORS
from tests.clients.scripts import run_script

SPENDING = """
import { curveOf } from "./src/curve/curve.js";
import { chanceOfMore } from "./src/curve/most_messages.js";
import { askedOf, isSpending, spendingOf } from "./src/spending.js";
import { readTask } from "./src/task.js";
for (const [name, text] of asked) {
  const task = await readTask(text);
  const spending = spendingOf(task);
  const read = askedOf(spending);
  results[name] = { spending, valid: isSpending(JSON.parse(JSON.stringify(spending))), chance: chanceOfMore(read) };
  results[name].delta = curveOf(read).delta(task.guarantee.epsilon);
}
"""


@pytest.mark.slow
def test_both_record_the_same_spending_of_every_kind_of_task():
    paths = sorted((VECTORS / "tasks").glob("*.json"))
    found = run_script(SPENDING, [[path.stem, path.read_text(encoding="utf-8")] for path in paths])
    kinds = set()
    for path in paths:
        task = read_task(path)
        kinds.add(json.loads(task.canonical)["answers"]["kind"])
        spending, made = Spending.of(task), found[path.stem]
        assert made["valid"]
        assert made["spending"] | {"day": spending.day} == msgspec.to_builtins(spending)
        assert made["delta"] == pytest.approx(spending.curve.delta(task.guarantee.epsilon), rel=1e-9)
        assert made["chance"] == pytest.approx(chance_of_more(task.protocol, task.most_messages), rel=1e-9)
    assert kinds == {"list", "range", "listed-at", "text", "numbers", "choices"}

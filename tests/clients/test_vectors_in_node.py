"""The checks of the JavaScript client in Node: all test vectors, valid and corrupted, and exact sampling."""

import json
import shutil

import pytest

from tests.clients.running import VECTORS, check_modules, failed, in_node

FEWEST = {
    "vectors.js": 340,
    "drawing.js": 10,
    "hashing.js": 10,
    "reading.js": 8,
    "promise.js": 60,
    "several.js": 9,
    "budgets.js": 22,
    "series.js": 60,
}


def test_every_module_is_known():
    assert set(FEWEST) == set(check_modules())


@pytest.mark.slow
@pytest.mark.parametrize("module", FEWEST)
def test_checks(module):
    results = in_node(module)
    assert failed(results) == {}
    assert len(results) >= FEWEST[module]
    assert len({result["name"] for result in results}) == len(results)


def wrong_vectors(folder):
    """Return the vectors with one wrong expectation in each file, and the checks that must fail."""
    shutil.copytree(VECTORS, folder)

    def change(name, edit):
        path = folder / name
        content = json.loads(path.read_text(encoding="utf-8"))
        edit(content)
        path.write_text(json.dumps(content), encoding="utf-8")

    change("tasks.json", lambda tasks: tasks[3].update(id=tasks[2]["id"]))
    change("corrupted-tasks.json", lambda tasks: tasks[2].update(content=valid(), says=""))
    change("numbers.json", lambda numbers: numbers["fractions"][4].update(double="3fb999999999999b"))
    change("numbers.json", lambda numbers: numbers["refused_decimals"].append("1e-6"))
    change("answers.json", lambda answers: answers[0]["places"][7].update(place=6))
    change("texts.json", lambda tasks: tasks[1]["texts"][2]["path"].reverse())
    change("sets.json", lambda tasks: tasks[2]["answers"][3]["values"].reverse())
    change("hashes.json", lambda families: families[5]["hashes"][7].update(bucket=0, message=0))
    change("lists.json", lambda lists: lists[1].update(right=True))
    change("reports.json", lambda reports: reports[0]["messages"].reverse())
    change("corrupted-reports.json", lambda reports: reports[0].update(reason="malformed"))
    change("batches.json", lambda batches: batches[1]["refused"].update(repeated=2))
    return {
        "tasks.json: sparse-best",
        "corrupted-tasks.json: something-after-it",
        "numbers.json: 3602879701896397/2^55",
        'numbers.json: "1e-6" is refused by readDecimal',
        "answers.json: hist",
        "texts.json: text-list",
        "sets.json: ranges-decimals",
        "hashes.json: expanded",
        "lists.json: without-its-last-line-end",
        "reports.json: 0 of sparse-one-shuffler",
        "corrupted-reports.json: sealed-for-another-task",
        "batches.json: sparse-three-shufflers at 1",
    }


def valid():
    return (VECTORS / "tasks" / "hist.json").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_wrong_expectation_fails(tmp_path):
    """The negative control: with one wrong figure in each file, exactly those checks fail."""
    expected = wrong_vectors(tmp_path / "vectors")
    assert set(failed(in_node("vectors.js", tmp_path / "vectors"))) == expected

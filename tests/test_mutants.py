"""All mutants apply to the code, and the runner distinguishes caught, survived and error."""

import ast
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache

import pytest
from mutants import javascript_rewrite, python_rewrite
from mutants.__main__ import main
from mutants.catalogue import MUTANTS
from mutants.errors import MutantError
from mutants.mutant import Mutant
from mutants.runner import ROOT, mutated

from tests.node import run_node

MOST = 365
"""`make mutants` must end in 15 minutes on 2 cores. More are a sign that one test could guard several."""

CAUGHT = Mutant(
    name="caught",
    harm="Heads fall twice on the same coin.",
    target="shuffledp.noise.coins:heads",
    pattern="replace=False",
    replacement="replace=True",
    tests=("tests/noise/test_coins.py::test_heads_fall_on_every_subset_with_its_probability",),
)
SURVIVOR = replace(CAUGHT, name="survivor", replacement="replace=not True")
BROKEN = replace(
    CAUGHT, name="broken", target="shuffledp.noise.coins:_DIGITS_AT_ONCE", pattern="", replacement="1 // 0"
)

MODULE = """
LIMIT = 3  # a comment

class Counter:
    step: int = 1

    def add(self, number):
        "Adds twice."
        self.total += number
        if number > LIMIT:
            run(f"SELECT a, {number} FROM b", times=number)
        return self.total
"""


def test_names_are_unique_and_there_are_few():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) <= MOST
    for mutant in MUTANTS:
        assert mutant.name == mutant.name.lower().replace(" ", "-")
        assert mutant.harm[0].isupper(), mutant.name
        assert mutant.harm.endswith("."), mutant.name
        assert mutant.tests, mutant.name


@pytest.mark.slow
def test_every_mutant_applies_to_the_source(tmp_path):
    """The result has no undefined names, which any test would notice."""
    for mutant in MUTANTS:
        if mutant.path.endswith(".py"):
            (tmp_path / f"{mutant.name}.py").write_text(mutant.apply(ROOT), encoding="utf-8")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "F821", str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


READ_SCRIPTS = """
import { readFileSync } from "node:fs";
import { SourceTextModule } from "node:vm";
for (const path of process.argv.slice(2)) new SourceTextModule(readFileSync(path, "utf8"), { identifier: path });
"""


@pytest.mark.slow
def test_every_javascript_mutant_is_valid_syntax(tmp_path):
    paths = []
    for mutant in MUTANTS:
        if mutant.path.endswith(".js"):
            paths.append(tmp_path / f"{mutant.name}.js")
            paths[-1].write_text(mutant.apply(ROOT), encoding="utf-8")
    (tmp_path / "read.mjs").write_text(READ_SCRIPTS, encoding="utf-8")
    read = ("--experimental-vm-modules", "--no-warnings", str(tmp_path / "read.mjs"))
    run_node(*read, *map(str, paths))
    (tmp_path / "broken.js").write_text("export const = 1;", encoding="utf-8")
    with pytest.raises(AssertionError, match="SyntaxError"):
        run_node(*read, str(tmp_path / "broken.js"))


@pytest.mark.slow
def test_the_named_tests_exist():
    for name in {test.split("[")[0] for mutant in MUTANTS for test in mutant.tests}:
        file, _, function = name.partition("::")
        assert not function or function in functions(file), name


@cache
def functions(file):
    """Return the functions of a test module."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {part.name for part in tree.body if isinstance(part, ast.FunctionDef)}


@pytest.mark.parametrize(
    ("name", "pattern", "replacement", "expected"),
    [
        ("LIMIT", "", "4", "LIMIT = 4"),
        ("Counter.step", "", "2", "step: int = 2"),
        ("Counter.add", "number>LIMIT", "number >= LIMIT", "if number >= LIMIT:"),
        ("Counter.add", "times = number", "times = 2 * number", "times=2 * number)"),
        ("Counter.add", "self.total += number", "self.total = number", "self.total = number"),
        ("Counter.add", "self.total += number", "", "pass"),
        ("Counter.add", "'FROM b'", "'FROM c'", "FROM c"),
        ("Counter", "if number > LIMIT:\n  run(f'SELECT a, {number} FROM b', times=number)", "halt()", "    halt()"),
    ],
)
def test_python_is_rewritten_by_syntax(name, pattern, replacement, expected):
    changed = python_rewrite.rewrite(MODULE, name, pattern, replacement)
    assert expected in changed
    assert expected not in ast.unparse(ast.parse(MODULE))
    ast.parse(changed)


@pytest.mark.parametrize(
    ("name", "pattern", "replacement", "problem"),
    [
        ("Counter.add", "LIMIT + 1", "LIMIT", "matches 0 times"),
        ("Counter.add", "number", "0", "matches 4 times"),
        ("Counter.remove", "number", "0", "there is no Counter.remove"),
        ("Counter.add", "", "0", "only the value of a constant"),
        ("Counter.add", "number > LIMIT", "(number > LIMIT)", "equals the pattern"),
    ],
)
def test_a_pattern_must_match_once(name, pattern, replacement, problem):
    with pytest.raises(MutantError, match=problem):
        python_rewrite.rewrite(MODULE, name, pattern, replacement)


SCRIPT = """
const LIMIT = 2 ** -40; // "LIMIT"
class Coins {
  #flip(random = { of: 1 }) { return /[/"]/.test(random) ? this.next() : `a ${LIMIT} b`; }
  next() { return LIMIT + 1; }
}
export async function next(coins) { if (coins.next()) { return LIMIT + 1; } }
"""


def test_javascript_is_rewritten_by_tokens():
    changed = javascript_rewrite.rewrite(SCRIPT, "Coins.next", "LIMIT+1", "LIMIT")
    assert changed == SCRIPT.replace("{ return LIMIT + 1; }\n}", "{ return LIMIT; }\n}")
    changed = javascript_rewrite.rewrite(SCRIPT, "LIMIT", "2**-40", "0")
    assert changed == SCRIPT.replace("2 ** -40", "0")
    changed = javascript_rewrite.rewrite(SCRIPT, "#flip", "this . next( /* now */ )", "0")
    assert changed == SCRIPT.replace("this.next()", "0")
    for name, pattern in (("next", "LIMIT + 1"), ("Coins", "return"), ("Coins.next", "LIMIT + 2")):
        with pytest.raises(MutantError, match="not once"):
            javascript_rewrite.rewrite(SCRIPT, name, pattern, "0")


def test_only_the_target_changes_in_a_copy(tmp_path):
    script = replace(
        CAUGHT, target="clients/javascript/src/errors.js:TaskError", pattern='"TaskError"', replacement='""'
    )
    for mutant in (CAUGHT, script):
        (tmp_path / mutant.path).parent.mkdir(parents=True)
        shutil.copy(ROOT / mutant.path, tmp_path / mutant.path)
        with mutated(mutant, tmp_path) as copy:
            assert (copy / mutant.path).read_text(encoding="utf-8") == mutant.apply(ROOT)
        assert (tmp_path / mutant.path).read_bytes() == (ROOT / mutant.path).read_bytes()


@pytest.mark.slow
def test_the_runner_tells_caught_from_survived_and_errors(capsys):
    assert main(["--jobs", "1"], known=[CAUGHT, SURVIVOR]) == 1
    assert capsys.readouterr().out.endswith("1 caught, 1 survived, 0 error\n")
    assert main(["--jobs", "1"], known=[CAUGHT, BROKEN]) == 2
    assert capsys.readouterr().out.endswith("1 caught, 0 survived, 1 error\n")


@pytest.mark.slow
def test_tests_that_fail_without_a_mutant_are_an_error(capsys):
    missing = replace(CAUGHT, tests=("tests/noise/test_coins.py::test_that_is_not_there",))
    assert main(["--jobs", "1"], known=[missing]) == 2
    assert "unchanged package" in capsys.readouterr().err


@pytest.mark.slow
def test_unknown_names_are_refused(capsys):
    assert main(["no-such-mutant"]) == 2
    assert "no-such-mutant" in capsys.readouterr().err
    assert main(["--list", MUTANTS[0].name]) == 0
    assert capsys.readouterr().out == f"{MUTANTS[0].name}: {MUTANTS[0].harm}\n"

"""The planted faults still fit the code, and the runner tells a caught one from one that survives."""

import ast
import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from mutants.__main__ import main
from mutants.catalogue import FAULTS, STAGES
from mutants.fault import Fault, FaultError
from mutants.page import page
from mutants.runner import ROOT, copy_of_package

from tests.node import run_node

FEWEST = 100
PAGE = Path("docs/reference/planted-faults.md")

CAUGHT = Fault(
    name="caught",
    harm="An upper bound is printed rounded to the nearest number.",
    file="words.py",
    old="math.ceil(bound)",
    new="round(bound)",
    tests=("tests/test_words.py::test_a_printed_number_of_people_is_an_upper_bound",),
)
NOTHING = Fault(
    name="nothing",
    harm="Nothing goes wrong: only a sentence is another one.",
    file="words.py",
    old='"""Numbers and labels as a person reads them."""',
    new='"""Numbers and labels."""',
    tests=CAUGHT.tests,
)
BROKEN = Fault(
    name="broken",
    harm="The package cannot be imported.",
    file="words.py",
    old="import math\n",
    new="import maths\n",
    tests=CAUGHT.tests,
)


def test_there_are_many_and_each_has_its_own_name():
    assert len(FAULTS) >= FEWEST
    assert max(Counter(fault.name for fault in FAULTS).values()) == 1
    assert all(STAGES.values())
    for fault in FAULTS:
        assert fault.name == fault.name.lower().replace(" ", "-")
        assert fault.harm[0].isupper()
        assert fault.harm.endswith(".")
        assert bool(fault.tests) != bool(fault.equivalent)
    assert sum(bool(fault.equivalent) for fault in FAULTS) <= len(FAULTS) // 20


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_every_fault_still_fits_the_code(stage):
    """Its text is there exactly once, and what comes out is another program that Python can read."""
    for fault in STAGES[stage]:
        text, program = unchanged(fault.path)
        planted = fault.plant(text)
        assert planted != text, fault.name
        if fault.file.endswith(".py"):
            assert ast.dump(ast.parse(planted)) != program, fault.name


@cache  # many faults share a file
def unchanged(path):
    """The text of a file, and the program that it is, where that is one in Python."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return text, ast.dump(ast.parse(text)) if path.endswith(".py") else None


READ_SCRIPTS = """
import { readFileSync } from "node:fs";
import { SourceTextModule } from "node:vm";
for (const path of process.argv.slice(2)) new SourceTextModule(readFileSync(path, "utf8"), { identifier: path });
"""


@pytest.mark.slow
def test_scripts_with_a_fault_can_still_be_read(tmp_path):
    """A browser that cannot read a script does nothing at all, which any test notices; the control is such a one."""
    scripts = [fault for fault in FAULTS if fault.file.endswith(".js")]
    paths = [tmp_path / f"{fault.name}.js" for fault in scripts]
    for fault, path in zip(scripts, paths, strict=True):
        path.write_text(fault.plant(unchanged(fault.path)[0]), encoding="utf-8")
    (tmp_path / "read.mjs").write_text(READ_SCRIPTS, encoding="utf-8")
    estimator = ("--experimental-vm-modules", "--no-warnings", str(tmp_path / "read.mjs"))
    run_node(*estimator, *map(str, paths))
    (tmp_path / "broken.js").write_text("export const = 1;", encoding="utf-8")
    with pytest.raises(AssertionError, match="SyntaxError"):
        run_node(*estimator, str(tmp_path / "broken.js"))


@pytest.mark.slow
def test_faults_are_planted_in_both_programs():
    script = replace(CAUGHT, file="clients/javascript/src/errors.js", old='"TaskError"', new='"Error"')
    for fault in (CAUGHT, script):
        with copy_of_package(fault) as source:
            planted = (source.parent / fault.path).read_text(encoding="utf-8")
        assert planted == fault.plant((ROOT / fault.path).read_text(encoding="utf-8"))


@pytest.mark.slow
def test_no_fault_uses_a_name_that_is_not_there(tmp_path):
    """Any test that comes by would notice it, whatever it checks."""
    for fault in FAULTS:
        if fault.file.endswith(".py"):
            planted = fault.plant(unchanged(fault.path)[0])
            (tmp_path / f"{fault.name}.py").write_text(planted, encoding="utf-8")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "F821", str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


def test_text_that_is_not_there_once_is_an_error():
    for text in ("", "math.ceil(bound) math.ceil(bound)"):
        with pytest.raises(FaultError, match="times in words"):
            CAUGHT.plant(text)


NAMED = sorted({test for fault in FAULTS for test in fault.tests})


@pytest.mark.slow
def test_the_named_tests_exist():
    for file in {test.split("::")[0] for test in NAMED}:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        functions = {part.name for part in tree.body if isinstance(part, ast.FunctionDef)}
        named = {test.split("::")[1].split("[")[0] for test in NAMED if test.startswith(f"{file}::")}
        assert not named - functions, file


@pytest.mark.slow
def test_the_named_cases_of_tests_exist(request):
    """What stands in brackets, which only pytest knows: where all tests run it has collected them already."""
    here = {item.nodeid for item in request.session.items}
    here |= {name.rpartition("@")[0] for name in here}  # pytest-xdist adds the group
    cases = [test for test in NAMED if "[" in test and test not in here]
    if cases:
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *cases]
        collected = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
        assert not set(cases) - set(collected)


def test_the_page_lists_them():
    assert (ROOT / PAGE).read_text(encoding="utf-8") == page(STAGES), "run python -m mutants --page " + str(PAGE)


@pytest.mark.slow
def test_the_runner_tells_what_is_caught_from_what_survives(capsys):
    assert main(["--json", "--jobs", "1"], known=[CAUGHT, NOTHING]) == 1
    caught, nothing = json.loads(capsys.readouterr().out)
    assert (caught["outcome"], caught["by"]) == ("caught", CAUGHT.tests[0])
    assert (nothing["outcome"], nothing["by"]) == ("survived", "")


@pytest.mark.slow
def test_an_import_that_fails_is_not_a_test_that_noticed(capsys):
    allowed = replace(BROKEN, name="allowed", breaks_imports=True)
    assert main(["--jobs", "1"], known=[BROKEN, allowed]) == 2
    assert "1 of 2 caught, 0 survived, 0 equivalent, 1 errors" in capsys.readouterr().out


@pytest.mark.slow
def test_tests_that_fail_anyway_say_nothing(capsys):
    wrong = replace(CAUGHT, tests=("tests/test_words.py::test_that_is_not_there",))
    assert main(["--jobs", "1"], known=[wrong]) == 2
    assert "unchanged package" in capsys.readouterr().err


def test_unknown_names_are_refused(capsys):
    assert main(["no-such-fault"]) == 2
    assert "no-such-fault" in capsys.readouterr().err
    assert main(["--list", FAULTS[0].name]) == 0
    assert capsys.readouterr().out == f"{FAULTS[0].name}: {FAULTS[0].harm}\n"

"""Every extra alone: an environment with the wheel and the requirements of one extra, and nothing else.

An environment is a real one, whose site-packages has links to the distributions that the tests have installed: what the
wheel's metadata requires, and what that requires. `make extras` installs the same with pip and runs the same programs,
also that of Spark, which takes longer than all others.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections import defaultdict
from functools import cache
from importlib.metadata import Distribution, distribution, distributions, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.collect.databases import ON_POSTGRES, empty_postgres, postgres_database, postgres_server

__all__ = ["empty_postgres", "postgres_database", "postgres_server"]  # fixtures

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
PROGRAM = ROOT / "scripts" / "use_extra.py"
MARKS = {"postgres": ON_POSTGRES}
OF_OTHERS = {"py4j": "pyspark"}
"""Libraries that are imported and not declared: the other one is made of them and fixes their version."""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The content of the wheel, in a folder."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        archive.extractall(folder / "content")
    return folder / "content"


@pytest.mark.parametrize(
    "extra", [pytest.param(name, marks=MARKS.get(name, ())) for name in ("none", *EXTRAS) if name != "spark"]
)
@pytest.mark.slow
def test_an_extra_needs_what_it_declares_and_nothing_else(extra, wheel, tmp_path, request):
    more = {"SHUFFLEDP_POSTGRES": request.getfixturevalue("empty_postgres")("extra")} if extra == "postgres" else {}
    loaded = set(_used(_environment(tmp_path, wheel, extra), extra, folder=tmp_path, **more))
    for requirement in _own(extra):
        assert loaded & _imports_of(requirement), f"{extra} declares {requirement} and does not load it"


@pytest.mark.parametrize(
    ("extra", "missing"), [("none", [name for name in EXTRAS if name != "postgres"]), ("collect", ["postgres"])]
)
@pytest.mark.slow
def test_the_error_of_a_missing_extra_names_the_command_that_installs_it(extra, missing, wheel, tmp_path):
    errors = _used(_environment(tmp_path, wheel, extra), "--missing", *missing, folder=tmp_path)
    assert set(errors) == set(missing)
    for name, error in errors.items():
        assert error.endswith(f"pip install 'shuffledp[{name}]'"), error


@pytest.mark.slow
def test_an_environment_has_nothing_else(wheel, tmp_path):
    """The control: a library that is installed here, and that no extra requires, is not found there."""
    python = _environment(tmp_path, wheel, "files")
    command = "import duckdb; import importlib.util; print([importlib.util.find_spec(n) for n in ('pytest', 'jinja2')])"
    assert subprocess.check_output([python, "-I", "-c", command], text=True) == "[None, None]\n"


@pytest.mark.slow
def test_every_import_is_declared():
    """A library that only comes with another one would be missing if the other one stopped using it."""
    declared = {canonicalize_name(each.name) for extra in ("none", *EXTRAS) for each in _own(extra)}
    homes = packages_distributions()
    for path in (ROOT / "src").rglob("*.py"):
        for name in _imported(path) - sys.stdlib_module_names - {"shuffledp", *OF_OTHERS}:
            assert {canonicalize_name(each) for each in homes[name]} & declared, f"{path.name} imports {name}"


def test_the_documentation_lists_every_extra():
    rows = re.findall(r"^\| (`.*?) \| .*\|$", (ROOT / "docs" / "how-to" / "install.md").read_text(), flags=re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) >= set(EXTRAS)


def _used(python, *words, folder, **more):
    """Run the program of an extra; return what it prints."""
    work = folder / "work"
    work.mkdir()
    clean = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME", "LANG") if name in os.environ}
    finished = subprocess.run(
        [python, "-I", PROGRAM, *words], cwd=work, env=clean | more, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr[-4000:]
    return json.loads(finished.stdout.splitlines()[-1])


def _environment(folder, wheel, extra):
    """Make an environment with the wheel and one extra; return its Python."""
    place = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    (packages,) = place.glob("lib/python*/site-packages")
    for path in wheel.iterdir():
        (packages / path.name).symlink_to(path)
    for name in _closure(wheel, extra):
        _link(name, packages)
    return place / "bin" / "python"


def _link(name, packages):
    """Link what a distribution installed; in folders that it shares with others, file by file."""
    found = distribution(name)
    for file in found.files:
        top = file.parts[0]
        if top in ("..", "__pycache__") or top.endswith(".pth"):
            continue
        part = Path(*file.parts) if len(_owners()[top]) > 1 else Path(top)
        link = packages / part
        if not link.is_symlink() and "__pycache__" not in part.parts:
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(found.locate_file(part))


@cache
def _owners():
    """Return which distributions installed something in each folder of site-packages, by their numbers."""
    owners = defaultdict(set)
    for at, found in enumerate(distributions()):
        for file in found.files or ():
            owners[file.parts[0]].add(at)
    return owners


def _own(extra):
    """Return what an extra, or the library alone, declares beside other extras."""
    declared = map(Requirement, PROJECT["dependencies"] if extra == "none" else EXTRAS[extra])
    return [each for each in declared if each.name != PROJECT["name"]]


def _closure(wheel, extra):
    """Return the names of all distributions that the wheel needs with an extra, by its metadata and theirs."""
    (metadata,) = wheel.glob("*.dist-info")
    waiting, seen = [Requirement("shuffledp" if extra == "none" else f"shuffledp[{extra}]")], set()
    while waiting:
        requirement = waiting.pop()
        ours = requirement.name == "shuffledp"
        found = Distribution.at(metadata) if ours else distribution(requirement.name)
        for wanted in requirement.extras or ("",):
            if (requirement.name, wanted) not in seen:
                seen.add((requirement.name, wanted))
                needed = map(Requirement, found.requires or ())
                waiting += [each for each in needed if not each.marker or each.marker.evaluate({"extra": wanted})]
    return {name for name, _ in seen} - {"shuffledp"}


def _imports_of(requirement):
    """Return the names that a distribution is imported by."""
    wanted = canonicalize_name(requirement.name)
    return {name for name, owners in packages_distributions().items() if wanted in map(canonicalize_name, owners)}


def _imported(path):
    """Return the top-level names that a module imports, wherever it does."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module.partition(".")[0])
    return found

"""Layers import downwards only, and importing the package loads little."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "shuffledp"
LAYERS = (
    ("__main__",),
    ("cli",),
    ("collection",),
    ("report",),
    ("jobs", "applications", "verification", "paper"),
    ("engines", "ledger"),
    ("protocols",),
    ("reading",),
    ("pipeline",),
    ("bars", "accounting"),
    ("noise",),
    ("plain", "brief", "surnames", "randomness", "checks", "progress"),
    ("words", "errors", "lazily"),
)
"""From the top: a module imports from its own layer and from those below."""

HEIGHTS = {name: -at for at, names in enumerate(LAYERS) for name in names}
SHOWS_ITSELF = ("jobs/release.py", "report")
"""A release loads the page and the files that show it when it is asked for them, and only then."""

INSIDE = {("paper", "applications"), ("paper", "verification")}
"""Neighbours within one layer, of which the first may see the second."""


def part(module):
    """The top-level part of the package that a module belongs to."""
    return module.split(".")[1]


def imports(path):
    """The modules of the package that a file imports, also inside functions and for type checking."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "shuffledp":
            yield from ([node.module] if "." in node.module else [f"shuffledp.{alias.name}" for alias in node.names])
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("shuffledp."))


def upward(root):
    """Imports that go up, or sideways to another part of the same layer."""
    wrong = []
    for path in sorted(root.rglob("*.py")):
        own = path.relative_to(root).with_suffix("").parts[0]
        if own == "__init__":  # the public names, each loaded when it is first used
            continue
        for module in imports(path):
            other = part(module)
            if other in ("__version__", own) or (own, other) in INSIDE:
                continue
            if (path.relative_to(root).as_posix(), other) == SHOWS_ITSELF:
                continue
            if HEIGHTS[other] >= HEIGHTS[own]:
                wrong.append(f"{path.relative_to(root)} -> {module}")
    return wrong


def test_every_part_has_its_layer():
    parts = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert parts - {"__init__"} == set(HEIGHTS)


@pytest.mark.slow
def test_layers_import_downwards_only():
    assert upward(SOURCE) == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("report/picture.py", "from shuffledp.cli.app import app"),
        ("engines/people.py", "    from shuffledp.jobs.plan import plan"),
        ("noise/law.py", "import shuffledp.accounting.curve"),
        ("jobs/plan.py", "from shuffledp.applications import separate"),
    ],
)
def test_an_import_that_goes_up_is_noticed(file, line, tmp_path):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(f"def inside():\n{line}\n" if line.startswith(" ") else f"{line}\n")
    assert len(upward(tmp_path)) == 1


def test_reports_compute_nothing():
    """Pictures and pages of results: no protocol, no calibration, no randomness."""
    drawn = {part(module) for path in (SOURCE / "report").rglob("*.py") for module in imports(path)}
    assert drawn <= {
        "report",
        "jobs",
        "ledger",
        "applications",
        "verification",
        "pipeline",
        "words",
        "errors",
        "plain",
        "brief",
        "bars",
    }


def loaded_by(statement):
    program = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def test_importing_the_package_loads_little():
    modules = loaded_by("import shuffledp")
    assert len([name for name in modules if name.startswith("shuffledp")]) <= 2
    assert {"numpy", "scipy", "randomgen"}.isdisjoint(modules)


@pytest.mark.slow
def test_using_a_protocol_does_not_load_what_it_does_not_need():
    modules = loaded_by("import shuffledp; shuffledp.Histogram")
    assert {"scipy", "matplotlib", "duckdb", "pyarrow", "pandas", "rich", "typer"}.isdisjoint(modules)
    assert not [name for name in modules if name.startswith(("shuffledp.jobs", "shuffledp.cli", "shuffledp.engines"))]

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
    ("collect",),
    ("collect.simulation", "collect.batch_files", "collect.deployment"),
    ("collect.analyzer", "collect.shuffler"),
    ("collect.web",),
    ("collect.server", "collect.client"),
    ("explain",),
    ("collect.store",),
    ("collect.task",),
    ("collect.crypto",),
    ("collect.reasons", "collect.reaching"),
    ("auditing",),
    ("paper",),
    ("release",),
    ("ledger",),
    ("data",),
    ("protocols",),
    ("estimators",),
    ("histogram",),
    ("accounting",),
    ("noise",),
    ("jsonable", "atomic_file", "surnames", "randomness", "validation", "progress"),
    ("formatting", "errors", "lazy_import"),
)
"""From the top: a module imports from its own part and from the layers below."""

HEIGHTS = {name: -at for at, names in enumerate(LAYERS) for name in names}

SHOWS_ITSELF = {"histogram", "protocols", "release"}
"""Records load what shows them, in `explain`, when they are asked for it: inside functions only."""


def part(module):
    """Return the part of a module: its first name, or its first two inside `collect`."""
    names = module.split(".")[1:]
    return ".".join(names[:2]) if ".".join(names[:2]) in HEIGHTS else names[0]


def imports(path):
    """Return the modules of the package that a file imports, and whether each import is inside a function."""
    tree = ast.parse(path.read_text())
    inside = {
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "shuffledp":
            few = node.module in ("shuffledp", "shuffledp.collect")
            names = [f"{node.module}.{alias.name}" for alias in node.names] if few else [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("shuffledp.")]
        yield from ((name, node in inside) for name in names)


def upward(root):
    """Return imports of a higher layer, or of another part of the same layer."""
    wrong = []
    for path in sorted(root.rglob("*.py")):
        names = path.relative_to(root).with_suffix("").parts
        own = part(".".join(("shuffledp", *names)))
        if names[0] == "__init__" or names == ("collect", "__init__"):  # the public names, each loaded on first use
            continue
        for module, inside in imports(path):
            other = part(module)
            if other in ("__version__", own) or (own in SHOWS_ITSELF and other == "explain" and inside):
                continue
            if HEIGHTS[other] >= HEIGHTS[own]:
                wrong.append(f"{path.relative_to(root)} -> {module}")
    return wrong


def test_every_part_has_its_layer():
    parts = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    inside = {f"collect.{path.stem}" for path in (SOURCE / "collect").iterdir() if path.stem[0] != "_"}
    assert (parts - {"__init__"}) | inside == set(HEIGHTS)


@pytest.mark.slow
def test_layers_import_downwards_only():
    assert upward(SOURCE) == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("explain/page.py", "from shuffledp.cli.app import app"),
        ("data/people.py", "    from shuffledp.release.plan import plan"),
        ("noise/distribution.py", "import shuffledp.accounting.curve"),
        ("release/plan.py", "from shuffledp.paper import separate"),
        ("release/release.py", "from shuffledp.explain.page import page"),
        ("collect/crypto/keys.py", "from shuffledp.collect.task import Task"),
        ("collect/store/reports.py", "from shuffledp.collect import client"),
        ("collect/web/console.py", "    from shuffledp.collect.analyzer.app import make_app"),
    ],
)
def test_an_import_that_goes_up_is_noticed(file, line, tmp_path):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(f"def inside():\n{line}\n" if line.startswith(" ") else f"{line}\n")
    assert len(upward(tmp_path)) == 1


@pytest.mark.slow
def test_explanations_compute_nothing():
    """`explain` renders results: it uses no protocol, no calibration and no randomness."""
    used = {part(module) for path in (SOURCE / "explain").rglob("*.py") for module, _ in imports(path)}
    assert used.isdisjoint({"protocols", "estimators", "accounting", "noise", "randomness", "data"})


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
    assert not [name for name in modules if name.startswith(("shuffledp.release", "shuffledp.cli", "shuffledp.data"))]

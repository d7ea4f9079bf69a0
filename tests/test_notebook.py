"""The notebook of the docs runs, has the stored kinds of output, and becomes a page of the site."""

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.oracles.html_pages import read_page

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs").rglob("*.ipynb"))


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("notebook", ROOT / "scripts" / "notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kinds(outputs):
    """Return the kinds of output of a cell: text, HTML, image."""
    return [sorted(output.get("data", {output["output_type"]: ""})) for output in outputs]


def test_there_is_a_notebook():
    assert NOTEBOOKS


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_it_runs_with_the_stored_kinds_of_output(script, path):
    """The noise is fresh, so numbers differ, but each cell has the same kinds of output."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    kept = [cell["outputs"] for cell in cells if cell["cell_type"] == "code"]
    found = script.run(cells)
    assert list(map(kinds, found)) == list(map(kinds, kept))
    assert any("text/html" in kind for outputs in found for kind in kinds(outputs))
    assert any("image/png" in kind for outputs in found for kind in kinds(outputs))
    shown = "".join("".join(output.get("data", {}).get("text/plain", "")) for outputs in found for output in outputs)
    assert "(True, True)" in shown  # the saved release was read again


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_it_is_small_complete_and_has_no_local_paths(path):
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert len(text) < 100_000
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    assert "/tmp/" not in text
    assert "/home/" not in text
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_it_becomes_a_page(script, path):
    source = path.with_suffix(".md").read_text(encoding="utf-8")
    page = SimpleNamespace(file=SimpleNamespace(abs_src_path=str(path.with_suffix(".md"))))
    shown = script.on_page_markdown(source, page=page)
    assert f"({path.name})" in shown  # a link to download it
    assert "```python\nfrom shuffledp import private_histogram\n" in shown
    assert 'src="data:image/png;base64,' in shown
    (bars,) = [part for part in shown.split("\n\n") if 'class="bars"' in part]
    assert "SMITH" in read_page(bars).texts
    assert "<!-- notebook" not in shown


def test_outputs_have_the_notebook_format(script):
    cells = [{"cell_type": "code", "source": [line]} for line in ("x = 1", "print(x)", "x + 1", "None")]
    assert script.run(cells) == [
        [],
        [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}],
        [{"output_type": "execute_result", "metadata": {}, "data": {"text/plain": ["2"]}}],
        [],
    ]

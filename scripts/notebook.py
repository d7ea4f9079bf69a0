"""Run the notebooks of the docs and render them as pages of the site.

`python scripts/notebook.py docs/tutorials/notebook.ipynb` runs every cell, in one process and without a Jupyter server,
and stores its output, the value of its last line and its figures. In the site, a line `<!-- notebook name.ipynb -->`
becomes the cells of that notebook, which is in the folder of the page. mkdocs.yml lists this file under `hooks`.
"""

import ast
import base64
import contextlib
import io
import json
import re
import sys
from html import escape
from pathlib import Path
from typing import Any

MARKER = re.compile(r"^<!-- notebook (?P<name>[\w.-]+\.ipynb) -->$", flags=re.MULTILINE)
_DOTS_PER_INCH = 60  # small figures: the notebook is in the repository


def run(cells: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Run the code cells in order in one namespace; return the outputs of each."""
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("agg")
    pyplot.close("all")  # figures of other code in this process are no outputs
    names: dict[str, Any] = {"__name__": "__main__"}
    return [_outputs("".join(cell["source"]), names) for cell in cells if cell["cell_type"] == "code"]


def _outputs(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    from matplotlib import pyplot

    tree, printed, value = ast.parse(source), io.StringIO(), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "notebook", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    numbers = pyplot.get_fignums()
    if value is not None and not numbers:
        found.append({"output_type": "execute_result", "metadata": {}, "data": _shown(value)})
    for number in numbers:
        file = io.BytesIO()
        pyplot.figure(number).savefig(file, format="png", dpi=_DOTS_PER_INCH, metadata={"Software": None})
        pyplot.close(number)
        image = base64.b64encode(file.getvalue()).decode()
        found.append({"output_type": "display_data", "metadata": {}, "data": {"image/png": image}})
    return found


def _shown(value: Any) -> dict[str, Any]:
    """Return the representations of a value: its repr, and its HTML if it has one."""
    data = {"text/plain": _lines(repr(value))}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = _lines(value._repr_html_())
    return data


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def refresh(path: Path) -> None:
    """Run a notebook and store its outputs."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    outputs = iter(run(notebook["cells"]))
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"], cell["outputs"] = count, next(outputs)
            for output in cell["outputs"]:
                if output["output_type"] == "execute_result":
                    output["execution_count"] = count
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace the markers of a page before mkdocs renders it."""
    return MARKER.sub(lambda match: as_markdown(Path(page.file.abs_src_path).parent / match["name"]), markdown)


def as_markdown(path: Path) -> str:
    """Return a notebook as Markdown: text, code and outputs."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [_output(output) for output in cell.get("outputs", [])]
    return "\n\n".join(parts)


def _output(output: dict[str, Any]) -> str:
    """Return the richest representation of an output."""
    data = output.get("data", {})
    if "image/png" in data:
        return f'<p><img alt="Figure drawn by the program above" src="data:image/png;base64,{data["image/png"]}"></p>'
    if "text/html" in data:
        return "<div>" + re.sub(r"\n\s*", "\n", "".join(data["text/html"])) + "</div>"
    text = "".join(data.get("text/plain", output.get("text", "")))
    return f"<pre><code>{escape(text)}</code></pre>"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        refresh(Path(name))
        print(f"wrote {name}", file=sys.stderr)

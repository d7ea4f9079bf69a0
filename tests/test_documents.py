"""README and docs: programs run, commands exist, figures are true, and links work."""

import importlib.util
import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from shuffledp import SparseHistogram
from shuffledp.cli.app import app
from shuffledp.errors import ParameterError
from shuffledp.protocols import CATALOGUE

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
GENERATED = DOCS / "reference" / "commands.md"
"""The page that mkdocs generates: pages of the site link to it, but it is not a file."""
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


def name(document):
    return str(document.relative_to(ROOT))


def blocks(document, language):
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text(), flags=re.MULTILINE | re.DOTALL)


def execute(document, programs):
    """Run the programs as one, with warnings as errors; restore the catalogue afterwards."""
    known = dict(CATALOGUE)
    try:
        exec(compile("\n".join(programs), name(document), "exec"), {"__name__": "__main__"})
    finally:
        CATALOGUE.clear()
        CATALOGUE.update(known)


def normal(row):
    """Return a row without the parts that differ between runs: figures, bars, spaces."""
    return " ".join(re.sub(r"[█▒]+", "█", re.sub(r"\d[\d,.]*", "0", row)).split())


@pytest.mark.slow
@pytest.mark.parametrize("document", [d for d in DOCUMENTS if blocks(d, "console") or blocks(d, "python")], ids=name)
def test_programs_and_commands_do_what_they_show(document, tmp_path, monkeypatch):
    """Run the commands in order, then the Python programs as one, all in the same folder.

    If a page begins with `make demo`, the files of the demo are there.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # for the journal of a person
    if any("make demo" in block for block in blocks(document, "sh")):
        assert CliRunner().invoke(app, ["demo"], catch_exceptions=False).exit_code == 0
    for session in re.split(r"^\$ shuffledp ", "".join(blocks(document, "console")), flags=re.MULTILINE)[1:]:
        line, *shown = session.splitlines()
        arguments = shlex.split(line)
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        random = arguments[0] in ("demo", "run")
        compared = normal if random else lambda row: " ".join(row.split())
        printed = [compared(row) for row in (result.stdout + result.stderr).splitlines()]
        for row in shown:
            assert compared(row) in printed
    execute(document, blocks(document, "python"))


@pytest.mark.slow
def test_the_figures_of_the_pipeline_are_true(tmp_path, monkeypatch, capsys):
    page = DOCS / "how-to" / "use-the-pipeline.md"
    (program,) = blocks(page, "python")
    monkeypatch.chdir(tmp_path)
    execute(page, [program])
    output = capsys.readouterr().out.splitlines()
    claimed = re.findall(r"#.*: ([\d.]+)(?: people)?$", program, flags=re.MULTILINE)
    assert len(claimed) == 2
    assert [f"{float(line):.3g}" for line in output[: len(claimed)]] == claimed


def cells(row):
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def figure(text):
    """Return a printed figure and its largest rounding error."""
    digits, _, power = text.replace(",", "").partition("e")
    scale = 10.0 ** int(power or 0)
    return float(digits) * scale, 0.5 * scale * 10.0 ** -len(digits.partition(".")[2])


def assert_rounded_alike(first, second):
    (one, hair), (other, breadth) = figure(first), figure(second)
    assert one == pytest.approx(other, abs=(hair + breadth) * (1 + 1e-9)), (first, second)


def test_the_short_table_agrees_with_the_measured_page():
    """One run of `make table1` writes both; the short table has fewer rows and digits."""
    page = (DOCS / "reference" / "table1.md").read_text()
    measured = {}
    for size, table in re.findall(r"^### [\d,]+ people, ([\d,]+) values\n(.*?)(?=^#|\Z)", page, flags=re.M | re.S):
        head, _, *rows = map(cells, re.findall(r"^\|.*\|$", table, flags=re.MULTILINE))
        for row in rows:
            measured[size, row[head.index("protocol")]] = dict(zip(head, row, strict=True))
    (table,) = re.findall(
        r"^<!-- table1 -->\n(.*?)^<!-- /table1 -->",
        (DOCS / "explanation" / "comparison.md").read_text(),
        flags=re.M | re.S,
    )
    head, _, *rows = map(cells, table.strip().splitlines())
    sizes = {column: title.removeprefix("d = ") for column, title in enumerate(head) if title.startswith("d = ")}
    assert len(sizes) >= 3
    assert len(rows) >= 8
    for row in rows:
        for column, size in sizes.items():
            truth = measured[size, row[head.index("protocol")]]
            assert row[head.index("model")] == truth["model"]
            error, _, messages = row[column].rstrip(")").partition(" (")
            assert_rounded_alike(error, truth["error"].split()[0])
            if messages or truth["model"] != "central":  # a curator gets values, no messages
                assert_rounded_alike(messages, truth["messages"])


@pytest.mark.parametrize(("first", "second"), [("18", "18.6"), ("1.04", "1.02"), ("9,997", "1.001e+04")])
def test_figures_that_disagree_are_noticed(first, second):
    with pytest.raises(AssertionError):
        assert_rounded_alike(first, second)


def test_the_documented_limits_on_bins_match_the_code():
    (power,) = re.findall(r"d up to 2\^(\d+) is possible", (DOCS / "explanation" / "limitations.md").read_text())
    protocol = SparseHistogram.calibrate(users=10**12, bins=2, epsilon=1, delta=1e-6)
    quiet = replace(protocol, pairs=protocol.pairs.with_rate(1e-6), lone=protocol.lone.with_rate(1e-6))
    most = 2 ** int(power)
    assert most - 1 in replace(quiet, bins=most).randomize(most - 1) // 2
    with pytest.raises(ParameterError, match="too many"):
        replace(quiet, bins=most + 1).randomize(0)


def generated_commands():
    """The script that generates the page of all commands."""
    spec = importlib.util.spec_from_file_location("write_commands", ROOT / "scripts" / "write_commands.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def commands_with_options(group, first=""):
    for name, command in group.commands.items():
        yield f"{first}{name}", {option for parameter in command.params for option in parameter.opts}
        if hasattr(command, "commands"):
            yield from commands_with_options(command, f"{first}{name} ")


@pytest.mark.slow
def test_the_generated_page_lists_every_command_and_option():
    page = generated_commands().page()
    sections = dict(re.findall(r"^## shuffledp ([\w -]+)\n(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL))
    commands = dict(commands_with_options(typer.main.get_command(app)))
    assert set(sections) == set(commands)
    assert len(commands) > 20
    for name, options in commands.items():
        missing = {option for option in options if option.startswith("--") and option not in sections[name]}
        assert not missing, f"{name}: {missing}"


@pytest.mark.slow
def test_a_line_that_goes_on_in_the_next_is_not_joined_to_it():
    """A shell takes a backslash before a space for an argument."""
    page = generated_commands().page()
    assert " \\\n" in page
    assert "\\ " not in page


def test_the_page_of_commands_is_generated_and_not_committed():
    assert DOCS / generated_commands().PATH == GENERATED
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert f"/{name(GENERATED)}" in ignored


def test_make_help_lists_every_target():
    makefile = (ROOT / "Makefile").read_text()
    targets = {
        target for line in re.findall(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE) for target in line.split()
    }
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert sorted(re.findall(r"^  ([a-z0-9-]+) +\S", listed, flags=re.MULTILINE)) == sorted(targets)
    assert "check" in targets


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_make_targets_and_links_exist(document):
    makefile = (ROOT / "Makefile").read_text()
    text = document.read_text()
    in_sentences = re.findall(r"`[^`]*`", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE))
    for target in re.findall(r"`?make ([a-z][a-z0-9-]*)`?", "\n".join([*blocks(document, "sh"), *in_sentences])):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        target = (document.parent / link).resolve()
        on_site = DOCS in document.parents
        assert target.exists() or (on_site and target == GENERATED), link


def anchors(document):
    """Return the anchors of the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    plain = (re.sub(r"\]\([^)]*\)|[^\w\s-]", "", title).strip().lower() for title in titles)
    return {re.sub(r"[-\s]+", "-", title) for title in plain}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_links_into_pages_lead_to_a_heading(document):
    for page, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", document.read_text()):
        target = document.parent / page if page else document
        assert anchor in anchors(target), f"{page}#{anchor}"


def test_every_page_named_in_the_code_exists():
    for source in (*(ROOT / "src").rglob("*.py"), *(ROOT / "scripts").glob("*.py")):
        for page in re.findall(r"docs/[\w/-]+\.md", source.read_text()):
            assert (ROOT / page).exists(), f"{page} in {name(source)}"


def test_every_module_named_in_the_docs_exists():
    """`release/plan.py` and `protocols/local/` are paths in the package, `test_goodness.py` a test file."""
    tests = {path.name for path in (ROOT / "tests").rglob("*.py")}
    for document in DOCUMENTS:
        for path in re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:\.py|/))`", document.read_text()):
            places = (ROOT / "src" / "shuffledp" / path, ROOT / "tests" / path, ROOT / path)
            assert path in tests or any(place.exists() for place in places), f"{path} in {name(document)}"


def test_every_test_named_in_the_docs_exists():
    sources = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    for document in DOCUMENTS:
        for test in re.findall(r"`(test_[a-z0-9_]+)`", document.read_text()):
            assert f"def {test}(" in sources, test

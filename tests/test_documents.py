"""The programs in README and docs run, the commands exist, and the links lead somewhere."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(document, language):
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text(), flags=re.MULTILINE | re.DOTALL)


def call(*arguments, cwd, check=True):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=check, cwd=cwd, encoding="utf-8"
    )


def normal(row):
    """A row without what differs from run to run: figures, the lengths of bars, spaces."""
    return " ".join(re.sub(r"[█▒]+", "█", re.sub(r"\d[\d,.]*", "0", row)).split())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_programs_and_commands_do_what_they_show(document, tmp_path):
    """Commands first, in order, then the Python programs as one, all in the same folder."""
    for session in re.split(r"^\$ shuffledp ", "".join(blocks(document, "console")), flags=re.MULTILINE)[1:]:
        line, *shown = session.splitlines()
        command, *arguments = shlex.split(line)
        result = call("-m", "shuffledp", command, *arguments, cwd=tmp_path)
        random = command in ("demo", "run")
        compared = normal if random else lambda row: " ".join(row.split())
        printed = [compared(row) for row in (result.stdout + result.stderr).splitlines()]
        for row in shown:
            assert compared(row) in printed
    program = "\n".join(blocks(document, "python"))
    result = call("-W", "error", "-c", program, cwd=tmp_path, check=False)
    assert result.returncode == 0, result.stderr


def test_the_figures_in_the_readme_are_true(tmp_path):
    (program,) = (block for block in blocks(ROOT / "README.md", "python") if "calibrate" in block)
    output = call("-c", program, cwd=tmp_path).stdout.splitlines()
    claimed = re.findall(r"#.*: ([\d.]+)(?: people)?$", program, flags=re.MULTILINE)
    assert len(claimed) == 2
    assert [f"{float(line):.3g}" for line in output[: len(claimed)]] == claimed


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_make_targets_and_links_exist(document):
    makefile = (ROOT / "Makefile").read_text()
    text = document.read_text()
    for target in re.findall(
        r"`?make ([a-z]+)\b`?", "\n".join([*blocks(document, "sh"), *re.findall(r"`[^`]*`", text)])
    ):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (document.parent / link).exists(), link


def test_every_test_named_in_the_docs_exists():
    sources = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    for document in DOCUMENTS:
        for name in re.findall(r"`(test_[a-z0-9_]+)`", document.read_text()):
            assert f"def {name}(" in sources, name

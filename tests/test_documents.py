"""The programs in README and docs run, the commands exist, and the links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(document, language):
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_python_programs_run(document):
    program = "\n".join(blocks(document, "python"))
    result = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_the_figures_in_the_readme_are_true():
    output = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks(ROOT / "README.md", "python"))],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    claimed = re.findall(
        r"#.*: ([\d.]+)(?: people)?$", "\n".join(blocks(ROOT / "README.md", "python")), flags=re.MULTILINE
    )
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


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_console_commands_print_what_they_show(document):
    for block in blocks(document, "console"):
        line, *shown = block.splitlines()
        arguments = line.removeprefix("$ shuffledp ").split()
        result = subprocess.run(
            [sys.executable, "-m", "shuffledp", *arguments],
            capture_output=True,
            text=True,
            check=True,
            encoding="utf-8",
        )
        printed = [" ".join(row.split()) for row in result.stdout.splitlines()]
        for row in shown:
            assert " ".join(row.split()) in printed

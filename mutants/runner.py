"""Apply mutants to copies of the package, one at a time, and run the tests that must catch them."""

from __future__ import annotations

import compileall
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.node import node_path

from mutants.errors import MutantError
from mutants.mutant import Mutant

ROOT = Path(__file__).parent.parent
_JAVASCRIPT = "clients/javascript"
_PAGE_TESTS = "tests/collect/web/survey/"

_TIMEOUT = 300
"""Seconds after which tests are stopped; a mutant that makes them hang is an error, not caught."""

_PASSED, _FAILED = 0, 1
"""Exit codes of pytest; all others mean that tests could not be collected or run."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """The outcome of one mutant; `detail` is the test that caught it and how it failed, or the error."""

    name: str
    outcome: Literal["caught", "survived", "error"]
    detail: str
    seconds: float


def run(mutants: Sequence[Mutant], *, jobs: int, report: Callable[[Result], None]) -> list[Result]:
    """Return the results in the order of the mutants; the tests must pass on the unchanged package first."""
    results = {}
    with _compiled_copy() as original, ThreadPoolExecutor(jobs) as pool:
        _check_tests_pass(sorted({test for mutant in mutants for test in mutant.tests}), original, pool, jobs)
        for finished in as_completed([pool.submit(_try, mutant, original) for mutant in mutants]):
            result = finished.result()
            results[result.name] = result
            report(result)
    return [results[mutant.name] for mutant in mutants]


@contextmanager
def mutated(mutant: Mutant, original: Path) -> Iterator[Path]:
    """Yield a copy of `original` with the mutant; child processes of the tests import it too."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder, "copy")
        shutil.copytree(original, copy)  # with compiled files, to start faster
        file = copy / mutant.path
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
            compiled.unlink()
        file.write_text(mutant.apply(original), encoding="utf-8")
        if any(test.startswith(_PAGE_TESTS) for test in mutant.tests):
            _bundle(copy)
        yield copy


def _bundle(copy: Path) -> None:
    """Write the program of the survey page of a copy, which a browser runs instead of its sources."""
    script = ROOT / _JAVASCRIPT / "scripts" / "survey.mjs"
    subprocess.run([node_path(), str(script), str(copy)], check=True, capture_output=True)


@contextmanager
def _compiled_copy() -> Iterator[Path]:
    """Yield a copy of the package and of the JavaScript client, without installed or built files."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder, "original")
        shutil.copytree(ROOT / "src", copy / "src")
        ignored = shutil.ignore_patterns("node_modules", "dist")
        shutil.copytree(ROOT / _JAVASCRIPT, copy / _JAVASCRIPT, ignore=ignored)
        compileall.compile_dir(copy / "src", quiet=2)
        yield copy


def _check_tests_pass(tests: Sequence[str], original: Path, pool: ThreadPoolExecutor, jobs: int) -> None:
    """Raise if a test fails without a mutant: its failure with one would say nothing."""
    files = sorted({test.split("::")[0] for test in tests})
    parts = [[test for test in tests if test.split("::")[0] in files[part::jobs]] for part in range(jobs)]
    outputs = list(pool.map(lambda part: _pytest(part, original, "--maxfail=5"), filter(None, parts)))
    broken = [output for code, output in outputs if code != _PASSED]
    if broken:
        raise MutantError("tests fail, or are missing, on the unchanged package:\n" + "\n".join(broken))


def _try(mutant: Mutant, original: Path) -> Result:
    started = time.monotonic()
    with mutated(mutant, original) as copy:
        code, output = _pytest(mutant.tests, copy, "-x")
    seconds = time.monotonic() - started
    failures = re.findall(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", output, flags=re.MULTILINE)
    raised = re.findall(r"^\S+\.py:\d+: ([\w.]+)", output, flags=re.MULTILINE)
    if code == _PASSED:
        return Result(name=mutant.name, outcome="survived", detail="", seconds=seconds)
    if code == _FAILED and failures:
        detail = f"{failures[0]} ({raised[0]})" if raised else failures[0]
        return Result(name=mutant.name, outcome="caught", detail=detail, seconds=seconds)
    return Result(name=mutant.name, outcome="error", detail=_last_line(output), seconds=seconds)


def _pytest(tests: Sequence[str], copy: Path, *options: str) -> tuple[int, str]:
    """Run tests in this order against a copy of the package; return the exit code and the output."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "HYPOTHESIS_"))}
    changed = {
        "PYTHONPATH": str(copy / "src"),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(copy / "hypothesis"),
    }
    options = ("-q", "-rfE", "--tb=line", "-p", "no:randomly", "-p", "no:cacheprovider", *options)
    command = [sys.executable, "-m", "pytest", *options, *tests]
    try:
        finished = subprocess.run(
            command, cwd=ROOT, env=kept | changed, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return -1, f"stopped after {_TIMEOUT} seconds"
    return finished.returncode, finished.stdout + finished.stderr


def _last_line(output: str) -> str:
    return next((line for line in reversed(output.splitlines()) if line.strip()), "no output")

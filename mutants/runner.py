"""Plants faults in copies of the package, one at a time, and runs what should notice them."""

from __future__ import annotations

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

from mutants.fault import CLIENT, Fault, FaultError

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
PACKAGE = "shuffledp"

_MOST_SECONDS = 600
"""A fault that makes a program run on and on is stopped after this time, and is no caught one."""

_PASSED, _FAILED = 0, 1
"""Exit codes of pytest; all others mean that tests could not be collected or run."""

Outcome = Literal["caught", "survived", "equivalent", "error"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of one fault: `by` is the first test that noticed, or what went wrong."""

    name: str
    outcome: Outcome
    by: str
    seconds: float


Told = Callable[[Result], None]
"""Is told every result as it comes."""


@contextmanager
def copy_of_package(fault: Fault | None = None) -> Iterator[Path]:
    """A folder with a copy of src/, in which the fault is planted; what was compiled is copied too, to start faster.

    The client in JavaScript is copied to where the package finds it, without what npm installed or made.
    """
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copied = Path(folder, "src")
        shutil.copytree(SOURCE, copied, copy_function=shutil.copy2)
        shutil.copytree(ROOT / CLIENT, Path(folder, CLIENT), ignore=shutil.ignore_patterns("node_modules", "dist"))
        if fault is not None:
            file = Path(folder, fault.path)
            file.write_text(fault.plant(file.read_text(encoding="utf-8")), encoding="utf-8")
            for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
                compiled.unlink()
        yield copied


def run_tests(faults: Sequence[Fault], *, jobs: int, told: Told) -> list[Result]:
    """Every fault against its tests, which must all pass on the unchanged package first."""
    planted = [fault for fault in faults if not fault.equivalent]
    check_tests_pass(sorted({test for fault in planted for test in fault.tests}), jobs=jobs)
    return _in_parallel(_against_tests, faults, jobs=jobs, told=told)


def check_tests_pass(tests: Sequence[str], *, jobs: int) -> None:
    """Refuses tests that fail on an unchanged copy: that one fails with a fault in it would say nothing."""
    files = sorted({test.split("::")[0] for test in tests})
    parts = [[test for test in tests if test.split("::")[0] in files[part::jobs]] for part in range(jobs)]
    with copy_of_package() as source, ThreadPoolExecutor(jobs) as pool:
        outputs = list(pool.map(lambda part: _run(_pytest(part, "--maxfail=5"), source), filter(None, parts)))
    broken = [output for code, output in outputs if code != _PASSED]
    if broken:
        raise FaultError("tests fail, or are missing, on the unchanged package:\n" + "\n".join(broken))


def _in_parallel(run: Callable[[Fault], Result], faults: Sequence[Fault], *, jobs: int, told: Told) -> list[Result]:
    """The results in the order of the faults."""
    results = {}
    with ThreadPoolExecutor(jobs) as pool:
        for finished in as_completed([pool.submit(run, fault) for fault in faults]):
            result = finished.result()
            results[result.name] = result
            told(result)
    return [results[fault.name] for fault in faults]


def _against_tests(fault: Fault) -> Result:
    if fault.equivalent:
        return Result(name=fault.name, outcome="equivalent", by=fault.equivalent, seconds=0.0)
    started = time.monotonic()
    with copy_of_package(fault) as source:
        code, output = _run(_pytest(fault.tests, "-x"), source)
    seconds = time.monotonic() - started
    noticed = re.findall(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", output, flags=re.MULTILINE)
    if code == _PASSED:
        return Result(name=fault.name, outcome="survived", by="", seconds=seconds)
    if code == _FAILED and noticed:
        return Result(name=fault.name, outcome="caught", by=noticed[0], seconds=seconds)
    if fault.breaks_imports and code != _FAILED:
        return Result(name=fault.name, outcome="caught", by="the package cannot be imported", seconds=seconds)
    return Result(name=fault.name, outcome="error", by=_last_line(output), seconds=seconds)


def _pytest(tests: Sequence[str], *options: str) -> list[str]:
    """The command for some tests, in this order, without what other runs left behind."""
    quiet = ("-q", "-rfE", "--tb=line", "-p", "no:randomly", "-p", "no:cacheprovider")
    return [sys.executable, "-m", "pytest", *quiet, *options, *tests]


def _run(command: Sequence[str], source: Path) -> tuple[int, str]:
    """The exit code and the output of a command that imports the package from a copy of its source."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "HYPOTHESIS_"))}
    changed = {
        "PYTHONPATH": str(source),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(source.parent / "hypothesis"),
        "COLUMNS": "300",  # so that the ids of tests are not shortened
    }
    try:
        finished = subprocess.run(
            command, cwd=ROOT, env=kept | changed, capture_output=True, text=True, timeout=_MOST_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return -1, f"stopped after {_MOST_SECONDS} seconds"
    return finished.returncode, finished.stdout + finished.stderr


def _last_line(output: str) -> str:
    return next((line for line in reversed(output.splitlines()) if line.strip()), "no output")

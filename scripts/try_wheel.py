"""Check the distributions in a folder, and run the demo from the wheel in an empty environment.

    try_wheel.py dist                               checks contents and sizes
    try_wheel.py dist requirements/demo.txt [PYTHON]   also installs the wheel and runs the demo

The wheel's own requirements decide what is installed; the lock file fixes the versions, so that the result is
reproducible.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent

DATA = "shuffledp/surnames/surnames-1990.txt.gz"
"""The public data of the demo, which is as large as a third of the code."""

MOST_BYTES = 2**20
"""Of the wheel without the data. The goal is under 1,000,000 and is not reached: see RELEASING.md."""

WHEEL = (
    "shuffledp/py.typed",
    DATA,
    "shuffledp/explain/templates/report.html",
    "shuffledp/explain/templates/style.css",
    "shuffledp/collect/web/templates/survey/survey.html",
    "shuffledp/collect/web/static/survey/survey.js",
    "shuffledp/collect/web/catalogues/de.json",
    "/licenses/LICENSE",
    "/entry_points.txt",
)
"""Files that a wheel must contain beside all modules."""

SOURCE = (
    "LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "RELEASING.md", "pyproject.toml", "Makefile",
    "clients/javascript/package-lock.json", "requirements/test.txt", "src/shuffledp/__init__.py", "tests/", "vectors/",
)  # fmt: skip
"""Files that an sdist must contain, so that its tests run."""

LOCAL = re.compile(
    r"__pycache__|\.venv|\.ipynb_checkpoints|node_modules|\.(mypy|ruff|pytest)_cache|\.hypothesis|\.site|\.pyc$|\.tgz$"
    r"|^dist/|^clients/javascript/dist/|\.git/"
)
"""Local files that must not be in a distribution."""


def main(folder: str, lock: str = "", python: str = sys.executable) -> None:
    """Check and try the distributions; exit with a message if something is wrong."""
    (wheel,), (source,) = Path(folder).glob("*.whl"), Path(folder).glob("*.tar.gz")
    check_contents(wheel, source)
    check_size(wheel)
    if lock:
        with tempfile.TemporaryDirectory(prefix="shuffledp-wheel-") as place:
            version, built = try_out(wheel.resolve(), Path(lock), Path(place), python)
        print(f"{wheel.name}: installed for Python {version} in an empty environment; `shuffledp demo` wrote {built}")


def check_contents(wheel: Path, source: Path) -> None:
    """Check that no file is missing and that no local file is included."""
    with zipfile.ZipFile(wheel) as opened:
        inside = opened.namelist()
    with tarfile.open(source) as archive:
        sources = ["/".join(name.split("/")[1:]) for name in archive.getnames()]
    modules = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    missing = [part for part in WHEEL if not any(part in name for name in inside)]
    missing += [part for part in SOURCE if not any(name.startswith(part) for name in sources)]
    missing += sorted(modules - set(inside))
    unexpected = [name for name in inside if not name.startswith(("shuffledp/", "shuffledp-"))]
    unexpected += [name for name in inside if name.endswith(".py") and name not in modules]
    unexpected += [name for name in (*inside, *sources) if LOCAL.search(name)]
    if missing or unexpected:
        raise SystemExit(f"the distributions lack {missing} and must not contain {unexpected}")


def check_size(wheel: Path) -> None:
    """Check that the wheel is small, apart from the data."""
    with zipfile.ZipFile(wheel) as opened:
        size = wheel.stat().st_size - opened.getinfo(DATA).compress_size
        print(f"{wheel.name}: {size:,} bytes and the data, in {len(opened.namelist())} files")
    if size > MOST_BYTES:
        raise SystemExit(f"the wheel without its data must have at most {MOST_BYTES:,} bytes, got {size:,}")


def try_out(wheel: Path, lock: Path, place: Path, python: str) -> tuple[str, str]:
    """Return the version of Python and the files that the demo wrote."""
    work = place / "work"
    work.mkdir()
    fresh = new_environment(place / "environment", f"{wheel}[cli]", lock=lock, python=python)
    run(fresh.with_name("shuffledp"), "demo", "--people", "20000", at=work)
    version = run(fresh, "-c", "import platform; print(platform.python_version())", at=work).strip()
    written = sorted(path.name for path in work.iterdir())
    if "report.html" not in written:
        raise SystemExit(f"the demo wrote no report, only {written}")
    return version, " and ".join(written)


def new_environment(place: Path, wanted: object, *, lock: Path, python: str = sys.executable) -> Path:
    """Install what is wanted, with the versions of a lock file, in a new environment; return its Python."""
    run(python, "-m", "venv", "--without-pip", place, at=place.parent)
    versions = place / "versions.txt"
    pinned = re.findall(r"^[\w.-]+(?:\[[\w,-]+\])?==[\w.]+", lock.read_text(), flags=re.MULTILINE)
    versions.write_text("\n".join(re.sub(r"\[.*?\]", "", each) for each in pinned))
    fresh = place / "bin" / "python"
    pip = ("-m", "pip", "--disable-pip-version-check", "--quiet", "--python", fresh)
    run(sys.executable, *pip, "install", "--no-compile", wanted, "--constraint", versions, at=place)
    return fresh


def run(*command: object, at: Path) -> str:
    """Return the output of a command; exit with it if the command fails."""
    result = subprocess.run([str(part) for part in command], cwd=at, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Check the distributions in a folder, and run the demo from the wheel in an empty environment.

    try_wheel.py dist requirements/demo.txt [PYTHON]

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

WHEEL = (
    "shuffledp/py.typed",
    "shuffledp/surnames/surnames-1990.txt.gz",
    "shuffledp/explain/templates/report.html",
    "shuffledp/explain/templates/style.css",
    "shuffledp/collect/web/templates/survey/survey.html",
    "shuffledp/collect/web/client/src/index.js",
    "shuffledp/collect/web/client/vendor/hpke.js",
    "/licenses/LICENSE",
)
"""Files that a wheel must contain."""

SOURCE = ("LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "Makefile", "src/shuffledp/__init__.py", "tests/")
"""Files that an sdist must contain."""

LOCAL = re.compile(r"__pycache__|\.venv|\.ipynb_checkpoints|node_modules")
"""Local files that must not be in a distribution."""


def main(folder: str, lock: str, python: str = sys.executable) -> None:
    """Check and try the distributions; exit with a message if something is wrong."""
    (wheel,), (source,) = Path(folder).glob("*.whl"), Path(folder).glob("*.tar.gz")
    check_contents(wheel, source)
    with tempfile.TemporaryDirectory(prefix="shuffledp-wheel-") as place:
        version, built = try_out(wheel.resolve(), Path(lock), Path(place), python)
    print(f"{wheel.name}: installed for Python {version} in an empty environment; `shuffledp demo` wrote {built}")


def check_contents(wheel: Path, source: Path) -> None:
    """Check that no file is missing and that no local file is included."""
    with zipfile.ZipFile(wheel) as opened:
        inside = opened.namelist()
    with tarfile.open(source) as archive:
        sources = ["/".join(name.split("/")[1:]) for name in archive.getnames()]
    missing = [part for part in WHEEL if not any(part in name for name in inside)]
    missing += [part for part in SOURCE if not any(name.startswith(part) for name in sources)]
    unexpected = [name for name in inside if not name.startswith(("shuffledp/", "shuffledp-"))]
    unexpected += [name for name in (*inside, *sources) if LOCAL.search(name)]
    if missing or unexpected:
        raise SystemExit(f"the distributions lack {missing} and must not contain {unexpected}")


def try_out(wheel: Path, lock: Path, place: Path, python: str) -> tuple[str, str]:
    """Return the version of Python and the files that the demo wrote."""
    versions = place / "versions.txt"
    versions.write_text(
        "\n".join(re.findall(r"^[\w.-]+(?:\[[\w,-]+\])?==[\w.]+", lock.read_text(), flags=re.MULTILINE))
    )
    environment, work = place / "environment", place / "work"
    work.mkdir()
    run(python, "-m", "venv", "--without-pip", environment, at=work)
    fresh = environment / "bin" / "python"
    pip = ("-m", "pip", "--disable-pip-version-check", "--quiet", "--python", fresh)
    run(sys.executable, *pip, "install", "--no-compile", f"{wheel}[cli]", "--constraint", versions, at=work)
    run(environment / "bin" / "shuffledp", "demo", "--people", "20000", at=work)
    version = run(fresh, "-c", "import platform; print(platform.python_version())", at=work).strip()
    written = sorted(path.name for path in work.iterdir())
    if "report.html" not in written:
        raise SystemExit(f"the demo wrote no report, only {written}")
    return version, " and ".join(written)


def run(*command: object, at: Path) -> str:
    """Return the output of a command; exit with it if the command fails."""
    result = subprocess.run([str(part) for part in command], cwd=at, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Checks the distributions in a folder, and tries the wheel as a stranger would: in an empty environment, elsewhere.

    try_wheel.py dist requirements/demo.txt [PYTHON]

What is installed comes from the wheel's own requirements; only the versions are those of the lock file, so that the
result does not depend on the day.
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
"""What a wheel is easily built without."""

SOURCE = ("LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "Makefile", "src/shuffledp/__init__.py", "tests/")
"""What whoever builds from source needs."""

OUR_OWN = re.compile(r"__pycache__|\.venv|\.ipynb_checkpoints|node_modules")
"""What lies in the folders of whoever builds them."""


def main(folder: str, lock: str, python: str = sys.executable) -> None:
    """Raises an error, or prints what was tried."""
    (wheel,), (source,) = Path(folder).glob("*.whl"), Path(folder).glob("*.tar.gz")
    check_contents(wheel, source)
    with tempfile.TemporaryDirectory(prefix="shuffledp-wheel-") as place:
        version, built = try_out(wheel.resolve(), Path(lock), Path(place), python)
    print(f"{wheel.name}: installed for Python {version} in an empty environment; `shuffledp demo` wrote {built}")


def check_contents(wheel: Path, source: Path) -> None:
    """Sees to it that nothing is missing, and nothing of the tree's own is in the wheel."""
    with zipfile.ZipFile(wheel) as opened:
        inside = opened.namelist()
    with tarfile.open(source) as archive:
        sources = ["/".join(name.split("/")[1:]) for name in archive.getnames()]
    lacking = [part for part in WHEEL if not any(part in name for name in inside)]
    lacking += [part for part in SOURCE if not any(name.startswith(part) for name in sources)]
    strange = [name for name in inside if not name.startswith(("shuffledp/", "shuffledp-"))]
    strange += [name for name in (*inside, *sources) if OUR_OWN.search(name)]
    if lacking or strange:
        raise SystemExit(f"the distributions lack {lacking} and should not have {strange}")


def try_out(wheel: Path, lock: Path, place: Path, python: str) -> tuple[str, str]:
    """The version of Python, and the files that the demo wrote."""
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
    """What a command prints; its own words if it fails."""
    result = subprocess.run([str(part) for part in command], cwd=at, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


if __name__ == "__main__":
    main(*sys.argv[1:])

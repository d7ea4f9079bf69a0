"""Go through the mechanical steps of RELEASING.md without publishing anything.

    release_dry_run.py                 every step
    release_dry_run.py --consistency   only that every file names the same version
    release_dry_run.py --no-install    every step but installing the wheel

The tree must be clean: a release is made of a commit. Both distributions and the npm package are built twice, the wheel
the second time from the unpacked sdist, and must be the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import try_wheel
from try_wheel import ROOT, run

CLIENT = ROOT / "clients" / "javascript"
UNRELEASED = "unreleased"


def main(*options: str) -> None:
    """Run the steps; exit with a message at the first one that fails."""
    unknown = set(options) - {"--consistency", "--no-install"}
    if unknown:
        raise SystemExit(f"options are --consistency and --no-install, got {' '.join(sorted(unknown))}")
    version, date = check_versions()
    print(f"version {version} ({date}) in every file")
    if "--consistency" in options:
        return
    os.environ["SOURCE_DATE_EPOCH"] = committed()
    with tempfile.TemporaryDirectory(prefix="shuffledp-release-") as place:
        built = build(Path(place))
        print(*(f"{sha256(path)}  {path.name} ({path.stat().st_size:,} bytes)" for path in built), sep="\n")
        wheel, source, _ = built
        run(sys.executable, "-m", "twine", "check", "--strict", wheel, source, at=ROOT)
        try_wheel.main(
            str(wheel.parent), *(() if "--no-install" in options else (str(ROOT / "requirements/demo.txt"),))
        )
        check_unchanged(version, built)
    if date == UNRELEASED:
        print(f"before a release: date the heading of {version} in CHANGELOG.md")


def check_versions() -> tuple[str, str]:
    """Check that every file names the same version; return it with its date in the changelog."""
    texts = {name: (ROOT / name).read_text() for name in ("src/shuffledp/__init__.py", "CITATION.cff", "CHANGELOG.md")}
    patterns = (r'^__version__ = "(.+)"$', r"^version: (.+)$", r"^## (\S+) \((?:unreleased|\d{4}-\d\d-\d\d)\)$")
    found = {}
    for (name, text), pattern in zip(texts.items(), patterns, strict=True):
        match = re.search(pattern, text, flags=re.MULTILINE)
        found[name] = match[1] if match else None
    for name in ("package.json", "package-lock.json"):
        found[f"clients/javascript/{name}"] = json.loads((CLIENT / name).read_text())["version"]
    if len(set(found.values())) != 1 or None in found.values():
        raise SystemExit(f"every file must name the same version, got {found}")
    version = found["CHANGELOG.md"]
    heading = re.search(
        rf"^## {re.escape(str(version))} \((.+)\)\n+(### .+)$", texts["CHANGELOG.md"], flags=re.MULTILINE
    )
    if heading is None or heading[2] != "### Privacy":
        raise SystemExit(f"the first heading under {version} in CHANGELOG.md must be ### Privacy")
    return str(version), heading[1]


def committed() -> str:
    """Return the time of the commit, in seconds since 1970; exit if the tree is not clean."""
    if changed := run("git", "status", "--porcelain", at=ROOT):
        raise SystemExit(f"the tree must be clean, got\n{changed}")
    return run("git", "log", "-1", "--format=%ct", at=ROOT).strip()


def build(place: Path) -> tuple[Path, Path, Path]:
    """Build everything twice; return the wheel, the sdist and the npm package, which are the same bytes twice."""
    first, second, unpacked = place / "first", place / "second", place / "unpacked"
    for folder in (first, second):
        folder.mkdir()
        run(sys.executable, "-m", "hatchling", "build", "-d", folder, "-t", "sdist", at=ROOT)
        run("npm", "pack", "--silent", "--offline", "--pack-destination", folder, at=CLIENT)
    run(sys.executable, "-m", "hatchling", "build", "-d", first, "-t", "wheel", at=ROOT)
    (source,) = first.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(unpacked, filter="data")
    run(sys.executable, "-m", "hatchling", "build", "-d", second, "-t", "wheel", at=next(unpacked.iterdir()))
    for path in first.iterdir():
        if path.read_bytes() != (second / path.name).read_bytes():
            raise SystemExit(f"{path.name} must be the same bytes when it is built again: {sha256(path)} and "
                             f"{sha256(second / path.name)}")  # fmt: skip
    return next(first.glob("*.whl")), source, next(first.glob("*.tgz"))


def check_unchanged(version: str, built: tuple[Path, ...]) -> None:
    """Check that the files are those of the version, and that building them has changed nothing in the tree."""
    if wrong := [path.name for path in built if f"-{version}" not in path.name]:
        raise SystemExit(f"the names must have the version {version}, got {wrong}")
    committed()


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, as 64 hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (OSError, subprocess.SubprocessError) as error:
        raise SystemExit(f"release_dry_run.py: {error}") from None

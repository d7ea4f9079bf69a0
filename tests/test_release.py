"""The dry run of a release: one version in every file, and the same bytes whenever distributions are built."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shuffledp

ROOT = Path(__file__).parent.parent
VERSIONED = (
    "src/shuffledp/__init__.py",
    "CITATION.cff",
    "CHANGELOG.md",
    "clients/javascript/package.json",
    "clients/javascript/package-lock.json",
)


@pytest.fixture
def project(tmp_path):
    """The files that name the version, and the scripts."""
    for name in VERSIONED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    return tmp_path


def dry_run(folder, *options):
    """Run the script; return its exit code, output and errors."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    finished = subprocess.run(
        [sys.executable, "scripts/release_dry_run.py", *options],
        cwd=folder, env=os.environ | {"PATH": path, "npm_config_update_notifier": "false"}, capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip
    return finished.returncode, finished.stdout, finished.stderr


def test_every_file_names_the_same_version():
    code, said, errors = dry_run(ROOT, "--consistency")
    assert (code, errors) == (0, "")
    assert said.startswith(f"version {shuffledp.__version__} (")


@pytest.mark.parametrize("name", VERSIONED)
def test_another_version_in_one_file_is_found(project, name):
    path = project / name
    path.write_text(path.read_text().replace(shuffledp.__version__, "9.9.9", 1))
    code, _, errors = dry_run(project, "--consistency")
    assert code == 1
    assert f"'{name}': '9.9.9'" in errors


def test_a_changelog_that_does_not_begin_with_privacy_is_found(project):
    path = project / "CHANGELOG.md"
    path.write_text(path.read_text().replace("### Privacy", "### Added", 1))
    assert "must be ### Privacy" in dry_run(project, "--consistency")[2]


def test_an_unknown_option_is_refused(project):
    code, _, errors = dry_run(project, "--publish")
    assert (code, errors) == (1, "options are --consistency and --no-install, got --publish\n")


@pytest.mark.slow
@pytest.mark.xdist_group("npm")
def test_the_dry_run_builds_the_same_bytes_twice(tmp_path):
    """In a copy of the tree with one commit, first with a change that is not committed; without installing."""
    for name in git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0"):
        if name and (ROOT / name).exists():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "clients/javascript/node_modules").symlink_to(ROOT / "clients/javascript/node_modules")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    git(tmp_path, *who, "commit", "--quiet", "--no-verify", "--message", "all")
    (tmp_path / "README.md").write_text("changed")
    code, _, errors = dry_run(tmp_path, "--no-install")
    assert (code, errors) == (1, "the tree must be clean, got\n M README.md\n\n")
    git(tmp_path, "checkout", "--quiet", "README.md")
    code, said, errors = dry_run(tmp_path, "--no-install")
    assert (code, errors) == (0, ""), errors
    for name in ("py3-none-any.whl", ".tar.gz", ".tgz"):
        assert name in said


def git(folder, *words):
    """Run git in a folder; return its output."""
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout

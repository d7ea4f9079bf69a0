"""Install the wheel with each extra alone in a new environment, and use what the extra is for.

    try_extras.py dist requirements/test.txt [EXTRA ...]

pip decides what is installed from the wheel's metadata; the lock file fixes the versions. Spark needs Java.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from try_wheel import new_environment, run
from use_extra import USES

PROGRAM = Path(__file__).with_name("use_extra.py")


def main(folder: str, lock: str, *extras: str) -> None:
    """Try the extras, all of them unless some are named; exit with a message if one does not work."""
    (wheel,) = Path(folder).glob("*.whl")
    for extra in extras or USES:
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="shuffledp-extra-") as place:
            work = Path(place) / "work"
            work.mkdir()
            wanted = wheel.resolve() if extra == "none" else f"{wheel.resolve()}[{extra}]"
            python = new_environment(Path(place) / "environment", wanted, lock=Path(lock))
            listed = "import importlib.metadata as m; print(*{each.metadata['Name'] for each in m.distributions()})"
            installed = sorted(run(python, "-I", "-c", listed, at=work).split(), key=str.lower)
            run(python, "-I", PROGRAM, extra, at=work)
            if extra == "none":
                others = [each for each in USES if each not in ("none", "postgres")]
                check_errors(run(python, "-I", PROGRAM, "--missing", *others, at=work))
        print(f"{extra}: {time.monotonic() - started:.0f} s with {', '.join(installed)}", flush=True)


def check_errors(said: str) -> None:
    """Check that the error of each missing extra names the command that installs it."""
    for extra, error in json.loads(said.splitlines()[-1]).items():
        if not str(error).endswith(f"pip install 'shuffledp[{extra}]'"):
            raise SystemExit(f"without {extra}: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])

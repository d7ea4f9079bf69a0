"""Run the named benchmarks, or all: `python -m benchmarks [NAME ...]`, for example `files engines`."""

import argparse
import platform

import numpy as np

from benchmarks import (
    answers,
    calibration,
    client,
    collected_files,
    composition,
    distribution,
    engines,
    files,
    fingerprints,
    hashed,
    javascript,
    kills,
    messages,
    opening,
    peers,
    ranges,
    repeats,
    reports,
    sets,
    sparse,
    survey,
)

ALL = {
    "calibration": calibration,
    "composition": composition,
    "distribution": distribution,
    "messages": messages,
    "sparse": sparse,
    "hashed": hashed,
    "files": files,
    "engines": engines,
    "sets": sets,
    "peers": peers,
    "ranges": ranges,
    "client": client,
    "javascript": javascript,
    "answers": answers,
    "opening": opening,
    "fingerprints": fingerprints,
    "reports": reports,
    "kills": kills,
    "collected-files": collected_files,
    "repeats": repeats,
    "survey": survey,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Print tables of run times and memory.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"benchmarks to run (default: all): {', '.join(ALL)}")
    chosen = parser.parse_args().names or list(ALL)
    if unknown := [name for name in chosen if name not in ALL]:
        parser.error(f"NAME must be one of {', '.join(ALL)}, got {', '.join(unknown)}")
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}; best of several runs.")
    for name in chosen:
        ALL[name].main()

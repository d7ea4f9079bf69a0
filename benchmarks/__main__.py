"""Runs all benchmarks, or those named, such as python -m benchmarks files engines."""

import platform
import sys

import numpy as np

from benchmarks import (
    calibration,
    client,
    collected_files,
    distribution,
    engines,
    files,
    javascript,
    kills,
    messages,
    opening,
    peers,
    ranges,
    reports,
    sets,
    sparse,
)

ALL = {
    "calibration": calibration,
    "law": distribution,
    "messages": messages,
    "sparse": sparse,
    "files": files,
    "engines": engines,
    "sets": sets,
    "peers": peers,
    "ranges": ranges,
    "client": client,
    "javascript": javascript,
    "opening": opening,
    "reports": reports,
    "kills": kills,
    "collected-files": collected_files,
}

if __name__ == "__main__":
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}; best of several runs.")
    for name in sys.argv[1:] or ALL:
        ALL[name].main()

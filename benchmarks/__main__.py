"""Runs all benchmarks, or those named, such as python -m benchmarks files engines."""

import platform
import sys

import numpy as np

<<<<<<< HEAD
from benchmarks import calibration, client, engines, files, law, messages, peers, ranges, sets, sparse
=======
from benchmarks import calibration, engines, files, law, messages, opening, peers, ranges, sets, sparse
>>>>>>> fd291ae (Processes that open layers start faster; the analyzer's benchmark)

ALL = {
    "calibration": calibration,
    "law": law,
    "messages": messages,
    "sparse": sparse,
    "files": files,
    "engines": engines,
    "sets": sets,
    "peers": peers,
    "ranges": ranges,
<<<<<<< HEAD
    "client": client,
=======
    "opening": opening,
>>>>>>> fd291ae (Processes that open layers start faster; the analyzer's benchmark)
}

if __name__ == "__main__":
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}; best of several runs.")
    for name in sys.argv[1:] or ALL:
        ALL[name].main()

"""Runs all benchmarks, or those named: python -m benchmarks [calibration] [law] [messages] [sparse]."""

import platform
import sys

import numpy as np

from benchmarks import calibration, law, messages, sparse

ALL = {"calibration": calibration, "law": law, "messages": messages, "sparse": sparse}

print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}; best of several runs.")
for name in sys.argv[1:] or ALL:
    ALL[name].main()

"""Runs all benchmarks, or those named: python -m benchmarks [calibration] [law] [messages]."""

import platform
import sys

import numpy as np

from benchmarks import calibration, law, messages

ALL = {"calibration": calibration, "law": law, "messages": messages}

print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}; best of several runs.")
for name in sys.argv[1:] or ALL:
    ALL[name].main()

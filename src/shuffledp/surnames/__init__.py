"""Data that ships with the package, for the demo and the examples."""

from __future__ import annotations

import gzip
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray


def surnames() -> tuple[NDArray[np.str_], NDArray[np.float64]]:
    """The 88,799 surnames of the 1990 US census table, most frequent first, and their shares (which sum to 1).

    Names with the same printed share divide equally what the cumulative column says they hold together.
    """
    packed = files(__package__).joinpath("surnames-1990.txt.gz").read_bytes()
    names: list[str] = []
    shares: list[float] = []
    before = 0.0
    for line in gzip.decompress(packed).decode("ascii").splitlines():
        _, cumulative, *group = line.split()
        names += group
        shares += [(float(cumulative) - before) / len(group)] * len(group)
        before = float(cumulative)
    return np.array(names), np.array(shares) / before

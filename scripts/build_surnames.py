"""Pack the 1990 Census surname table into the data file that ships with shuffledp.

Usage: python scripts/build_surnames.py dist.all.last src/shuffledp/surnames/surnames-1990.txt.gz

The table has a line per name: name, share in percent, cumulative share, rank. Shares have three decimals, so 69,960 of
the 88,799 names show 0.000. The cumulative column still gives the total of all names with the same printed share. The
packed file has a line per printed share: that share, the cumulative share after its last name, and the names.
"""

import gzip
import sys
from itertools import groupby
from pathlib import Path


def main(source: Path, target: Path) -> None:
    """Write the packed file."""
    rows = [line.split() for line in source.read_text(encoding="ascii").splitlines()]
    lines = []
    for share, group in groupby(rows, key=lambda row: row[1]):
        same = list(group)
        lines.append(" ".join([share, same[-1][2], *(name for name, *_ in same)]))
    # a fixed time stamp makes the build reproducible
    target.write_bytes(gzip.compress("\n".join(lines).encode("ascii"), compresslevel=9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

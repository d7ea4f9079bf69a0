"""The two heavy steps over files instead of servers: reports are mixed to batches, batches counted to a release.

    reports (Parquet) --mix with the first shuffler's key--> batches --mix, for every later one--> batches --count-->

In this process or on Apache Spark, from the same files to the same batches. Nothing here listens or sends: whoever
takes people's reports writes them to files with `write_reports`, and files are carried from one hop to the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shuffledp.lazy_import import lazy_names

if TYPE_CHECKING:
    from shuffledp.collect.batch_files.batches import MixedFiles
    from shuffledp.collect.batch_files.count import CountedFiles, count_files
    from shuffledp.collect.batch_files.mix import TooFewReportsError, mix_files
    from shuffledp.collect.batch_files.tables import write_reports

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "batches": ("MixedFiles",),
        "count": (
            "CountedFiles",
            "count_files",
        ),
        "mix": (
            "TooFewReportsError",
            "mix_files",
        ),
        "tables": ("write_reports",),
    },
)

__all__ = ["CountedFiles", "MixedFiles", "TooFewReportsError", "count_files", "mix_files", "write_reports"]

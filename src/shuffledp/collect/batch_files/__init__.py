"""The two heavy steps over files instead of servers: mix reports to batches, and count batches to a release.

    reports (Parquet) --mix with the first shuffler's key--> batches --mix, for every later one--> batches --count-->

In this process or on Apache Spark, with the same results. Nothing here uses the network: a service that receives
reports writes them to files with `write_reports`, and files are carried from one server to the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shuffledp.lazy_import import lazy_names

if TYPE_CHECKING:
    from shuffledp.collect.batch_files.batches import RefusedBatch
    from shuffledp.collect.batch_files.formats import write_reports
    from shuffledp.collect.batch_files.seen import seen_folder
    from shuffledp.collect.batch_files.steps import CountedFiles, MixedFiles, TooFewReportsError, count_files, mix_files

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "batches": ("RefusedBatch",),
        "formats": ("write_reports",),
        "seen": ("seen_folder",),
        "steps": ("CountedFiles", "MixedFiles", "TooFewReportsError", "count_files", "mix_files"),
    },
)

__all__ = [
    "CountedFiles",
    "MixedFiles",
    "RefusedBatch",
    "TooFewReportsError",
    "count_files",
    "mix_files",
    "seen_folder",
    "write_reports",
]

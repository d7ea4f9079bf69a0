"""The two heavy steps over files instead of servers: reports are mixed to batches, batches counted to a release.

    reports (Parquet) --mix with the first shuffler's key--> batches --mix, for every later one--> batches --count-->

In this process or on Apache Spark, from the same files to the same batches. Nothing here listens or sends: whoever
takes people's reports writes them to files with `write_reports`, and files are carried from one hop to the next.
"""

from shuffledp.collection.files.jobs import count_files, mix_files
from shuffledp.collection.files.mixed import MixedFiles
from shuffledp.collection.files.reports import write_reports

__all__ = ["MixedFiles", "count_files", "mix_files", "write_reports"]

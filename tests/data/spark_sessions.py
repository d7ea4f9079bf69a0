"""Spark for tests: one session for all, restarted only for another master."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

LOCAL = "local[2]"
CLUSTER = "local-cluster[2,1,1024]"
"""Two executors with one core each and this memory in MiB."""

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "4",
}


DISK = Path(tempfile.gettempdir(), f"shuffledp-spark-{os.getpid()}")
"""Where Spark with executors of its own logs events and keeps files, which tests search for what must not be there."""


def _searched():
    (DISK / "events").mkdir(parents=True, exist_ok=True)
    atexit.register(shutil.rmtree, DISK, ignore_errors=True)
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (DISK / "events").as_uri(),
        "spark.local.dir": str(DISK / "local"),
    }


def start(master):
    """Return the session at this master; stop a session elsewhere, because there can be only one."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        if running.sparkContext.master == master:
            return running
        running.stop()
    return (
        SparkSession.builder.master(master)
        .config(map=SETTINGS if master == LOCAL else {**SETTINGS, **_searched()})
        .getOrCreate()
    )

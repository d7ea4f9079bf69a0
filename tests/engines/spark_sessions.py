"""Spark for tests: one session for all of them, which is started anew only for another kind of machine."""

import os
import sys

LOCAL = "local[2]"
CLUSTER = "local-cluster[2,1,1024]"
"""Two executors of their own, with one core and so many MiB each."""

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "4",
    # tests end before what Java would compile for speed pays
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def start(master, more=None):
    """The session that runs there; one that runs elsewhere is stopped, since there can be only one.

    With `more` settings it is a new one, which whoever asks for it stops.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        if running.sparkContext.master == master and more is None:
            return running
        running.stop()
    return SparkSession.builder.master(master).config(map={**SETTINGS, **(more or {})}).getOrCreate()

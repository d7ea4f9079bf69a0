"""The session of Apache Spark: its start, its packages, and errors that do not quote the data."""

from __future__ import annotations

import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shuffledp.errors import DataError, MissingExtraError, ParameterError
from shuffledp.progress import Progress


def needs_spark() -> None:
    """Refuse to go on without the packages that Spark needs."""
    try:
        import pandas  # noqa: F401  (pyspark needs it for mapInArrow)
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError:
        raise MissingExtraError("pyspark, pandas and pyarrow", extra="spark") from None


def open_session(master: str | None, *, progress: Progress) -> tuple[Any, bool]:
    """Return the running session, or a new one at `master`, and whether it was started here."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None and master is None:
        return running, False
    if master is None or not master.startswith("sc://"):
        check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings: dict[str, Any] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",  # Spark's errors can quote the data
    }
    builder = SparkSession.builder.appName("shuffledp").config(map=settings)
    if master is not None and master.startswith("sc://"):
        builder = builder.remote(master)
    elif running is None:
        builder = builder.master(master or "local[*]")
    else:
        raise ParameterError("master must be left out: a Spark session is already running")
    progress("starting Spark", 0.0)
    try:
        session = builder.getOrCreate()
    except Exception:
        raise DataError(f"Spark did not start at {master or 'local[*]'}: check the address and Java") from None
    progress("starting Spark", 1.0)
    return session, True


@contextmanager
def clear_errors() -> Iterator[None]:
    """Replace Spark's own messages, which can quote the data."""
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, PySparkException

    try:
        with warnings.catch_warnings():
            # mapInArrow imports pandas without using it
            warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
            yield
    except AnalysisException as error:
        raise DataError(f"Spark cannot read this data: {error.getCondition()}") from None
    except (PySparkException, Py4JError) as error:
        if ours := re.search(r"shuffledp\.errors\.DataError: (.+)", str(error)):  # our own error in an executor
            raise DataError(ours[1].strip()) from None
        raise DataError(
            "Spark failed: the data is damaged or of another format, or executors lack shuffledp or memory"
        ) from None


def check_java() -> None:
    """Refuse to start Spark without Java."""
    home = os.environ.get("JAVA_HOME")
    if not (home and os.access(Path(home, "bin", "java"), os.X_OK)) and shutil.which("java") is None:
        raise DataError(
            "Spark needs Java 17 or 21, which is missing: install it, such as the package openjdk-17-jre-headless, or "
            "set JAVA_HOME"
        )

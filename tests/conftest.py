"""Hypothesis without time limits: a slow machine is not a failing test. Groups of tests that share a worker."""

import os
import signal
from functools import cache
from pathlib import Path

import pytest
import typer.main
import typer.testing
from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

# a runner would read the options of all commands anew for each one that it calls, which takes longer than most of them
typer.testing._get_command = cache(typer.main.get_command)

# a shell that starts the tests in the background has Ctrl-C ignored, and every command that they start would too
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# of the terminal that the tests are started from, which is not that of the commands they run
for _size in ("COLUMNS", "LINES"):
    os.environ.pop(_size, None)

# whoever starts Spark first, a test or a command in a process of its own, decides how Java runs
os.environ["SPARK_CONF_DIR"] = str(Path(__file__).parent / "spark")


@pytest.hookimpl(tryfirst=True)  # before -m chooses by marker
def pytest_collection_modifyitems(items):
    """Tests that run Spark share one worker (the group "spark"); the marker lets `make check` leave them out."""
    for item in items:
        if any(group.args == ("spark",) for group in item.iter_markers("xdist_group")):
            item.add_marker("spark")


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_auto_num_workers(config):
    """One more than cores: tests of servers wait most of the time."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_node_collection_finished(node, ids):
    """Workers that forget groups, as with pytest 9.2 and pytest-xdist 3.8, would start Spark several times and late."""
    lost = [name for name in ids if "/test_spark" in name and not name.endswith("@spark")]
    if node.config.getoption("dist") == "loadgroup" and lost:
        pytest.exit(f"pytest-xdist does not know groups of tests with pytest {pytest.__version__}", returncode=4)

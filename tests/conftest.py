"""Settings of all tests: no deadlines in Hypothesis, one worker for Spark, and a clean environment."""

import atexit
import gc
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

# a runner would build all commands again for each call, which takes longer than most commands
typer.testing._get_command = cache(typer.main.get_command)

# a shell that starts the tests in the background ignores Ctrl-C, and child processes would inherit that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# nohup ignores a closed terminal; a handler that does nothing does the same, and child processes do not inherit it
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# collecting ten thousand tests leaves no garbage, but the collector would look for it again and again
gc.disable()

# the size of the developer's terminal must not affect the commands under test
for _size in ("COLUMNS", "LINES"):
    os.environ.pop(_size, None)

# the first process that starts Spark, a test or a command, determines how Java runs
os.environ["SPARK_CONF_DIR"] = str(Path(__file__).parent / "spark")


@pytest.hookimpl(tryfirst=True)  # before -m chooses by marker
def pytest_collection_modifyitems(items):
    """Mark the tests of the group "spark", which share one worker, so that `make check` can skip them."""
    for item in items:
        if any(group.args == ("spark",) for group in item.iter_markers("xdist_group")):
            item.add_marker("spark")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """Turn the garbage collector on for the tests; it skips all that is there now, until the interpreter exits."""
    gc.freeze()
    gc.enable()
    atexit.register(gc.unfreeze)  # some libraries report what is left at the exit as leaks


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_auto_num_workers(config):
    """Use one more worker than cores if slow tests run, since those of servers wait most of the time."""
    waiting = "not slow" not in config.getoption("markexpr")
    return (os.cpu_count() or 1) + waiting


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_node_collection_finished(node, ids):
    """Stop if workers lost their groups (pytest 9.2 with pytest-xdist 3.8), which would start Spark several times."""
    lost = [name for name in ids if "/test_spark" in name and not name.endswith("@spark")]
    if node.config.getoption("dist") == "loadgroup" and lost:
        pytest.exit(f"pytest-xdist does not know groups of tests with pytest {pytest.__version__}", returncode=4)

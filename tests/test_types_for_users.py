"""Types for users' programs: mypy checks options, and results are not Any."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROGRAM = """
from shuffledp import BinarySum, Domain, Histogram, Release, plan, private_histogram, run, shuffle, simulate
from shuffledp.protocols import MessageProtocol

release = private_histogram(["a"] * 1000, epsilon=1, delta=1e-6, protocol="sparse", estimator="truncated")
reveal_type(release)
reveal_type(release.protocol)
reveal_type(release.privacy.delta(1.0))
reveal_type(Release.from_json(release.to_json()))

domain = Domain.of(["light", "dark", "system"])
values = domain.encode(["dark"] * 1200 + ["light"] * 700 + ["system"] * 100)
protocol = Histogram.calibrate(users=2000, bins=domain.size, epsilon=1, delta=1e-6)
reveal_type(protocol)
messages = [protocol.randomize(value) for value in values]
estimate = protocol.estimate(protocol.tally(shuffle(messages)), domain=domain)
again = run(protocol, values, domain=domain)
reveal_type(again)
reveal_type(run(BinarySum.calibrate(users=1000, epsilon=1, delta=1e-6), [0, 1]))
if isinstance(release.protocol, MessageProtocol):
    reveal_type(run(release.protocol, values, domain=domain))

private_histogram([1], epsilon=1, delta=1e-6, protocol="sprase")  # wrong
private_histogram([1], epsilon=1, delta=1e-6, protocol="response")  # wrong
private_histogram([1], epsilon=1, delta=1e-6, estimator="biased")  # wrong
private_histogram([1], epsilon=1, delta=1e-6, engine="cloud")  # wrong
private_histogram([1], epsilon=1, delta=1e-6, trust="nobody")  # wrong
simulate([1], epsilon=1, delta=1e-6, trials=1, seed=1, protocol="sprase")  # wrong
run(protocol, values, domain=["light"])  # wrong
"""
REVEALED = [
    "release.release.Release",
    "protocols.protocol.HistogramProtocol",
    "float",
    "release.release.Release",
    "protocols.shuffled.histogram.Histogram",
    "histogram.estimate.Estimate",
    "histogram.estimate.Estimate",
    "histogram.estimate.Estimate",
]


@pytest.mark.slow
def test_a_users_program_is_checked(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    # the configuration and the cache of the package, which `make lint` has filled: a second instead of twenty
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(tmp_path / "program.py")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    revealed = re.findall(r'Revealed type is "(?:shuffledp\.|builtins\.)?([^"]+)"', found.stdout)
    assert revealed == REVEALED, found.stdout
    wrong = {number for number, line in enumerate(PROGRAM.splitlines(), start=1) if line.endswith("# wrong")}
    refused = {int(number) for number in re.findall(r"program\.py:(\d+): error", found.stdout)}
    assert refused == wrong, found.stdout

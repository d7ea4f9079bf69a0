"""The collection tutorials run as written, with fewer people, and print what they show."""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.collect.chaos import free_port

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
FEWER = {
    "collect.md": {"10000": "200", "9000": "180", "k=9999": "k=199"},
    "collect-home-pages.md": {
        "--users 2000": "--users 300",
        "k=1999": "k=299",
        "--epsilon 1 ": "--epsilon 8 ",  # fewer messages, and texts of fewer people are found
        "--limit 1,": "--limit 8,",
        "--epsilon 0.565": "--epsilon 4",
    },
}
"""The numbers of the pages, and those of the tests."""

CURL = """#!{python}
import sys, time, httpx
for attempt in range(300):
    try:
        answer = httpx.get(sys.argv[-1], trust_env=False)
        if answer.status_code not in (404, 503):
            break
    except httpx.HTTPError:
        pass
    time.sleep(0.2)
print(answer.text)
"""
"""A stand-in for curl that retries until there is a result, as a reader would."""


def blocks(page, language):
    text = (TUTORIALS / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def normal(line):
    """A line without the figures, spaces and table lines that differ between runs."""
    return " ".join(re.sub(r"\d[\d,.]*(e-\d+)?", "0", line).replace("milliseconds", "millisecond").split())


def programs(folder):
    """Executables that the tutorial calls, by name."""
    for name, content in {
        "shuffledp": f'#!/bin/sh\nexec {sys.executable} -m shuffledp "$@"\n',
        "python": f'#!/bin/sh\nexec {sys.executable} "$@"\n',
        "curl": CURL.format(python=sys.executable),
    }.items():
        (folder / name).write_text(content)
        (folder / name).chmod(stat.S_IRWXU)
    return folder


@pytest.mark.slow
@pytest.mark.xdist_group("servers")
@pytest.mark.skipif(shutil.which("bash") is None, reason="the tutorial is for a shell")
@pytest.mark.parametrize("page", FEWER)
def test_the_tutorial_prints_what_it_shows(tmp_path, page):
    """With few people, on free ports; servers end with the shell."""
    (tmp_path / "bin").mkdir()
    text = "".join(blocks(page, "sh"))
    for shown, used in FEWER[page].items():
        assert shown in text
        text = text.replace(shown, used)
    for port in ("8001", "8002"):
        text = text.replace(port, str(free_port()))
    text = re.sub(r" &$", ' 2> server-$RANDOM.log &\nservers="$servers $!"', text, flags=re.MULTILINE)
    # the first person waits for both servers
    ready = "until [ $(cat server-*.log | grep -c ready) = 2 ]; do sleep 0.2; done\n"
    text = text.replace("shuffledp send", f"{ready}shuffledp send", 1)
    script = f"set -e\ntrap 'kill $servers; wait; cat server-*.log' EXIT\n{text}"
    environment = os.environ | {"PATH": f"{programs(tmp_path / 'bin')}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    printed = {normal(line) for line in (done.stdout + done.stderr).splitlines()}
    for block in blocks(page, "text"):
        for line in block.splitlines():
            assert normal(line) in printed, line
    assert not (tmp_path / "shuffler.key").exists()


def test_a_missing_line_is_detected():
    assert normal("acknowledged   9,999 ") == normal("  acknowledged 299")
    assert normal("acknowledged 299") != normal("refused 299")

"""Run modules of the JavaScript client, and programs that use them, in Node."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import shuffledp
from tests.node import node_path, run_node

CLIENT = Path(shuffledp.__file__).parents[2] / "clients" / "javascript"
"""Beside the package under test, which may be a copy with a mutant."""
SECONDS = 120
"""After which a program that runs on and on is ended."""

_CALL = """
import { text } from "node:stream/consumers";
const { path, name, given } = JSON.parse(await text(process.stdin));
const found = await (await import(path))[name](...given);
process.stdout.write(JSON.stringify(found ?? null));
"""

_AROUND = """
import { readFileSync, writeFileSync } from "node:fs";
const asked = JSON.parse(readFileSync(0, "utf8"));
const results = {};
%s
process.stdout.write(JSON.stringify(results));
"""


def environment(**more):
    """Return the environment of a child process: Node is in the PATH, and npm uses no network."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    quiet = {"npm_config_update_notifier": "false", "npm_config_fund": "false", "npm_config_audit": "false"}
    return os.environ | {"PATH": path, "npm_config_offline": "true"} | quiet | more


def program(*words, folder=CLIENT, given="", fails=False, **more):
    """Run a program; return its output, or its errors if it `fails`."""
    finished = subprocess.run(
        words, cwd=folder, env=environment(**more), input=given, capture_output=True, text=True, timeout=SECONDS,
        check=False
    )  # fmt: skip
    assert (finished.returncode != 0) == fails, finished.stdout + finished.stderr
    return finished.stdout + (finished.stderr if fails else "")


def in_node(module, name, *given):
    """Call an exported function of a module of the client; return its result."""
    asked = {"path": (CLIENT / module).as_uri(), "name": name, "given": given}
    return json.loads(program(node_path(), "--input-type=module", "-e", _CALL, given=json.dumps(asked)))


def assert_passed(checks, *, more_than):
    """Assert that the named checks of a JavaScript module ran, and that none failed."""
    assert len(checks) > more_than
    assert [each for each in checks if "error" in each] == []


@contextmanager
def node_calling(module, name, *given):
    """Start the same call in a background process, which is stopped at the end."""
    asked = {"path": (CLIENT / module).as_uri(), "name": name, "given": given}
    command = [node_path(), "--input-type=module", "-e", _CALL]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            process.stdin.write(json.dumps(asked))
            process.stdin.close()
            yield process
        finally:
            process.kill()


def run_script(text, asked):
    """Run a program with the input `asked`, which imports modules as "./src/task.js"; return its `results`."""
    whole = (_AROUND % text).replace('"./', f'"{CLIENT.as_uri()}/')
    return json.loads(run_node("--no-warnings", "--input-type=module", "-e", whole, given=json.dumps(asked).encode()))

"""Small programs against modules of the client in JavaScript, written in the tests that need them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from shuffledp.collection.pages.assets import client_folder
from tests.node import run_node

_AROUND = """
import { readFileSync, writeFileSync } from "node:fs";
const asked = JSON.parse(readFileSync(0, "utf8"));
const results = {};
%s
process.stdout.write(JSON.stringify(results));
"""


def run_script(program: str, asked: Any) -> Any:
    """The `results` of a program in which `asked` is given; it imports modules as "./src/task.js"."""
    whole = (_AROUND % program).replace('"./', f'"{client_folder().as_uri()}/')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.mjs")
        path.write_text(whole, encoding="utf-8")
        return json.loads(run_node("--no-warnings", str(path), given=json.dumps(asked).encode()))

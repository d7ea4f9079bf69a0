"""Client cost of a collection in JavaScript, measured in Node, against the Python client."""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.client import ANSWERS, costs, first_check, task
from benchmarks.timing import table
from shuffledp.collect import AnswerChoices, AnswerEdges, AnswerText, PieceAlphabet
from shuffledp.histogram.text_code import Step

_PROGRAM = Path(__file__).with_suffix(".mjs")

_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789-./:"
_TEXTS = {
    f"texts, {levels} levels": AnswerText(
        longest=2 * levels,
        levels=levels,
        pieces=PieceAlphabet(_CHARACTERS, 2),
        normalisation=[Step.TRIM, Step.LOWER],
    )
    for levels in (8, 16)
}
_SEVERAL = {
    "numbers, 120 intervals": AnswerEdges("0:120:1", ["0.5", "0.9"]),
    "numbers, 2^16 intervals": AnswerEdges(f"0:{2**16}:1", ["0.5", "0.9"]),
    "5 of 40 choices": AnswerChoices([f"choice {at}" for at in range(40)], 5),
}
_ASKED = {
    **{name: {"answers": number} for name, number in ANSWERS.items()},
    "10^6, hashed": {"answers": 10**6, "protocol": "hashed"},
    **{name: {"answers": answers} for name, answers in (_TEXTS | _SEVERAL).items()},
}


def in_node(tasks):
    """Return the measurements of Node for each task."""
    lines = "".join(f"{asked.canonical.decode()}\n" for asked in tasks)
    node = Path(sys.executable).parent / "node"
    found = subprocess.run([node, _PROGRAM], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in found.stdout.splitlines()]


def rows():
    tasks = {name: task(**asked) for name, asked in _ASKED.items()}
    for (name, asked), found in zip(tasks.items(), in_node(tasks.values()), strict=True):
        _, _, python, _ = costs(asked)
        yield (
            name,
            asked.protocol_used.name,
            f"{found['messages']:.1f}",
            f"{found['drawn']:.4f}",
            f"{found['report']:.2f}",
            f"{found['report'] / found['bare']:.2f}",
            f"{found['report'] / (1e3 * python):.1f}",
            f"{found['checked']:.0f}",
            f"{found['checked'] / (1e3 * first_check(**_ASKED[name])):.1f}",
        )


def main():
    table(
        "The JavaScript client in Node: a report for n = 10^6, one shuffler; milliseconds of one core",
        ["d", "protocol", "messages", "sampling them, ms", "report, ms", "bare HPKE in Node, ratio", "Python's, ratio",
         "guarantee check, ms", "Python's check, ratio"],
        rows(),
    )  # fmt: skip

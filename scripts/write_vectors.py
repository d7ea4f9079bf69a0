"""Write the test vectors of the wire format, for clients and servers in any language (docs/reference/wire-format.md).

Usage: python scripts/write_vectors.py vectors

The tasks in vectors/tasks, the series in vectors/series (series_vectors.py), the noise in vectors/promises.json
(promise_vectors.py) and the spendings in vectors/budgets.json (budget_vectors.py) are inputs and stay unchanged;
missing ones are generated. Everything else is computed from them and from the private keys below. These keys are
public: never use them.
"""

import hashlib
import json
import math
import struct
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from scripts.asker_vectors import wrong_askers  # noqa: E402
from scripts.budget_vectors import budgets  # noqa: E402
from scripts.promise_vectors import promises, strengths  # noqa: E402
from scripts.report_vectors import batches_vectors, corrupted_reports, key, reports_vectors  # noqa: E402
from scripts.series_vectors import generate_missing, series_vectors  # noqa: E402
from scripts.set_vectors import (  # noqa: E402
    AGES,
    DEGREES,
    FRUIT,
    GROUPS,
    MANY,
    SIZES,
    SPORTS,
    corrupted_sets,
    sets_vectors,
)
from scripts.text_vectors import (  # noqa: E402
    ADDRESSES,
    AS_TYPED,
    SITES,
    corrupted_texts,
    hashes_vectors,
    number,
    texts_vectors,
)

from shuffledp.collect.task import (  # noqa: E402
    AnswerList,
    AnswerRange,
    AnswersElsewhere,
    Place,
    Task,
    task_of,
)
from shuffledp.collect.task.answers import Answers  # noqa: E402
from shuffledp.collect.task.new_task import new_task  # noqa: E402
from shuffledp.collect.task.public_file import exact_text  # noqa: E402

THEMES = AnswerList(["dark", "light", "system"])
HARD = AnswerList(
    ["yes", "no", "a,b", '"quoted"', "back\\slash", "<b>", "é", "e\u0301", "\N{PILE OF POO}", "tab\there"]
)
COLOURS = b"red\ngreen\nblue\n"
ELSEWHERE = AnswersElsewhere("https://lists.example/colours.txt", hashlib.sha256(COLOURS).hexdigest(), 3)
LARGE = AnswerRange(0, 2**20)

TASKS: dict[str, tuple[str, int, Answers]] = {
    "sparse-one-shuffler": ("sparse", 1, THEMES),
    "sparse-two-shufflers": ("sparse", 2, THEMES),
    "sparse-three-shufflers": ("sparse", 3, THEMES),
    "sparse-best": ("sparse-best", 1, THEMES),
    "hist": ("hist", 1, HARD),
    "hist-unbiased": ("hist-unbiased", 2, AnswerRange(-3, 4)),
    "dummy": ("dummy", 1, ELSEWHERE),
    "dummy-poisson": ("dummy-poisson", 1, LARGE),
    "hashed": ("hashed", 1, THEMES),
    "hashed-two-digits": ("hashed", 2, LARGE),
    "text-alphabet": ("hashed", 1, ADDRESSES),
    "text-list": ("hashed", 2, SITES),
    "text-as-typed": ("hashed", 1, AS_TYPED),
    "ranges": ("ranges", 1, AGES),
    "ranges-one-level": ("ranges", 1, GROUPS),
    "ranges-decimals": ("ranges", 2, DEGREES),
    "ranges-sizes": ("ranges", 1, SIZES),
    "ranges-many": ("ranges", 3, MANY),
    "choices": ("hist", 1, FRUIT),
    "choices-unbiased": ("hist-unbiased", 1, FRUIT),
    "choices-dummy": ("dummy", 1, FRUIT),
    "choices-sparse": ("sparse", 2, FRUIT),
    "choices-poisson": ("dummy-poisson", 1, SPORTS),
    "asker": ("dummy-poisson", 1, THEMES),
    "language-only": ("hashed", 2, THEMES),
}
"""Protocol, number of shufflers and answers of each task."""

ASKERS = {
    "asker": {
        "asker": "Stadtwerke K\u00f6ln \N{PILE OF POO}",
        "purpose": 'To choose the "default" theme \\ and nothing else.',
        "contact": "privacy+survey@stadtwerke.example",
        "language": "zh-Hant-TW",
    },
    "language-only": {"language": "de"},
}
"""Who asks, in the tasks of version 2."""

EPSILONS = ("0.25", "0.5", "1", "2", "4")


def made(name: str) -> Task:
    """Return a task with the keys above."""
    protocol, shufflers, answers = TASKS[name]
    places = [Place(f"https://s{at}.example", key(name, at).public) for at in range(shufflers)]
    large, middle = (LARGE, ADDRESSES, MANY), (AGES, SPORTS, FRUIT)
    users = 10**6 if answers in large else 10**4 if answers in middle else 200
    return new_task(
        question="Which one do you use?",
        answers=answers,
        users=users,
        honest_users=users * 9 // 10,
        epsilon=1.0,
        delta=1e-6,
        shufflers=places,
        analyzer=Place("https://analyzer.example", key(name, shufflers).public),
        opens=datetime(2027, 1, 1, tzinfo=UTC),
        closes=datetime(2027, 2, 1, tzinfo=UTC),
        protocol=protocol,
        time_precision=3600,
        admission="anybody",
        **ASKERS.get(name, {}),
    )


def tasks_vectors(tasks: dict[str, Task]) -> Iterator[dict[str, Any]]:
    """Yield the canonical form, id, sizes and privacy of each task."""
    for name, task in tasks.items():
        protocol = task.protocol
        yield {
            "name": name,
            "file": f"tasks/{name}.json",
            "canonical": task.canonical.decode(),
            "id": task.name,
            "values": number(protocol.bins),
            "alphabet": number(task.alphabet),
            "padded": task.padded,
            "symbol_bytes": task.symbol_bytes,
            "onion_bytes": [task.onion_length(at) for at in range(len(task.shufflers) + 1)],
            "longest_report": task.longest_report,
            "private_keys": [key(name, at).private_bytes.hex() for at in range(len(task.shufflers) + 1)],
            "expected_messages": protocol.messages_per_user.expected,
            "delta_at": {epsilon: protocol.privacy.delta(float(epsilon)) for epsilon in EPSILONS},
            "delta_is_exact": protocol.privacy.exact,
        }


def answers_vectors(tasks: dict[str, Task]) -> Iterator[dict[str, Any]]:
    """Yield the bins of answers."""
    asked: dict[str, list[str | None]] = {
        "hist": [*HARD.values, "Yes", " yes", "yes ", "(other)", "(none)", "", None, "\u00e9\u0301"],
        "hist-unbiased": ["-3", "0", "3", "4", "-4", "+1", "01", "1.0", " 1", "1e0", "-0", "", None, "9" * 40],
        "dummy": ["red", "green", "blue", "Red", "red\n", "", None],
        "dummy-poisson": ["0", "1048575", "1048576", "-1", None],
        "hashed": ["dark", "system", "Dark", "", None],
        "hashed-two-digits": ["0", "1048575", "1048576", "-1", None],
    }
    for name, answers in asked.items():
        task = tasks[name].with_answers(COLOURS)
        yield {"task": name, "places": [{"answer": answer, "place": task.bin_of(answer)} for answer in answers]}


def numbers_vectors() -> dict[str, Any]:
    """Return numbers as exact text with the eight bytes of their double, and spellings that are refused."""
    fractions = [0.0, 1.0, 2.0, 0.5, 0.1, 5161 / 2**13, 2.0**53 - 1, math.ulp(0.0), 1 / 3, 17.85842020100057]
    decimals = ["1", "0.5", "1e-6", "1.5e-10", "0.30000000000000004", "50", "0.1", "1e-20"]
    refused = ["", "1/2", "2/2^1", "1/2^0", "0/2^3", "01", "-1", "+1", "1.5", "1e3", " 1", "1/2^01", "9007199254740993",
               "1/2^1080", "18014398509481985/2^3"]  # fmt: skip
    return {
        "fractions": [{"text": exact_text(number), "double": struct.pack(">d", number).hex()} for number in fractions],
        "refused_fractions": refused,
        "decimals": [{"text": text, "double": struct.pack(">d", float(text)).hex()} for text in decimals],
        "refused_decimals": ["", "1e-06", "1E-6", ".5", "5.", "01", "-1", "1e6", "inf", "nan", "1,5", "1e-6 "],
    }


def corrupted_tasks(tasks: dict[str, Task]) -> Iterator[dict[str, Any]]:
    """Yield invalid tasks and tasks with a false guarantee; `says` is a part of the error message of this package."""
    task = tasks["sparse-two-shufflers"]
    text, plain = task.canonical.decode(), json.loads(task.canonical)
    hist = json.loads(tasks["hist"].canonical)
    missing = hist["protocol"]["parameters"]["missing_probability"]
    numerator, _, power = missing.partition("/2^")
    lone = plain["protocol"]["parameters"]["lone"]
    poisson = json.loads(tasks["dummy-poisson"].canonical)
    dummies = poisson["protocol"]["parameters"]["dummies"]
    first, analyzer = plain["shufflers"][0], plain["analyzer"]

    def other(base: dict[str, Any] = plain, /, **fields: Any) -> str:
        return json.dumps({**base, **fields}, ensure_ascii=False)

    def noise(**fields: Any) -> str:
        return other(protocol={"name": "sparse", "parameters": {**plain["protocol"]["parameters"], **fields}})

    no_task = {
        "not-json": ("{", "not JSON"),
        "a-byte-order-mark": ("\ufeff" + text, "not JSON"),
        "something-after-it": (text + "x", "not JSON"),
        "a-float": (text.replace('"users":200', '"users":200.0'), "numbers in a task are whole"),
        "an-exponent": (text.replace('"users":200', '"users":2e2'), "numbers in a task are whole"),
        "a-name-twice": (text.replace('"users":200', '"users":200,"users":200'), "a name is there twice"),
        "an-unknown-field": (other(note="hello"), "is no field of"),
        "an-unknown-field-of-a-server": (other(analyzer={**analyzer, "name": "x"}), "is no field of"),
        "a-missing-field": (text.replace('"time_precision":3600,', ""), "is missing"),
        "another-version": (other(version=3), "version 3"),
        "a-number-as-text": (other(users="200"), "must be a whole number, got text"),
        "a-fraction-not-in-lowest-terms": (
            other(hist, protocol={"name": "hist", "parameters": {
                "missing_probability": f"{2 * int(numerator)}/2^{int(power) + 1}"}}), "in lowest terms"),
        "a-fraction-as-a-quotient": (noise(lone={**lone, "rate": "3/8"}), "fraction such as"),
        "a-fraction-as-a-decimal": (noise(lone={**lone, "rate": "0.375"}), "fraction such as"),
        "weights-of-another-sum": (noise(lone={**lone, "size_weights": [1]}), "add up to"),
        "dummies-of-two-at-a-time": (
            other(poisson, protocol={"name": "dummy-poisson", "parameters": {
                "dummies": {**dummies, "size_weights": [0, 2**40]}}}), "must come one at a time"),
        "dummies-of-one-or-two-at-a-time": (
            other(poisson, protocol={"name": "dummy-poisson", "parameters": {
                "dummies": {**dummies, "size_weights": [2**40 - 1, 1]}}}), "must come one at a time"),
        "a-parameter-too-many": (noise(more="1"), "and nothing else"),
        "a-protocol-of-no-task": (other(protocol={"name": "blanket", "parameters": {}}), "protocol must be one"),
        "the-same-key-twice": (other(analyzer={**analyzer, "key": first["key"]}), "the same key"),
        "a-key-in-large-letters": (other(analyzer={**analyzer, "key": "AB" * 32}), "in small letters"),
        "a-key-of-low-order": (other(analyzer={**analyzer, "key": "00" * 32}), "no public key"),
        "a-key-beyond-the-field": (other(analyzer={**analyzer, "key": "ff" * 32}), "no public key"),
        "no-shuffler": (other(shufflers=[]), "1 to 8 shufflers"),
        "an-address-with-a-password": (other(analyzer={**analyzer, "address": "https://a:b@h"}), "name or a password"),
        "an-address-that-is-none": (other(analyzer={**analyzer, "address": "nowhere"}), "must be such as"),
        "a-host-with-escapes": (other(analyzer={**analyzer, "address": "https://%41"}), "the host in the address"),
        "a-host-that-is-a-number": (other(analyzer={**analyzer, "address": "https://0x7f.1"}), "the host in the"),
        "a-host-of-other-letters": (other(analyzer={**analyzer, "address": "https://xn--a"}), "without xn--"),
        "a-host-with-text-behind-its-brackets": (
            other(analyzer={**analyzer, "address": "https://[::1];sandbox"}), "the address of the analyzer"),
        "a-host-with-text-before-its-brackets": (
            other(analyzer={**analyzer, "address": "https://a;[v1.b]"}), "the address of the analyzer"),
        "a-path-that-is-a-command": (
            other(analyzer={**analyzer, "address": "https://a/$(touch${IFS}x)"}), "the address of the analyzer"),
        "a-path-with-a-quote": (other(analyzer={**analyzer, "address": "https://a/'"}), "the address of the analyzer"),
        "a-path-with-an-equals-sign": (
            other(analyzer={**analyzer, "address": "https://a.example/b=c"}), "the address of the analyzer"),
        "an-answer-twice": (other(answers={"kind": "list", "values": ["a", "a"]}), "there twice"),
        "an-answer-of-every-task": (other(answers={"kind": "list", "values": ["(none)"]}), "answers of every task"),
        "an-empty-answer": (other(answers={"kind": "list", "values": ["a", ""]}), "must not be empty"),
        "an-unpaired-surrogate": (text.replace("Which one", "\\ud800"), "unpaired surrogate"),
        "a-range-that-is-empty": (other(answers={"kind": "range", "start": 5, "stop": 5}), "start < stop"),
        "closed-before-it-opens": (other(closes="2026-01-01T00:00:00Z"), "open before it closes"),
        "a-time-with-an-offset": (other(closes="2028-01-01T00:00:00+00:00"), "time in UTC"),
        "more-honest-people-than-people": (other(honest_users=201), "honest_users"),
        "a-delta-in-another-spelling": (other(guarantee={"epsilon": "1", "delta": "1e-06"}), "decimal number"),
        "an-epsilon-of-zero": (other(guarantee={"epsilon": "0", "delta": "1e-6"}), "epsilon must be above 0"),
        "reports-that-nobody-could-send": (other(most_messages=2**32 - 1), "nobody should have to send"),
        **wrong_askers(lambda **fields: other(version=2, **fields), kind="task", others="series, "),
    }  # fmt: skip
    broken = {
        "an-epsilon-that-is-not-reached": (other(guarantee={"epsilon": "0.9", "delta": "1e-6"}), "which is weaker"),
        "a-delta-that-is-not-reached": (other(guarantee={"epsilon": "1", "delta": "9e-7"}), "which is weaker"),
        "fewer-honest-people": (other(honest_users=150), "which is weaker"),
        "less-noise": (
            other(hist, protocol={"name": "hist", "parameters": {
                "missing_probability": f"{int(numerator) * 9 // 10 | 1}/2^{power}"}}), "which is weaker"),
        "too-few-messages-allowed": (other(most_messages=5), "is too small"),
    }  # fmt: skip
    for reason, cases in (("no-task", no_task), ("broken-promise", broken)):
        for case, (content, says) in cases.items():
            yield {"name": case, "content": content, "reason": reason, "says": says}
    for case, content, reason, says in [*corrupted_texts(tasks), *corrupted_sets(tasks)]:
        yield {"name": case, "content": content, "reason": reason, "says": says}


def lists_vectors() -> list[dict[str, Any]]:
    """Return external lists of answers for the task `dummy`; wrong ones have another SHA-256."""
    contents = {
        "the-list": COLOURS,
        "without-its-last-line-end": COLOURS[:-1],
        "with-other-line-ends": COLOURS.replace(b"\n", b"\r\n"),
        "in-another-order": b"green\nred\nblue\n",
        "empty": b"",
    }
    return [
        {"name": name, "task": "dummy", "content": content.decode(), "right": content == COLOURS}
        for name, content in contents.items()
    ]


def vectors(folder: Path) -> dict[str, Any]:
    """Return the content of all files except the tasks, by name."""
    tasks = {name: task_of((folder / "tasks" / f"{name}.json").read_bytes()) for name in TASKS}
    return {
        "tasks.json": list(tasks_vectors(tasks)),
        "corrupted-tasks.json": list(corrupted_tasks(tasks)),
        "promises.json": promises(folder),
        "budgets.json": budgets(folder),
        "strengths.json": strengths(),
        "numbers.json": numbers_vectors(),
        "answers.json": list(answers_vectors(tasks)),
        "texts.json": list(texts_vectors(tasks)),
        "sets.json": list(sets_vectors(tasks)),
        "hashes.json": list(hashes_vectors()),
        "lists.json": lists_vectors(),
        "reports.json": list(reports_vectors(tasks)),
        "corrupted-reports.json": list(corrupted_reports(tasks)),
        "batches.json": list(batches_vectors(tasks)),
        "series.json": series_vectors(folder),
    }


def main(folder: Path) -> None:
    """Generate missing tasks and write all other files."""
    (folder / "tasks").mkdir(parents=True, exist_ok=True)
    for name in TASKS:
        path = folder / "tasks" / f"{name}.json"
        if not path.exists():
            path.write_text(made(name).to_json(), encoding="utf-8")
    generate_missing(folder)
    for name, content in vectors(folder).items():
        path = folder / name
        stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        text = json.dumps(with_stored_digits(content, stored), ensure_ascii=True, indent=1)
        path.write_text(text + "\n", encoding="utf-8")


def with_stored_digits(content: Any, stored: Any) -> Any:
    """Keep the stored figures where only the last digits differ, which depend on the machine."""
    if isinstance(content, dict) and isinstance(stored, dict):
        return {name: with_stored_digits(part, stored.get(name)) for name, part in content.items()}
    if isinstance(content, list) and isinstance(stored, list):
        return [with_stored_digits(part, old) for part, old in zip_longest(content, stored)][: len(content)]
    if isinstance(content, float) and isinstance(stored, float) and math.isclose(content, stored, rel_tol=1e-12):
        return stored
    return content


if __name__ == "__main__":
    main(Path(sys.argv[1]))

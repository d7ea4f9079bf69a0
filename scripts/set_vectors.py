"""Test vectors of answers with several values: numbers in intervals, choices, and tasks with them that are refused."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from shuffledp.collect.task import AnswerChoices, AnswerEdges, Task
from shuffledp.histogram.edges import Edges
from shuffledp.histogram.inputs import filled_up

AGES = AnswerEdges("0:120:1", ["0.5", "0.9"])
GROUPS = AnswerEdges("0,18,65.5", [])
DEGREES = AnswerEdges("-1.5:2.5:0.25", ["0.05", "0.25", "0.5", "0.75", "0.95"])
SIZES = AnswerEdges(str(Edges("-1e25,-1e-25,0,1e-25,0.000001,123456789.5,12345678901234567890.0625,1e25")), ["1e-3"])
MANY = AnswerEdges("0:65535:1", ["0.5"])
FRUIT = AnswerChoices(["apple", "pear", "fig", "<b>", "e\u0301"], 3)
SPORTS = AnswerChoices([f"sport {at}" for at in range(1, 41)], 5)

NUMBERS: dict[str, list[Any]] = {
    "ranges": [
        0, 1, 17, 119, 120, 121, -1, 0.5, -0.5, 119.99, 120.01, 1e21, -1e21, 5e-324, 1.7976931348623157e308, 10**20,
        "0", "1", "120", "-0", "+17", "17.", ".5", "1e1", "1E+1", "1e-1", "-1e-999", "1e9999", "1e10000", " 17", "17 ",
        "  17  ", "\t17", "17\n", "\u00a017", "1 7", "1,7", "1_7", "0x11", "inf", "nan", "Infinity", "-", "+", ".",
        "e5", "1e", "\u0661", "\uff11", "0" * 400, "0" * 401, "9" * 400, "9" * 401, "17\u0000", "seventeen", " ",
        "", None, True, False, "\ud800",
    ],
    "ranges-one-level": ["-1", 0, 17.999, 18, "65.49999999999999999999", "65.5", 66, "x", None],
    "ranges-decimals": [
        -1.5, -1.6, "-1.50000000000000000001", "-1.25", 0.1, 0.25, "0.24999999999999999999999", 2.5, 2.4999999999999996,
        "2.5e0", "250e-2", "x", "",
    ],
    "ranges-sizes": [
        "-1e25", "-1.0000000000000000000000001e25", "-1e-25", "-1e-26", 0, "-0", "1e-26", 1e-25, "1e-25", 0.000001,
        "0.0000009999999999999999999999999", 123456789.5, "123456789.4999999999999999999999999999", "1e25",
        10**25, "9999999999999999999999999.999", "x", "",
    ],
    "ranges-many": [0, "1", 32768, 65534, "65534.5", 65535, 10**6, -1, "x", None],
}  # fmt: skip
"""Answers to tasks with numbers; null is no answer."""

CHOICES: dict[str, list[Any]] = {
    "choices": [
        "apple", ["apple"], ["pear", "apple"], ["apple", "apple"], ["fig", "<b>", "e\u0301"], ["Apple"],
        ["kiwi", "plum", "apple"], ["(other)", "(none)"], "", None, [], [""], [None], ["", "apple"],
        ["apple", "pear", "fig", "<b>"], ["apple", "pear", "fig", "kiwi"], ["\u00e9", "e\u0301"], [" apple"], "kiwi",
        [["apple"]], {}, {"apple": 1}, [{}], [[]], [["apple"], "pear"], [["apple", "pear"], "apple"],
    ],
    "choices-poisson": [["sport 1", "sport 40", "sport 2", "sport 3", "sport 4"], ["sport 41"], [], "sport 7"],
}  # fmt: skip
"""Answers to tasks with choices; null is no answer."""


def sets_vectors(tasks: dict[str, Task]) -> Iterator[dict[str, Any]]:
    """Yield the bins and the values of answers; the values are null where a random subset of the bins is reported."""
    for name, answers in NUMBERS.items():
        task = tasks[name]
        tree = task.tree
        assert tree is not None
        yield {
            "task": name,
            "values_per_person": task.values_per_person,
            "tree": {"leaves": tree.leaves, "branching": tree.branching, "level_sizes": list(tree.sizes)},
            "answers": [
                {"answer": answer, "bins": [task.bin_of(answer)], "values": np.ravel(task.values_of(answer)).tolist()}
                for answer in answers
            ],
        }
    for name, answers in CHOICES.items():
        yield {
            "task": name,
            "values_per_person": tasks[name].values_per_person,
            "answers": [_chosen(tasks[name], answer) for answer in answers],
        }


def _chosen(task: Task, answer: Any) -> dict[str, Any]:
    asked, protocol = task.answers, task.protocol
    assert isinstance(asked, AnswerChoices)
    bins = asked.bins_of(answer)
    values = None
    if len(bins) <= asked.most:
        (row,) = filled_up(
            task.values_of(answer), bins=protocol.bins, each=asked.most, padding_bins=protocol.padding_bins
        )
        values = row.tolist()
    return {"answer": answer, "bins": bins, "values": values}


def corrupted_sets(tasks: dict[str, Task]) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, content, reason and error of tasks with numbers or choices that are refused."""
    numbers, choices, padded = (json.loads(tasks[name].canonical) for name in ("ranges", "choices-poisson", "choices"))
    hashed = json.loads(tasks["hashed"].canonical)
    dummies = numbers["protocol"]["parameters"]["dummies"]

    def answers(base: dict[str, Any], /, **fields: Any) -> str:
        return json.dumps({**base, "answers": {**base["answers"], **fields}}, ensure_ascii=False)

    def protocol(base: dict[str, Any], name: str, **parameters: Any) -> str:
        return json.dumps({**base, "protocol": {"name": name, "parameters": parameters}}, ensure_ascii=False)

    def less(written: dict[str, Any]) -> dict[str, Any]:
        numerator, _, power = written["rate"].partition("/2^")
        return {**written, "rate": f"{int(numerator) * 98 // 100 | 1}/2^{power}"}

    without = {name: part for name, part in numbers["answers"].items() if name != "quantiles"}
    of_ranges, of_dummies = "kind numbers must be ranges", "kind choices must be hist, hist-unbiased, sparse, sparse"
    no_task = {
        "numbers-without-quantiles": (
            json.dumps({**numbers, "answers": without}), "the field `quantiles` of `answers` is missing"),
        "numbers-with-another-field": (answers(numbers, most=5), "is no field of `answers`"),
        "edges-that-are-a-list": (answers(numbers, edges=[0, 1]), "`answers.edges` must be text"),
        "edges-that-are-none": (answers(numbers, edges=""), "the edges of the answers cannot be used"),
        "edges-that-are-no-numbers": (answers(numbers, edges="a,b"), "the edges of the answers cannot be used"),
        "edges-that-decrease": (answers(numbers, edges="0,2,1"), "the edges of the answers cannot be used"),
        "edges-that-do-not-meet-the-end": (answers(numbers, edges="0:10:3"), "the edges of the answers cannot be used"),
        "too-many-edges": (answers(numbers, edges="0:1000000:1"), "the edges of the answers cannot be used"),
        "too-many-intervals": (answers(numbers, edges="1:100000:1"), "at most 100,000 intervals"),
        "edges-with-steps-in-a-list": (answers(numbers, edges="0,1,2,3"), "one spelling '0:3:1'"),
        "edges-with-few-steps": (answers(numbers, edges="0:2:1"), "one spelling '0,1,2'"),
        "edges-with-a-space": (answers(numbers, edges="0, 1"), "one spelling '0,1'"),
        "edges-with-a-zero-at-the-end": (answers(numbers, edges="0:120:1.0"), "one spelling '0:120:1'"),
        "edges-with-an-exponent": (answers(numbers, edges="1e1,1e2"), "one spelling '10,100'"),
        "quantiles-that-are-numbers": (answers(numbers, quantiles=[1]), "`answers.quantiles[0]` must be text"),
        "a-quantile-in-another-spelling": (answers(numbers, quantiles=[".5"]), "quantiles must be a decimal number"),
        "a-quantile-of-nobody": (answers(numbers, quantiles=["0"]), "above 0 and below 1"),
        "a-quantile-of-everybody": (answers(numbers, quantiles=["0.5", "1"]), "above 0 and below 1"),
        "quantiles-that-decrease": (answers(numbers, quantiles=["0.9", "0.5"]), "increase from each"),
        "a-quantile-twice": (answers(numbers, quantiles=["0.5", "0.50"]), "increase from each"),
        "too-many-quantiles": (
            answers(numbers, quantiles=[f"0.{at:03}" for at in range(1, 102)]), "quantiles must be at most 100"),
        "a-tree-without-branches": (protocol(numbers, "ranges", branching=1, dummies=dummies), "branching must be"),
        "a-tree-with-more-branches-than-leaves": (
            protocol(numbers, "ranges", branching=125, dummies=dummies), "branching must be"),
        "a-branching-as-text": (protocol(numbers, "ranges", branching="5", dummies=dummies), "branching must be"),
        "ranges-without-branching": (
            protocol(numbers, "ranges", dummies=dummies), "the parameters of ranges must be branching and dummies"),
        "ranges-with-another-parameter": (
            protocol(numbers, "ranges", branching=5, dummies=dummies, levels=3), "and nothing else"),
        "ranges-with-clusters": (
            protocol(numbers, "ranges", branching=5, dummies={**dummies, "size_weights": [2**39, 2**39]}),
            "one at a time"),
        "numbers-with-single-dummies": (protocol(numbers, "dummy-poisson", dummies=dummies), of_ranges),
        "numbers-that-are-hashed": (protocol(numbers, "hashed", **hashed["protocol"]["parameters"]), of_ranges),
        "listed-answers-with-ranges": (
            protocol(hashed, "ranges", branching=2, dummies=dummies), "kind list must be hist"),
        "choices-without-a-limit": (
            json.dumps({**choices, "answers": {"kind": "choices", "values": ["a", "b"]}}), "the field `most`"),
        "choices-with-another-field": (answers(choices, least=1), "is no field of `answers`"),
        "one-choice": (answers(choices, most=1), "most must be at least 2"),
        "more-choices-than-answers": (answers(choices, values=["a", "b"], most=3), "most must be at least 2"),
        "too-many-choices": (
            answers(choices, values=[f"v{at}" for at in range(65)], most=65), "most must be at least 2, at most 64"),
        "choices-as-text": (answers(choices, most="5"), "`answers.most` must be a whole number"),
        "a-choice-twice": (answers(choices, values=["a", "b", "a"]), "there twice"),
        "no-choices": (answers(choices, values=[]), "at least one possible answer"),
        "a-choice-of-every-task": (answers(choices, values=["a", "(other)"], most=2), "answers of every task"),
        "choices-with-ranges": (protocol(choices, "ranges", branching=2, dummies=dummies), of_dummies),
        "choices-that-are-hashed": (protocol(choices, "hashed", **hashed["protocol"]["parameters"]), of_dummies),
    }  # fmt: skip
    plenty = {"most_messages": 1000}  # so that only the noise decides
    nodes = {**numbers["protocol"]["parameters"], "dummies": less(dummies)}
    parameters = choices["protocol"]["parameters"]
    broken = {
        "ranges-with-less-noise": (protocol(numbers, "ranges", **nodes), "which is weaker"),
        "a-tree-with-more-levels": (
            protocol(numbers | plenty, "ranges", branching=2, dummies=dummies), "which is weaker"),
        "choices-with-less-noise": (
            protocol(choices, "dummy-poisson", dummies=less(parameters["dummies"])), "which is weaker"),
        "one-more-choice": (answers(choices | plenty, most=6), "which is weaker"),
        "one-more-padded-choice": (answers(padded | plenty, most=4), "which is weaker"),
        "too-few-messages-for-a-number": (json.dumps({**numbers, "most_messages": 3}), "is too small"),
        "too-few-messages-for-choices": (json.dumps({**padded, "most_messages": 3}), "is too small"),
    }  # fmt: skip
    for reason, cases in (("no-task", no_task), ("broken-promise", broken)):
        for case, (content, says) in cases.items():
            yield case, content, reason, says

"""Client cost and accuracy of numbers and several choices: one report for n = 10^5 and 10^6, in Python and in Node."""

from benchmarks.client import costs, task
from benchmarks.javascript import in_node
from benchmarks.timing import table
from shuffledp.collect import AnswerChoices, AnswerEdges
from shuffledp.collect.task.task import BETA

ASKED = {
    "a number, 120 intervals": AnswerEdges("1:119:1", ["0.5", "0.9"]),
    "a number, 2^16 intervals": AnswerEdges(f"1:{2**16 - 1}:1", ["0.5", "0.9"]),
    "5 of 40 choices": AnswerChoices([f"choice {at}" for at in range(40)], 5),
}
USERS = {"10^5": 10**5, "10^6": 10**6}


def rows():
    tasks = {(name, users): task(ASKED[name], users=USERS[users]) for name in ASKED for users in USERS}
    for ((name, users), asked), node in zip(tasks.items(), in_node(tasks.values()), strict=True):
        messages, size, python, _ = costs(asked)
        plan = asked.range_plan
        single = asked.released_by().error(BETA).simultaneous if plan is None else plan.single
        yield (
            name,
            users,
            asked.protocol_used.name,
            asked.values_per_person,
            f"{messages:.1f}",
            f"{size:,.0f}",
            f"{asked.longest_report:,}",
            f"{1e3 * python:.2f}",
            f"{node['report']:.2f}",
            f"{single:.0f}",
            "" if plan is None else f"{plan.below:.0f}",
        )


def main():
    table(
        "Numbers and choices, epsilon 1, delta 1e-6, one shuffler; milliseconds of one core, errors in people at 95%",
        ["answer", "n", "protocol", "values", "messages", "bytes", "most bytes", "report, ms", "in Node, ms",
         "error of a count", "error below an edge"],
        rows(),
    )  # fmt: skip

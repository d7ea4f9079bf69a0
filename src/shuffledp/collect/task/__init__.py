"""Tasks: what is asked of whom, with which noise and which keys, in a file that anybody can check."""

from shuffledp.collect.task.guarantee import Promise
from shuffledp.collect.task.schema import NONE, OTHER
from shuffledp.collect.task.task import (
    AnswerList,
    AnswerRange,
    AnswersElsewhere,
    Claim,
    Named,
    Place,
    Task,
    moment_in_text,
    read_task,
    task_of,
)

__all__ = [
    "NONE",
    "OTHER",
    "AnswerList",
    "AnswerRange",
    "AnswersElsewhere",
    "Claim",
    "Named",
    "Place",
    "Promise",
    "Task",
    "moment_in_text",
    "read_task",
    "task_of",
]

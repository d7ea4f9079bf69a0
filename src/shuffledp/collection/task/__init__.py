"""Tasks: what is asked of whom, with which noise and which keys, in a file that anybody can check."""

from shuffledp.collection.task.answers import NONE, OTHER
from shuffledp.collection.task.promise import Promise
from shuffledp.collection.task.task import (
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

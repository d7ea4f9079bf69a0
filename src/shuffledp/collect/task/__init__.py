"""Tasks: public files with a question, its answers, the noise, the guarantee and the servers' keys."""

from shuffledp.collect.task.answers import (
    AnswerChoices,
    AnswerEdges,
    AnswerList,
    AnswerRange,
    AnswersElsewhere,
    AnswerText,
)
from shuffledp.collect.task.guarantee import Claim, Named, Promise
from shuffledp.collect.task.series import Series, SeriesPromise, read_series, read_task_or_series, series_of, tasks_of
from shuffledp.collect.task.servers import Place, Servers
from shuffledp.collect.task.task import Phase, Task, read_task, task_of

__all__ = [
    "AnswerChoices",
    "AnswerEdges",
    "AnswerList",
    "AnswerRange",
    "AnswerText",
    "AnswersElsewhere",
    "Claim",
    "Named",
    "Phase",
    "Place",
    "Promise",
    "Series",
    "SeriesPromise",
    "Servers",
    "Task",
    "read_series",
    "read_task",
    "read_task_or_series",
    "series_of",
    "task_of",
    "tasks_of",
]

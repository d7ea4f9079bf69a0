"""Tasks: public files with a question, its answers, the noise, the guarantee and the servers' keys."""

from shuffledp.collect.task.guarantee import Promise
from shuffledp.collect.task.schema import NONE, OTHER
from shuffledp.collect.task.series import Series, SeriesPromise, Servers, read_asked, read_series, series_of
from shuffledp.collect.task.task import (
    AnswerChoices,
    AnswerEdges,
    AnswerList,
    AnswerRange,
    AnswersElsewhere,
    AnswerText,
    Claim,
    Named,
    Phase,
    Place,
    RoundOf,
    Task,
    moment_in_text,
    read_task,
    task_of,
)

__all__ = [
    "NONE",
    "OTHER",
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
    "RoundOf",
    "Series",
    "SeriesPromise",
    "Servers",
    "Task",
    "moment_in_text",
    "read_asked",
    "read_series",
    "read_task",
    "series_of",
    "task_of",
]

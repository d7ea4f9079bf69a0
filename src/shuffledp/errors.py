"""Every exception of shuffledp; no message contains a person's value.

ShuffledpError
|-- ParameterError (ValueError)
|   |-- TooFewUsersError
|   `-- BudgetError
|       `-- AnswerBudgetError
|-- DataError (ValueError)
|   |-- LabelError (KeyError)
|   |-- TaskError
|   |-- BrokenPromiseError
|   `-- RefusedError
|-- UnreachableError
`-- MissingExtraError (ImportError)
"""

from __future__ import annotations


class ShuffledpError(Exception):
    """Base class of the errors of shuffledp."""


class ParameterError(ShuffledpError, ValueError):
    """A parameter is out of range; the message says what would work."""


class TooFewUsersError(ParameterError):
    """The requested guarantee needs more people than there are: at least `minimum_users`."""

    def __init__(self, message: str, *, minimum_users: int) -> None:
        super().__init__(message)
        self.minimum_users = minimum_users


class BudgetError(ParameterError):
    """A release would bring all releases of a ledger together over its limit; epsilon `fits` would not."""

    def __init__(self, message: str, *, fits: float | None) -> None:
        super().__init__(message)
        self.fits = fits


class AnswerBudgetError(BudgetError):
    """An answer would bring all answers of a person together over their own limit; nothing was sent.

    `before` and `after` are the epsilons without and with this answer, at the delta of the limit.
    """

    reason = "over-budget"

    def __init__(self, message: str, *, fits: float | None, before: float, after: float) -> None:
        super().__init__(message, fits=fits)
        self.before = before
        self.after = after


class DataError(ShuffledpError, ValueError):
    """Values, messages or counts do not fit the protocol."""


class LabelError(DataError, KeyError):
    """A label that a histogram cannot have; the message names the nearest ones."""

    __str__ = Exception.__str__  # a KeyError would print its message in quotes


class ContinuousValuesWarning(UserWarning):
    """A column of floats or timestamps is counted value by value, although its values may hardly ever repeat."""


class TaskError(DataError):
    """A file is not a task, or a task contradicts itself."""


class BrokenPromiseError(DataError):
    """The parameters of a task give less privacy than it claims, or than the client allows."""


class RefusedError(DataError):
    """A server refused a report and will again; `reason` is one of the codes in collect/reasons.py."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class UnreachableError(ShuffledpError):
    """A server did not answer, or asked to retry later: nothing is lost, retries send the same bytes.

    `reason` is one of the codes in collect/reasons.py, if the server gave one.
    """

    def __init__(self, message: str, *, reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason


class MissingExtraError(ShuffledpError, ImportError):
    """An optional library is needed and is not installed."""

    def __init__(self, library: str, *, extra: str) -> None:
        super().__init__(f"this needs {library}: install it with  pip install 'shuffledp[{extra}]'")

"""Reasons of refusals, shared by servers, clients, counters and documents."""

from __future__ import annotations

from enum import StrEnum
from http import HTTPStatus
from typing import NamedTuple

from shuffledp.errors import DataError


class Again(StrEnum):
    """Whether the same bytes may be accepted later; a client keeps its report unless this is NO."""

    YES = "yes"
    ONCE_PUT_RIGHT = "once put right"
    NO = "no"


class Reason(StrEnum):
    """The reason why a report, a batch, a message or a request was refused."""

    UNKNOWN_TASK = "unknown-task"
    NOT_YET_OPEN = "not-yet-open"
    CLOSED = "closed"
    WRONG_TIME = "wrong-time"
    CANNOT_BE_OPENED = "cannot-be-opened"
    MALFORMED = "malformed"
    TOO_MANY_MESSAGES = "too-many-messages"
    OTHER_BYTES = "other-bytes"
    NOT_ADMITTED = "not-admitted"
    TOO_LARGE = "too-large"
    TOO_MANY_REQUESTS = "too-many-requests"
    UNAVAILABLE = "unavailable"
    NO_TOKEN = "no-token"
    UNKNOWN_BATCH = "unknown-batch"
    NO_RELEASE = "no-release"
    CANNOT_BE_SERVED = "cannot-be-served"
    NOT_FINISHED = "not-finished"
    NOT_A_MESSAGE = "not-a-message"
    REPEATED = "repeated"
    REPLAYED = "replayed"
    TOO_FEW_MESSAGES = "too-few-messages"

    @property
    def status(self) -> HTTPStatus:
        """The HTTP status of the response."""
        return _MEANINGS[self].status

    @property
    def meaning(self) -> str:
        """The meaning, in one sentence for the sender."""
        return _MEANINGS[self].text

    @property
    def try_again(self) -> bool:
        """Whether the same bytes may be accepted later without any change."""
        return self.again is Again.YES

    @property
    def again(self) -> Again:
        """Whether, and when, the same bytes may be accepted."""
        return _MEANINGS[self].again


class _Meaning(NamedTuple):
    status: HTTPStatus
    text: str
    again: Again = Again.NO


_MEANINGS = {
    Reason.UNKNOWN_TASK: _Meaning(HTTPStatus.NOT_FOUND, "This server does not serve that task.", Again.ONCE_PUT_RIGHT),
    Reason.NOT_YET_OPEN: _Meaning(HTTPStatus.FORBIDDEN, "The task is not open yet.", Again.YES),
    Reason.CLOSED: _Meaning(HTTPStatus.GONE, "The task is closed."),
    Reason.WRONG_TIME: _Meaning(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The report's time is outside the task's opening hours, or in the future.",
        Again.YES,
    ),
    Reason.CANNOT_BE_OPENED: _Meaning(
        HTTPStatus.BAD_REQUEST, "It is not sealed to this server's key for this task, or was changed in transit."
    ),
    Reason.MALFORMED: _Meaning(HTTPStatus.BAD_REQUEST, "The content does not have the format that the task requires."),
    Reason.TOO_MANY_MESSAGES: _Meaning(
        HTTPStatus.UNPROCESSABLE_ENTITY, "The report holds more messages than the task allows."
    ),
    Reason.OTHER_BYTES: _Meaning(HTTPStatus.CONFLICT, "Another report with the same id was accepted before."),
    Reason.NOT_ADMITTED: _Meaning(
        HTTPStatus.FORBIDDEN,
        "The task accepts reports only with its secret or an unspent token.",
        Again.ONCE_PUT_RIGHT,
    ),
    Reason.TOO_LARGE: _Meaning(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "It is longer than this server accepts."),
    Reason.TOO_MANY_REQUESTS: _Meaning(
        HTTPStatus.TOO_MANY_REQUESTS, "More reports arrive than this server accepts: try again later.", Again.YES
    ),
    Reason.UNAVAILABLE: _Meaning(
        HTTPStatus.SERVICE_UNAVAILABLE, "The server cannot do this now: try again later.", Again.YES
    ),
    Reason.NO_TOKEN: _Meaning(HTTPStatus.UNAUTHORIZED, "This needs the token of the next server, or of an operator."),
    Reason.UNKNOWN_BATCH: _Meaning(HTTPStatus.NOT_FOUND, "There is no such batch here, or no longer."),
    Reason.NO_RELEASE: _Meaning(HTTPStatus.NOT_FOUND, "There is no such release yet.", Again.YES),
    Reason.CANNOT_BE_SERVED: _Meaning(HTTPStatus.UNPROCESSABLE_ENTITY, "This server cannot serve that file."),
    Reason.NOT_FINISHED: _Meaning(HTTPStatus.CONFLICT, "The task is not finished, so it cannot be removed."),
    Reason.NOT_A_MESSAGE: _Meaning(HTTPStatus.UNPROCESSABLE_ENTITY, "The number is no message of the protocol."),
    Reason.REPEATED: _Meaning(HTTPStatus.CONFLICT, "The same ciphertext was in the batch before."),
    Reason.REPLAYED: _Meaning(HTTPStatus.CONFLICT, "The same ciphertext was in an earlier batch of the task."),
    Reason.TOO_FEW_MESSAGES: _Meaning(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The batch has fewer messages than its number of reports requires, so its noise is incomplete.",
    ),
}


class Refused(DataError):  # noqa: N818 - it is an answer before it is an error
    """A request was refused, for a reason that reveals nothing about its sender.

    `server_time` is the time of this server in seconds since 1970, for a sender whose clock is wrong.
    """

    def __init__(self, reason: Reason, detail: str = "", *, server_time: int | None = None) -> None:
        super().__init__(f"{reason}: {detail or reason.meaning}")
        self.reason = reason
        self.detail = detail
        self.server_time = server_time

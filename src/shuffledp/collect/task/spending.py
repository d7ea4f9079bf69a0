"""The privacy that one answer spends, as a record in a person's journal (docs/reference/wire-format.md, "The journal").

The privacy curve and the cost of the limit on messages follow from it exactly, long after the task file is gone.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import cached_property

import msgspec

from shuffledp.accounting.curve import Curve
from shuffledp.collect.task.answers import AnswerText
from shuffledp.collect.task.guarantee import Claim, Named, People, read_protocol
from shuffledp.collect.task.task import SeriesRound, Task
from shuffledp.errors import DataError, ShuffledpError
from shuffledp.protocols.message_limit import LimitCost
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram


class Spending(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """What the privacy of one answer follows from, with the question and the day (UTC) to recognize it.

    `values` is the number of bins of the protocol, including padding bins; for texts it is the number of symbols of
    their code. One person holds `values_per_person` of them, for texts one on each level.
    """

    question: str
    day: str
    protocol: Named
    guarantee: Claim
    users: int
    honest_users: int
    values: int
    values_per_person: int
    most_messages: int
    series: SeriesRound | None = None

    @classmethod
    def of(cls, task: Task, *, day: date | None = None) -> Spending:
        """Return the record of an answer to this task, given today by default."""
        texts = task.answers.code if isinstance(task.answers, AnswerText) else None
        return cls(
            question=task.question,
            day=(day or datetime.now(UTC).date()).isoformat(),
            protocol=task.protocol_used,
            guarantee=task.claim,
            users=task.users,
            honest_users=task.honest_users,
            values=task.protocol.bins if texts is None else texts.symbols,
            values_per_person=task.values_per_person,
            most_messages=task.most_messages,
            series=task.series,
        )

    @cached_property
    def _protocol(self) -> ShuffledHistogram:
        """A protocol with the same privacy curve and the same numbers of messages."""
        try:
            people = People(
                self.users, self.honest_users, self.values, self.guarantee.guarantee, self.values_per_person
            )
            return read_protocol(self.protocol.name, self.protocol.parameters, people)
        except ShuffledpError as error:
            raise DataError(f"its privacy cannot be computed: {error}") from None

    @property
    def curve(self) -> Curve:
        """The privacy curve of the answer, without the cost of sampling again."""
        protocol = self._protocol
        try:
            return protocol.privacy
        except ShuffledpError as error:
            raise DataError(f"its privacy cannot be computed: {error}") from None

    @cached_property
    def limit_cost(self) -> LimitCost:
        """The cost in delta of the limit on messages, alone and in compositions."""
        return LimitCost.of(self._protocol, self.most_messages)

    def check(self) -> None:
        """Refuse a record whose privacy cannot be computed."""
        try:
            date.fromisoformat(self.day)
        except ValueError:
            raise DataError("its day is no date") from None
        if self.most_messages < 1 or self.values_per_person < 1 or self.values < 1:
            raise DataError("its numbers must be at least 1")
        if self.series is not None:
            self.series.check()
        if not self.limit_cost.kept > 0:
            raise DataError("its most_messages are too few")
        _ = self.curve

"""The rounds of a series at a server: one thread for all of them, which follows the clock.

A server knows all rounds from its start, so it opens each by the clock, without a restart. Work on a round begins when
the round opens; its objects are made then. After a round has closed, its last batches may still be on their way: it is
looked at less and less often, at first as often as the open one, and never less than every ten minutes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from shuffledp.collect.server.background import StoppedError, Work
from shuffledp.collect.server.events import Event
from shuffledp.collect.server.observability import log_error
from shuffledp.collect.server.task_health import LONGEST_BACK_OFF
from shuffledp.collect.task import Phase, Task

_SHARE = 0.05
"""The pause between looks at a closed round, as a share of the time since it closed."""


class SeriesWork:
    """The work on the rounds of one series, each begun when it opens.

    `begin` makes the work on a round; `clock` gives seconds since 1970 and `every` the pause between looks at the open
    round. An error in one round delays only that round; if its work could not begin, the next step begins it.
    """

    def __init__(
        self, tasks: Sequence[Task], begin: Callable[[Task], Work], *, every: float, clock: Callable[[], float]
    ) -> None:
        self._begin, self._every, self._clock = begin, every, clock
        self._waiting = sorted(tasks, key=lambda task: task.opens, reverse=True)
        self._opened: list[Task] = []
        self._begun: list[_Round] = []

    def step(self, stopping: threading.Event) -> bool:
        """Take a step of every round that is due; return whether there was anything to do."""
        now = self._clock()
        while self._waiting and self._waiting[-1].phase(now) is not Phase.BEFORE:
            self._opened.append(self._waiting.pop())
        self._opened = [task for task in self._opened if not self._begins(task)]
        worked = False
        for each in self._begun:
            if stopping.is_set():
                raise StoppedError
            if each.due <= now:
                worked = self._step(each, now, stopping) or worked
        return worked

    def _begins(self, task: Task) -> bool:
        """Begin the work on a round; return whether that succeeded."""
        try:
            self._begun.append(_Round(task, self._begin(task)))
        except Exception as error:  # such as a store that does not answer now
            log_error(Event.BACKGROUND_FAILED, error, task=task.id)
            return False
        return True

    def _step(self, each: _Round, now: float, stopping: threading.Event) -> bool:
        closed_for = max(0.0, now - each.task.closes.timestamp())
        pause = min(LONGEST_BACK_OFF, max(self._every, _SHARE * closed_for))
        try:
            worked = each.work.step(stopping)
        except StoppedError:
            raise
        except Exception as error:  # of this round only: the others go on
            log_error(Event.BACKGROUND_FAILED, error, task=each.task.id)
            worked = False
        each.due = 0.0 if worked else now + (pause if closed_for else 0.0)
        return worked


class _Round:
    def __init__(self, task: Task, work: Work) -> None:
        self.task, self.work, self.due = task, work, 0.0

"""What was refused, counted in memory and written down now and then: refusing must not cost a commit."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace

from shuffledp.collection.reasons import Reason
from shuffledp.collection.stores import ReportStore, Standing


class Refusals:
    """Counters by task and reason; those of requests for no task at all are only of this process."""

    def __init__(self, store: ReportStore) -> None:
        self._store = store
        self._counts: dict[bytes, Counter[str]] = {}
        self._counting = threading.Lock()
        self._writing = threading.Lock()
        self.of_no_task = 0

    def count(self, task_id: bytes | None, reason: Reason) -> None:
        """Counts one."""
        with self._counting:
            if task_id is None:
                self.of_no_task += 1
            else:
                self._counts.setdefault(task_id, Counter())[reason.value] += 1

    def standing(self, task_id: bytes) -> Standing:
        """The store's counters of a task, with what this process has not written yet."""
        with self._writing:  # so that nothing is counted twice or not at all
            standing = self._store.standing(task_id)
            with self._counting:
                refused = Counter(standing.refused) + self._counts.get(task_id, Counter())
        return replace(standing, refused=dict(refused))

    def step(self, stopping: threading.Event) -> bool:
        """As work in the background."""
        self.write()
        return False

    def write(self) -> None:
        """Hands all counts to the store; those that it does not take are tried again."""
        with self._writing:
            with self._counting:
                counts, self._counts = self._counts, {}
            while counts:
                task_id, reasons = counts.popitem()
                try:
                    self._store.count_refusals(task_id, reasons)
                except BaseException:
                    self._take_back(counts | {task_id: reasons})
                    raise

    def _take_back(self, counts: dict[bytes, Counter[str]]) -> None:
        with self._counting:
            for task_id, reasons in counts.items():
                self._counts.setdefault(task_id, Counter()).update(reasons)

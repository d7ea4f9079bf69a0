"""Reports with their known contents, for tests of files."""

import secrets
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

import pyarrow.parquet

from shuffledp.collect.batch_files import mix_files, write_reports
from shuffledp.collect.client.making import messages_of
from shuffledp.collect.crypto.keys import info, unseal
from shuffledp.collect.task.report import seal_report
from tests.collect.tasks import THEMES, small_task

NOW = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
HOUR = int(NOW.timestamp()) // 3600 * 3600


@dataclass(frozen=True)
class Reports:
    """The sealed reports of some people, their ids, and their messages."""

    sealed: tuple[bytes, ...]
    ids: tuple[bytes, ...]
    messages: tuple[tuple[int, ...], ...]

    def tally(self, people=None):
        """The tally of the messages of all or some of the people."""
        chosen = range(len(self.sealed)) if people is None else people
        return Counter(message for person in chosen for message in self.messages[person])


@cache
def reports(people, *, shufflers=1, time=HOUR, different=0, protocol="dummy-poisson"):
    """Reports for the task of `small`; cached per test run unless `different` changes."""
    kept = small(shufflers, protocol=protocol)
    messages = [tuple(messages_of(kept.task, THEMES[person % 3])) for person in range(people)]
    ids = [secrets.token_bytes(16) for _ in range(people)]
    sealed = [
        seal_report(kept.task, symbols, report_id=name, time=time) for symbols, name in zip(messages, ids, strict=True)
    ]
    return Reports(tuple(sealed), tuple(ids), tuple(messages))


def small(shufflers=1, users=40, protocol="dummy-poisson"):
    """A task with small batches and a weak guarantee, so that people send few messages; `texts` is one for texts."""
    more = {"texts": True} if protocol == "texts" else {"protocol": protocol}
    return small_task(users=users, shufflers=shufflers, epsilon=4.0, delta=1e-3, **more)


def mixed_first(folder, sealed, *, shufflers=1, protocol="dummy-poisson", name="b", seen="seen"):
    """Mix sealed reports as the first shuffler, from a file in the folder to the folder `name` of batches in it."""
    kept, file = small(shufflers, protocol=protocol), folder / f"{name}.reports.parquet"
    write_reports(file, sealed)
    return mix_files(
        [file], task=kept.task, key=kept.keys[0], seen=folder / seen, out=folder / name, now=NOW, processes=1
    )


def onions_in(*paths):
    """The onions of the parts of a batch, in their order."""
    return [onion for path in paths for onion in pyarrow.parquet.read_table(path).column("onion").to_pylist()]


def messages_in(*paths, shufflers=1):
    """The messages of a batch that is for the analyzer, opened one by one."""
    kept = small(shufflers)
    context, private = info(kept.task.id, shufflers), kept.keys[shufflers].private
    return Counter(int.from_bytes(unseal(onion, private, context)) for onion in onions_in(*paths))

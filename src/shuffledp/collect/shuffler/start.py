"""From the options of a command to a shuffler: everything is checked before the first request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette

from shuffledp.collect.crypto.keys import KeyPair, read_key, read_word
from shuffledp.collect.server.auth import Accepted, hash_of, read_hash
from shuffledp.collect.server.pull import Upstream
from shuffledp.collect.server.settings import (
    check_guarantee,
    check_one_upstream,
    read_tasks,
    upstream_at,
    warn_of_shared_keys,
)
from shuffledp.collect.shuffler.app import make_app
from shuffledp.collect.shuffler.settings import (
    Admission,
    Anybody,
    OneTimeTokens,
    Served,
    Settings,
    SharedSecret,
    check_next_hops,
)
from shuffledp.collect.store import ReportStore, open_report_store
from shuffledp.collect.task import Task
from shuffledp.errors import DataError, ParameterError


@dataclass(frozen=True, kw_only=True)
class ShufflerOptions:
    """What the command was given. Processes of a server get these and read the files again: no key is handed over."""

    tasks: Sequence[Path]
    keys: Sequence[Path]
    store: str
    next_hashes: Sequence[str] = ()
    upstream: str | None = None
    token: Path | None = None
    admission_secret: Path | None = None
    admission_hashes: Path | None = None
    workers: int = 1
    most_per_second: float | None = None
    page: bool = False

    def check(self) -> None:
        """Refuses what cannot work: tasks, keys, tokens, the store; also a task that does not keep its promise."""
        if not self.tasks or not self.keys:
            raise ParameterError("a shuffler needs at least one --task and one --key")
        if not self.next_hashes:
            raise ParameterError(
                "--next is missing: without the hash of the next hop's token nobody could fetch a batch; make a token "
                "with  shuffledp keys token"
            )
        if self.most_per_second is not None and not self.most_per_second > 0:
            raise ParameterError(f"--most-per-second must be above 0, got {self.most_per_second:g}")
        settings = self.settings(True)
        warn_of_shared_keys(each.key for each in settings.served)
        try:
            for served in settings.served:
                check_guarantee(served.task)
                settings.store.prepare(served.task)
                self._add_admissions(served, settings.store)
        finally:
            settings.store.close()

    def app(self, background: bool) -> Starlette:
        """The application of one process."""
        return make_app(self.settings(background))

    def settings(self, background: bool) -> Settings:
        """All files read and checked; the first process does what is to be done once."""
        tasks = read_tasks(self.tasks)
        keys = [read_key(path) for path in self.keys]
        served = [self._served(task, keys) for task in tasks]
        self._check_needed(served)
        return Settings(
            served=served,
            store=open_report_store(self.store),
            next_hops=Accepted.of(self.next_hashes, name="--next"),
            page=self.page,
            most_per_second=self.most_per_second and self.most_per_second / self.workers,
            background=background,
            owns_store=True,
        )

    def _served(self, task: Task, keys: Sequence[KeyPair]) -> Served:
        position, key = _position(task, keys)
        if position == 0:
            return Served(task=task, position=0, key=key, admission=self._admission(task))
        return Served(task=task, position=position, key=key, upstream=self._upstream(task, position))

    def _admission(self, task: Task) -> Admission:
        if task.admission == "anybody":
            return Anybody()
        if task.admission == "tokens":
            return OneTimeTokens()
        if self.admission_secret is None:
            raise ParameterError("the task takes reports with a secret only: give the file with --admission-secret")
        return SharedSecret(Accepted((hash_of(read_word(self.admission_secret)),)))

    def _upstream(self, task: Task, position: int) -> Upstream:
        if self.token is None:
            raise ParameterError(
                f"the key is of shuffler {position + 1} of the task, which pulls from the one before it: give the "
                "token that it knows with --token"
            )
        return upstream_at(self.upstream or task.shufflers[position - 1].address, self.token)

    def _check_needed(self, served: Sequence[Served]) -> None:
        """Refuses options that would be ignored, since whoever gave them counts on them."""
        kinds = {each.task.admission for each in served if not each.position}
        if self.admission_secret is not None and "secret" not in kinds:
            raise ParameterError("--admission-secret is given, but no task of this shuffler asks for a secret")
        if self.admission_hashes is not None and "tokens" not in kinds:
            raise ParameterError("--admission-hashes is given, but no task of this shuffler asks for one-time tokens")
        if (self.upstream is not None or self.token is not None) and not any(each.position for each in served):
            raise ParameterError("--upstream and --token are for later shufflers: this one is the first of its tasks")
        if self.page and all(each.position for each in served):
            raise ParameterError("--page is for the first shuffler, to which people send: this one takes no reports")
        if self.workers > 1 and any(each.position for each in served):
            raise ParameterError(
                "--workers are for the first shuffler, which takes reports: a later one has nothing to share"
            )
        check_next_hops(served)
        check_one_upstream(
            [self.upstream or each.task.shufflers[each.position - 1].address for each in served if each.position]
        )

    def _add_admissions(self, served: Served, store: ReportStore) -> None:
        if self.admission_hashes is not None and not served.position and served.task.admission == "tokens":
            store.add_admissions(served.task.id, _hashes(self.admission_hashes))


def _position(task: Task, keys: Sequence[KeyPair]) -> tuple[int, KeyPair]:
    """Which of the task's shufflers has one of these keys."""
    for key in keys:
        if key.public == task.analyzer.key:
            raise ParameterError(
                f"a key is that of the analyzer of the task {task.name[:16]}: whoever mixes and also counts could see "
                "who sent what; give the key of a shuffler"
            )
    held = {key.public: key for key in keys}
    found = [(position, held[place.key]) for position, place in enumerate(task.shufflers) if place.key in held]
    if len(found) > 1:
        raise ParameterError(
            f"keys of two shufflers of the task {task.name[:16]} are given: whoever holds both could undo the mixing"
        )
    if found:
        return found[0]
    raise ParameterError(
        f"no --key belongs to a shuffler of the task {task.name[:16]}: it names the public keys "
        f"{', '.join(place.key[:16] for place in task.shufflers)} (first digits)"
    )


def _hashes(path: Path) -> list[bytes]:
    try:
        lines = path.read_text().split()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise DataError(f"--admission-hashes: {path} cannot be read: {reason}") from None
    return [read_hash(line, name=f"each line of {path}") for line in lines]

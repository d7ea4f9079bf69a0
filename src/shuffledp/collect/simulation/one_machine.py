"""A whole collection on one machine, to see it work: shufflers, an analyzer and simulated people.

Keys, token, task and stores are made anew in one folder. The servers are processes of their own, as they would be on
machines of their own; the people are simulated, and their answers are public.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import httpx

from shuffledp.collect.crypto.keys import write_secret
from shuffledp.collect.simulation.makers import interrupts_held
from shuffledp.collect.simulation.people import Coming, check_pace, usual_pace
from shuffledp.collect.simulation.processes import Processes, free_ports
from shuffledp.collect.simulation.setup import OPERATOR, Question, SettingUp
from shuffledp.collect.task.task import MOST_SHUFFLERS
from shuffledp.errors import DataError, ParameterError
from shuffledp.explain.task import warnings_of
from shuffledp.progress import Progress, quiet
from shuffledp.release.release import Release
from shuffledp.validation import whole

MOST_PEOPLE = 1_000_000
"""Whose reports one machine takes in an hour or two, and keeps on its disk meanwhile."""

_PATIENCE = 60.0
"""Seconds that a server has to start, on a busy machine too."""

_SECONDS_EACH = 0.05
"""For a person's report, or for opening their messages: ten times what it takes."""

_LOOKS_EVERY = 0.2

_MOMENT = 1.0
"""Seconds after which whoever waits for the end is told that it goes on."""


class _Crowd(NamedTuple):
    people: int
    acknowledged: int
    refused: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of it: people who reported and how, the release, and the seconds from the first report to it.

    The release counts `people_in_release` people in `batches` batches; `waiting` people wait for one more.
    """

    people: int
    acknowledged: int
    refused: Mapping[str, int]
    batches: int
    release: Release
    seconds: float

    @property
    def people_in_release(self) -> int:
        """Whom the release counts."""
        return self.release.estimate.people

    @property
    def waiting(self) -> int:
        """Whose reports were taken and are in no batch yet."""
        return max(0, self.acknowledged - self.people_in_release)


class OneMachine:
    """Servers that run until the end of the `with`, and leave nothing behind but what is in a folder that was given.

    `people` are simulated; without any, only visitors answer. `users` reports make a batch; all people are in one
    unless it is given. `pace` is how many more people come per second after the release. `port` is the analyzer's.
    `takes_long` is called when ending takes longer than a moment.
    """

    def __init__(
        self,
        *,
        people: int = 2_000,
        users: int | None = None,
        question: Question | None = None,
        pace: float | None = None,
        shufflers: int = 1,
        port: int | None = None,
        folder: Path | None = None,
        takes_long: Callable[[], None] = lambda: None,
    ) -> None:
        self.people = whole("people", people, minimum=0)
        if not people and users is None:
            raise ParameterError("without simulated people (--people 0) say with --users how many make a batch")
        self.users = self.people if users is None else whole("users", users)
        if self.people > MOST_PEOPLE:
            raise ParameterError(f"people must be at most {MOST_PEOPLE:,} on one machine, got {self.people:,}")
        if self.people and self.users > self.people:
            raise ParameterError(
                f"{self.users} users make a batch, and there are only {self.people} people: take fewer users"
            )
        if not 1 <= shufflers <= MOST_SHUFFLERS:
            raise ParameterError(f"shufflers must be from 1 to {MOST_SHUFFLERS}, got {shufflers}")
        ports = free_ports([0] * shufflers + [port or 0])
        self.question = question or Question()
        self.pace = check_pace(pace if pace is not None else usual_pace(self.users) if people else 0.0)
        self._setting_up = SettingUp(self.question, users=self.users, ports=ports)
        self.task = self._setting_up.task
        self._given, self._takes_long = folder, takes_long
        self._coming: Coming | None = None

    def __enter__(self) -> Self:
        with ExitStack() as failing:
            with interrupts_held():  # a folder that nobody knows of would stay; an interrupt comes at the end of this
                self.folder = _new_folder(self._given)
                self._processes = Processes(self.folder)
                self._client = httpx.Client(timeout=30.0, trust_env=False)
                failing.callback(self.close)
            self._setting_up.write(self.folder)
            for command in self._setting_up.commands(self.folder):
                self._processes.start(command.name, command.arguments)
            failing.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def task_file(self) -> Path:
        """With which anybody on this machine can answer while the servers run."""
        return self.folder / self._setting_up.task_file

    @property
    def an_answer(self) -> str:
        """One of those that the task lists, for an example."""
        return self.question.answers[0]

    @property
    def page(self) -> str:
        """Where anybody on this machine is asked in a browser."""
        return f"{self.task.shufflers[0].address}/ask/{self.task.name}"

    @property
    def results(self) -> str:
        """Where results are to be seen in a browser."""
        return f"{self.task.analyzer.address}/tasks/{self.task.name}"

    @property
    def operator(self) -> str:
        """Where whoever has the token sees all that goes on."""
        return f"{self.task.analyzer.address}/operator/tasks/{self.task.name}"

    @property
    def operator_token(self) -> Path:
        """The file with that token."""
        return self.folder / OPERATOR

    @property
    def warnings(self) -> list[str]:
        """What is amiss with so few people, if anything is."""
        return warnings_of(self.task)

    @property
    def address(self) -> str:
        """Where results are to be had."""
        return f"{self.task.analyzer.address}/v1/tasks/{self.task.name}"

    def run(self, progress: Progress = quiet) -> Outcome:
        """Everybody reports, once the servers answer; the release of all batches that are complete then."""
        self.wait_for_servers(progress)
        started = time.monotonic()
        crowd = self._everybody_reports(progress)
        release = self._wait_for_release(crowd.acknowledged // self.users * self.users, progress)
        return Outcome(
            people=crowd.people,
            acknowledged=crowd.acknowledged,
            refused=crowd.refused,
            batches=release.estimate.people // self.users,
            release=release,
            seconds=time.monotonic() - started,
        )

    def watch(self) -> None:
        """Goes on until it is interrupted, or a server ends by itself; people keep coming meanwhile."""
        if self.pace:
            self._coming = Coming(self.task, self.question.of_others(), pace=self.pace)
            self._coming.start()
        while True:
            self._processes.check()
            time.sleep(_LOOKS_EVERY)

    def close(self) -> None:
        """Ends all servers; removes the folder unless it was given."""
        late = threading.Timer(_MOMENT, self._takes_long)
        late.daemon = True
        late.start()
        # each is done also if the one before is interrupted
        with ExitStack() as ending:
            ending.callback(late.cancel)
            if self._given is None:
                ending.callback(shutil.rmtree, self.folder, ignore_errors=True)
            ending.callback(self._processes.close)
            ending.callback(self._client.close)
            if self._coming is not None:
                ending.callback(self._coming.stop)

    def wait_for_servers(self, progress: Progress = quiet) -> None:
        """Until all of them answer."""
        progress("starting servers", 0.0)
        for command in self._setting_up.commands(self.folder):
            self._wait(partial(self._asked, f"{command.address}/health"), f"{command.name} did not start", _PATIENCE)
        progress("starting servers", 1.0)

    def _everybody_reports(self, progress: Progress) -> _Crowd:
        people = self.folder / "people.csv"
        files = ["--task", str(self.task_file), "--data", str(people)]

        def done() -> bool:
            progress("people report", min(1.0, self._reports() / self.people))
            return crowd.done

        try:
            write_secret(people, "\n".join(map(_cell, ["answer", *self.question.of_people(self.people)])))
            crowd = self._processes.start("crowd", ["crowd", *files, "--column", "answer", "--json"], ends=True)
            self._wait(done, "people could not report", _PATIENCE + self.people * _SECONDS_EACH)
        finally:  # nobody but the people themselves would hold their answers
            people.unlink(missing_ok=True)
        progress("people report", 1.0)
        try:
            told = json.loads(crowd.result.read_bytes())
        except ValueError:
            crowd.check()
            raise DataError("the crowd did not say what became of its reports") from None
        return _Crowd(people=told["people"], acknowledged=told["acknowledged"], refused=told["refused"])

    def _reports(self) -> int:
        """How many the first shuffler has taken."""
        status = self._asked(f"{self.task.shufflers[0].address}/v1/tasks/{self.task.name}/status")
        return 0 if status is None else status["waiting"] + status["batches"] * self.users

    def _wait_for_release(self, people: int, progress: Progress) -> Release:
        if not people:
            raise DataError(f"too few reports were taken for a batch of {self.users} people: nothing is released")
        progress("mixing and counting", 0.0)
        found: list[Release] = []

        def there() -> bool:
            told = self._asked(f"{self.address}/releases/latest")
            release = None if told is None else Release.from_json(json.dumps(told))
            if release is not None and release.estimate.people >= people:
                found.append(release)
            return bool(found)

        self._wait(there, "nothing was released", _PATIENCE + people * _SECONDS_EACH)
        progress("mixing and counting", 1.0)
        return found[0]

    def _asked(self, address: str) -> Any:
        """What a server answers, as JSON; None if it does not, or not yet."""
        try:
            answer = self._client.get(address)
            return answer.json() if answer.is_success else None
        except (httpx.HTTPError, ValueError):
            return None

    def _wait(self, true: Callable[[], bool], what: str, seconds: float) -> None:
        last = time.monotonic() + seconds
        while not true():
            self._processes.check()
            if time.monotonic() > last:
                raise DataError(f"{what} within {seconds:.0f} seconds: the machine may be too busy")
            time.sleep(_LOOKS_EVERY)


def _cell(text: str) -> str:
    """As CSV has it."""
    return '"' + text.replace('"', '""') + '"'


def _new_folder(given: Path | None) -> Path:
    if given is None:
        return Path(tempfile.mkdtemp(prefix="shuffledp-up-"))
    try:
        given.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(given.iterdir()):
            raise ParameterError(f"the folder {given} must be new or empty: everything in it is made anew")
    except OSError as error:
        raise ParameterError(f"the folder {given} cannot be used: {error.strerror}") from None
    return given

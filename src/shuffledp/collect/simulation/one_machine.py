"""A whole collection on one machine, for demonstrations: shufflers, an analyzer and simulated people.

Keys, tokens, task and stores are new files in one folder. Every server is a process, as it would be a machine in a real
deployment. The people are simulated, and their answers are public.
"""

from __future__ import annotations

import json
import math
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import httpx

from shuffledp.collect.crypto.keys import KeyPair, write_key, write_secret
from shuffledp.collect.server.auth import hash_of, new_token
from shuffledp.collect.simulation.people import SEPARATOR, ArrivingPeople, Question, check_pace, usual_pace
from shuffledp.collect.simulation.processes import Processes, free_ports
from shuffledp.collect.task import Place, Series, Task
from shuffledp.collect.task.new_task import new_series, new_task
from shuffledp.collect.task.servers import MOST_SHUFFLERS
from shuffledp.errors import DataError, ParameterError
from shuffledp.ledger import Ledger
from shuffledp.progress import Progress, quiet
from shuffledp.release.release import Release
from shuffledp.validation import whole

T = TypeVar("T")

MOST_PEOPLE = 1_000_000
"""People whose reports one machine can process in an hour or two, and keep on its disk."""

_PATIENCE = 60.0
"""Seconds for a server to start, also on a busy machine."""

_SECONDS_EACH = 0.05
"""Seconds for one report, or for opening its messages: ten times the usual time."""

_CHECK_SECONDS = 0.2

_STARTING = 8.0
"""Seconds from the start of the servers to the first round of a series."""

_SHORTEST_PERIOD, _PEOPLE_PER_SECOND = 15.0, 150.0
"""Seconds of a round without anybody, and people who can report in a second on a slow machine. People of the next round
start to report after the release of this one, so a round must leave time for mixing and counting too."""

_MOMENT = 1.0
"""Seconds after which `takes_long` is called."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcomes of the reports, the release, and the seconds from the first report to the release.

    The release counts `people_in_release` people in `batches` batches; `waiting` people are in none yet.
    """

    people: int
    acknowledged: int
    refused: Mapping[str, int]
    batches: int
    release: Release
    seconds: float

    @property
    def people_in_release(self) -> int:
        """The number of people in the release."""
        return self.release.estimate.people

    @property
    def waiting(self) -> int:
        """The number of accepted reports that are in no batch yet."""
        return max(0, self.acknowledged - self.people_in_release)


class OneMachine:
    """Servers that run until the end of the `with`, and leave no process and no file outside a given folder.

    `people` are simulated; with 0, only visitors answer. `users` reports make a batch; by default all people are in
    one. `pace` is the number of people per second who arrive after the release. `port` is the analyzer's. `takes_long`
    is called if stopping takes more than a second. With `rounds`, the question is asked in a series of rounds, each
    `period` seconds long (by default long enough for all people), and the same people answer every round.
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
        rounds: int | None = None,
        period: int | None = None,
        takes_long: Callable[[], None] = lambda: None,
    ) -> None:
        self.people = whole("people", people, minimum=0)
        if not people and users is None:
            raise ParameterError("users must be given if people is 0: it is the number of reports in a batch")
        self.users = self.people if users is None else whole("users", users)
        if self.people > MOST_PEOPLE:
            raise ParameterError(f"people must be at most {MOST_PEOPLE:,} on one machine, got {self.people:,}")
        if self.people and self.users > self.people:
            raise ParameterError(
                f"users must be at most people, got a batch of {self.users} users and only {self.people} people"
            )
        if not 1 <= shufflers <= MOST_SHUFFLERS:
            raise ParameterError(f"shufflers must be from 1 to {MOST_SHUFFLERS}, got {shufflers}")
        ports = free_ports([0] * shufflers + [port or 0])
        self.question = question or Question()
        self.pace = check_pace(pace if pace is not None else usual_pace(self.users) if people else 0.0)
        if rounds is not None and not people:
            raise ParameterError("people must be above 0 if rounds is given: they answer every round")
        if period is not None and rounds is None:
            raise ParameterError("period must be given with rounds only")
        usual = math.ceil(_SHORTEST_PERIOD + self.people / _PEOPLE_PER_SECOND)
        self._deployment = Deployment(
            self.question, users=self.users, ports=ports, rounds=rounds, period=usual if period is None else period
        )
        asked = self._deployment.asked
        self.series = asked if isinstance(asked, Series) else None
        self.task = asked if isinstance(asked, Task) else asked.task(1)
        self._given, self._takes_long = folder, takes_long
        self._arriving: ArrivingPeople | None = None

    def __enter__(self) -> Self:
        # the name comes before the folder, so that `close` removes it whenever an interrupt comes
        self.folder = self._given or Path(tempfile.gettempdir()) / f"shuffledp-up-{secrets.token_hex(8)}"
        self._processes = Processes(self.folder)
        self._client = httpx.Client(timeout=30.0, trust_env=False)
        with ExitStack() as failing:
            failing.callback(self.close)
            _make_folder(self.folder)
            self._deployment.write(self.folder)
            for command in self._deployment.commands(self.folder):
                self._processes.start(command.name, command.arguments)
            failing.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def task_file(self) -> Path:
        """The file of the task or the series, for clients on this machine."""
        return self.folder / self._deployment.task_file

    @property
    def page(self) -> str:
        """The address of the survey page."""
        which = self.task.name if self.series is None else f"series/{self.series.name}"
        return f"{self.task.shufflers[0].address}/ask/{which}"

    @property
    def results(self) -> str:
        """The address of the results for a browser."""
        which = f"tasks/{self.task.name}" if self.series is None else f"series/{self.series.name}"
        return f"{self.task.analyzer.address}/{which}"

    @property
    def operator(self) -> str:
        """The address of the operator's console, which needs the token."""
        return f"{self.task.analyzer.address}/operator/tasks/{self.task.name}"

    @property
    def operator_token(self) -> Path:
        """The file with the operator's token."""
        return self.folder / OPERATOR

    def run(self, progress: Progress = quiet) -> Outcome:
        """Let all people report, and return the release of all complete batches."""
        self.wait_for_servers(progress)
        return self._collect(self.question.of_people(self.people), progress)

    def run_rounds(self, progress: Progress = quiet) -> Iterator[Outcome]:
        """Let all people report in every round, and yield the release of each round."""
        if self.series is None:
            raise ParameterError("rounds must be given for a series")
        self.wait_for_servers(progress)
        for number in range(1, self.series.rounds + 1):
            self.task = self.series.task(number)
            self._wait_until(self.task.opens, progress)
            passed = (number - 1) / (self.series.rounds - 1)
            yield self._collect(self.question.of_round(self.people, passed), progress)

    def _wait_until(self, opens: datetime, progress: Progress) -> None:
        whole_wait = max(1e-3, opens.timestamp() - time.time())
        while (left := opens.timestamp() - time.time()) > 0:
            self._processes.check()
            progress("waiting for the round", max(0.0, 1 - left / whole_wait))
            time.sleep(min(left, _CHECK_SECONDS))
        progress("waiting for the round", 1.0)

    def _collect(self, answers: Sequence[str], progress: Progress) -> Outcome:
        started = time.monotonic()
        crowd = self._everybody_reports(answers, progress)
        release = self._wait_for_release(crowd["acknowledged"] // self.users * self.users, progress)
        return Outcome(
            people=crowd["people"],
            acknowledged=crowd["acknowledged"],
            refused=crowd["refused"],
            batches=release.estimate.people // self.users,
            release=release,
            seconds=time.monotonic() - started,
        )

    def watch(self) -> None:
        """Run until an interrupt, or until a server ends by itself; people keep arriving."""
        if self.pace:
            self._arriving = ArrivingPeople(self.task, self.question.of_others(), pace=self.pace)
            self._arriving.start()
        while True:
            self._processes.check()
            time.sleep(_CHECK_SECONDS)

    def close(self) -> None:
        """Stop all servers, and remove the folder unless it was given."""
        late = threading.Timer(_MOMENT, self._takes_long)
        late.daemon = True
        late.start()
        # each step is done even if the one before is interrupted
        with ExitStack() as ending:
            ending.callback(late.cancel)
            if self._given is None:
                ending.callback(shutil.rmtree, self.folder, ignore_errors=True)
            ending.callback(self._processes.close)
            ending.callback(self._client.close)
            if self._arriving is not None:
                ending.callback(self._arriving.stop)

    def wait_for_servers(self, progress: Progress = quiet) -> None:
        """Wait until all servers answer."""
        progress("starting servers", 0.0)
        for command in self._deployment.commands(self.folder):
            self._wait(partial(self._asked, f"{command.address}/health"), f"{command.name} did not start", _PATIENCE)
        progress("starting servers", 1.0)

    def _everybody_reports(self, answers: Sequence[str], progress: Progress) -> dict[str, Any]:
        people = self.folder / "people.csv"
        files = ["--task", str(self.task_file), "--data", str(people)]

        def done() -> bool:
            progress("people report", min(1.0, self._reports() / self.people))
            return crowd.done

        try:
            write_secret(people, "\n".join(map(_cell, ["answer", *answers])))
            crowd = self._processes.start(
                self._crowd_name, ["crowd", *files, "--column", "answer", "--separator", SEPARATOR, "--json"], ends=True
            )
            self._wait(done, "people could not report", _PATIENCE + self.people * _SECONDS_EACH)
        finally:  # in a real collection only the people have their answers
            people.unlink(missing_ok=True)
        progress("people report", 1.0)
        try:
            result: dict[str, Any] = json.loads(crowd.result.read_bytes())
        except ValueError:
            crowd.check()
            raise DataError("the crowd did not write its result") from None
        return result

    @property
    def _crowd_name(self) -> str:
        return "crowd" if self.task.series is None else f"crowd {self.task.series.round}"

    def _reports(self) -> int:
        """The number of reports that the first shuffler has accepted."""
        status = self._asked(f"{self.task.shufflers[0].address}/v1/tasks/{self.task.name}/status")
        return 0 if status is None else status["waiting"] + status["batches"] * self.users

    def _wait_for_release(self, people: int, progress: Progress) -> Release:
        if not people:
            hint = "" if self.series is None else ". If the round was over too early, give a longer period"
            raise DataError(
                f"too few reports were accepted for a batch of {self.users} people: nothing is released{hint}"
            )
        progress("mixing and counting", 0.0)

        def whole_release() -> Release | None:
            latest = self._asked(f"{self.task.analyzer.address}/v1/tasks/{self.task.name}/releases/latest")
            release = None if latest is None else Release.from_json(json.dumps(latest))
            return release if release is not None and release.estimate.people >= people else None

        release = self._wait(whole_release, "nothing was released", _PATIENCE + people * _SECONDS_EACH)
        progress("mixing and counting", 1.0)
        return release

    def _asked(self, address: str) -> Any:
        """The response of a server as JSON; None if there is none yet."""
        try:
            answer = self._client.get(address)
            return answer.json() if answer.is_success else None
        except (httpx.HTTPError, ValueError):
            return None

    def _wait(self, look: Callable[[], T | None], what: str, seconds: float) -> T:
        """Look until there is something, while all processes run."""
        last = time.monotonic() + seconds
        while not (found := look()):
            self._processes.check()
            if time.monotonic() > last:
                raise DataError(f"{what} within {seconds:.0f} seconds: the machine may be too busy")
            time.sleep(_CHECK_SECONDS)
        return found


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ParameterError(f"the folder {folder} must be new or empty")
    except OSError as error:
        raise ParameterError(f"the folder {folder} cannot be used: {error.strerror}") from None


EPSILON, DELTA = 1.0, 1e-6
"""The guarantee of the simulated people, as in the tutorial."""

LEDGER = "budget.ledger"
OPERATOR = "operator.token"
"""The file with the token for the operator's console."""


class Command(NamedTuple):
    """A server: its name, its address, and the arguments that start it."""

    name: str
    address: str
    arguments: list[str]


class Deployment:
    """The task, keys, tokens and ledger of servers at these ports: shufflers in order, then the analyzer.

    With `rounds`, a series of rounds of `period` seconds instead of a task.
    """

    def __init__(
        self, question: Question, *, users: int, ports: Sequence[int], rounds: int | None = None, period: int = 0
    ) -> None:
        self._keys = [KeyPair.generate() for _ in ports]
        places = [Place(f"http://127.0.0.1:{port}", key.public) for port, key in zip(ports, self._keys, strict=True)]
        now = datetime.now(UTC)
        asked: dict[str, Any] = {
            "question": question.words,
            "answers": question.possible(users=users, epsilon=EPSILON, delta=DELTA),
            "users": users,
            "epsilon": EPSILON,
            "delta": DELTA,
            "shufflers": places[:-1],
            "analyzer": places[-1],
            "asker": "You, on this machine",
            "purpose": "To try a collection with simulated people.",
            "language": "en",
        }
        self.asked: Task | Series
        if rounds is None:
            self.asked = new_task(**asked, opens=now - timedelta(hours=1), closes=now + timedelta(days=1))
        else:
            opens = now.replace(microsecond=0) + timedelta(seconds=_STARTING)
            self.asked = new_series(**asked, rounds=rounds, period=period, opens=opens)
        self.task_file = f"{question.name}.{'task' if rounds is None else 'series'}.json"
        self._ports = ports
        self._names = [*(f"shuffler {at + 1}" for at in range(len(ports) - 1)), "analyzer"]
        self._tokens = [new_token() for _ in ports[1:]]
        self._operator = new_token()

    def write(self, folder: Path) -> None:
        """Write all files."""
        (folder / self.task_file).write_text(self.asked.to_json(), encoding="utf-8")
        for name, key in zip(self._names, self._keys, strict=True):
            write_key(key, folder / f"{_file(name)}.key")
        for name, token in zip(self._names[1:], self._tokens, strict=True):
            write_secret(folder / f"{_file(name)}.token", token)
        write_secret(folder / OPERATOR, self._operator)
        Ledger.create(folder / LEDGER, epsilon=EPSILON, delta=DELTA, population="simulated people")

    def commands(self, folder: Path) -> Iterator[Command]:
        """Yield the commands that start the servers; each but the first pulls from the one before."""
        for at, (name, port) in enumerate(zip(self._names, self._ports, strict=True)):
            last = at == len(self._tokens)
            own = str(folder / _file(name))
            words = ["analyzer" if last else "shuffler", "--task", str(folder / self.task_file), "--key", f"{own}.key"]
            words += ["--store", f"{own}.db", "--port", str(port)]
            if at == 0:
                words += ["--page"]
            else:
                words += ["--token", f"{own}.token"]
            if last:
                words += ["--ledger", str(folder / LEDGER), "--join", "--operator", hash_of(self._operator).hex()]
            else:
                words += ["--next", hash_of(self._tokens[at]).hex()]  # of the server that fetches batches
            yield Command(name, f"http://127.0.0.1:{port}", words)


def _file(name: str) -> str:
    return name.replace(" ", "-")

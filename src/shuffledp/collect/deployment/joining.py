"""Complete the folders of parties with the public values of the others, tasks, admission and the ledger.

Everything is checked before the first file is written, and a repeated call changes nothing.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shuffledp.atomic_file import write_whole
from shuffledp.collect.analyzer.releases import check_tasks_fit
from shuffledp.collect.crypto.keys import read_word, write_secret
from shuffledp.collect.deployment.parties import (
    ANALYZER,
    HASHES,
    KEYS,
    LEDGER,
    OWN_VALUES,
    PUBLIC,
    PUBLIC_TASK_FILES,
    SECRET,
    SERVER,
    TASKS,
    Chain,
    Party,
    ledger_of,
    read_party,
)
from shuffledp.collect.server.auth import read_hashes
from shuffledp.collect.server.settings import read_keys
from shuffledp.collect.task import Series, Task, read_task_or_series, tasks_of
from shuffledp.errors import BudgetError, DataError, ParameterError
from shuffledp.formatting import epsilon_delta
from shuffledp.ledger import Ledger

_ADMISSION = {"secret": SECRET, "tokens": HASHES}
"""The file of the first shuffler for tasks that require a secret or tokens."""


class MissingAdmissionError(ParameterError):
    """A task needs one-time tokens or a secret, and the first shuffler has no `file` for it."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.why = f"people need {'a secret' if file == SECRET else 'one-time tokens'} to answer its task"
        super().__init__(f"{file.replace('.', '_')} must be given for shuffler-1: {self.why}")


@dataclass(frozen=True, kw_only=True)
class Joined:
    """The own parties of a chain, their tasks, and the files that were written.

    `other_upstreams` are the addresses that a configuration has instead of that of the party before, by party.
    """

    chain: Chain
    parties: Sequence[str]
    tasks: Mapping[str, Task | Series]
    written: Sequence[Path]
    other_upstreams: Mapping[str, str]


def join(
    folder: Path,
    *,
    admission: Mapping[str, Path] | None = None,
    limit: tuple[float, float] | None = None,
    population: str | None = None,
) -> Joined:
    """Complete the folders of the own parties in `folder`, with all that is in its folder `public`.

    `admission` has the files of hashes or of the secret for the first shuffler, by the names that they get. `limit` is
    of a new ledger; by default it is the guarantee of the only task.
    """
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}")
    chain = Chain.read(folder / PUBLIC)
    own = [party for party in chain.parties if (folder / party.party / SERVER).is_dir()]
    if not own:
        names = ", ".join(each.party for each in chain.parties)
        raise ParameterError(f"folder must hold the folder of a party, one of {names}, got none in {folder}")
    for party in own:
        _check_own_values(folder, party)
    paths = sorted(path for pattern in PUBLIC_TASK_FILES for path in (folder / PUBLIC).glob(pattern))
    tasks = {path.name: read_task_or_series(path) for path in paths}
    for name, asked in tasks.items():
        chain.check_task(asked, name=str(folder / PUBLIC / name))
    _check_admission_is_needed(admission or {}, own, tasks, folder)
    files = _Files()
    other_upstreams = dict[str, str]()
    for party in own:
        known = _configure(folder, party, chain, tasks, admission or {}, files)
        before = chain.parties[party.position - 1].address
        if party.position and (upstream := known.get("upstream", before)) != before:
            other_upstreams[party.party] = str(upstream)
        for name, asked in tasks.items():
            files.add(folder / party.party / SERVER / TASKS / name, asked.to_json())
    ledger = ledger_of(folder)
    has_analyzer = ANALYZER in {each.party for each in own}
    needs_ledger = has_analyzer and not ledger.exists()
    limits = limit or (_limit_of(tasks) if needs_ledger else None)
    for name, value in (("limit", limit), ("population", population)):
        if value is not None and not (needs_ledger and limits):
            why = f"the analyzer is not in {folder}"
            if has_analyzer:
                why = "there is no task yet" if needs_ledger else f"{ledger} exists, and its {name} is final"
            raise ParameterError(f"{name} must be left out: {why}")
    files.check()
    if limits is not None:
        _check_limit(limits, tasks)
        Ledger.create(
            ledger,
            epsilon=limits[0],
            delta=limits[1],
            population=population or f"people asked by {folder.resolve().name}",
        )
    files.write()
    return Joined(
        chain=chain,
        parties=[each.party for each in own],
        tasks=tasks,
        written=[*files.written, *([ledger] if limits is not None else [])],
        other_upstreams=other_upstreams,
    )


def _check_own_values(folder: Path, party: Party) -> None:
    """Refuse public values that are not the own ones: someone changed them on their way."""
    public, own = folder / PUBLIC / f"{party.party}.party.json", read_party(folder / party.party / OWN_VALUES)
    for what in ("shufflers", "address", "key", "token_sha256"):
        if getattr(party, what) != getattr(own, what):
            raise DataError(
                f"{public} must have the {what} of {party.party}, {getattr(own, what)}, got {getattr(party, what)}"
            )
    keys = folder / party.party / SERVER / KEYS
    if party.key not in {each.public for each in read_keys([keys])}:
        raise DataError(
            f"{public} must have the public key of {party.party}, got one whose private key is not in {keys}"
        )


def _limit_of(tasks: Mapping[str, Task | Series]) -> tuple[float, float] | None:
    """The limit of a new ledger: the guarantee of the only task."""
    if not tasks:
        return None
    if len(tasks) > 1:
        raise ParameterError(f"limit must be given for {len(tasks)} tasks together, such as 3,1e-5")
    (asked,) = tasks.values()
    return _guarantee_of(asked)


def _guarantee_of(asked: Task | Series) -> tuple[float, float]:
    total = asked.total if isinstance(asked, Series) else asked.guarantee
    return total.epsilon, total.delta


def _check_limit(limits: tuple[float, float], tasks: Mapping[str, Task | Series]) -> None:
    """Refuse the limit of a new ledger that the tasks do not fit: the analyzer would not start."""
    rounds = [task for asked in tasks.values() for task in tasks_of(asked)]
    with TemporaryDirectory() as folder:
        ledger = Ledger.create(
            Path(folder) / LEDGER, epsilon=limits[0], delta=limits[1], population="the people who are asked"
        )
        try:
            check_tasks_fit(ledger, rounds)
        except BudgetError:
            each = "; ".join(epsilon_delta(*_guarantee_of(asked)) for asked in tasks.values())
            raise ParameterError(
                f"limit must allow all tasks together, got {epsilon_delta(*limits)} for {each}: the analyzer would not "
                "start"
            ) from None


def _configure(
    folder: Path,
    party: Party,
    chain: Chain,
    tasks: Mapping[str, Task | Series],
    admission: Mapping[str, Path],
    files: _Files,
) -> dict[str, Any]:
    """Add what depends on other parties and on tasks to the configuration of a server; return what it had."""
    config = folder / party.party / SERVER / ("analyzer.toml" if party.party == ANALYZER else "shuffler.toml")
    more, defaults = dict[str, Any](), dict[str, Any]()
    if party.position > 0:  # its token is for this address only, whatever an added task names
        defaults["upstream"] = chain.parties[party.position - 1].address
    if party.party != ANALYZER:
        more["next"] = chain.parties[party.position + 1].token_sha256
    if party.position == 0:
        for kind in {asked.admission for asked in tasks.values()} & set(_ADMISSION):
            name = _ADMISSION[kind]
            own = config.parent / name
            if name in admission:
                files.add(own, _admission(name, admission[name]), secret=name == SECRET)
            elif not own.exists():
                raise MissingAdmissionError(name)
            more[name.replace(".", "-")] = name
    return files.extend(config, more, defaults)


def _check_admission_is_needed(
    admission: Mapping[str, Path], own: Sequence[Party], tasks: Mapping[str, Task | Series], folder: Path
) -> None:
    """Refuse files of hashes or of a secret that would be ignored."""
    needed = {_ADMISSION.get(asked.admission) for asked in tasks.values()}
    for name in admission:
        if all(party.position for party in own):
            why = f"shuffler-1 is not in {folder}"
        elif name not in needed:
            why = f"no task in {folder / PUBLIC} requires {'a secret' if name == SECRET else 'one-time tokens'}"
        else:
            continue
        raise ParameterError(f"{name.replace('.', '_')} must be left out: {why}")


def _admission(name: str, path: Path) -> str:
    """Read the file of the first shuffler; write_secret adds the end of a line."""
    if name == SECRET:
        return read_word(path)
    return "".join(f"{each.hex()}\n" for each in read_hashes(path, name="admission_hashes"))


class _Files:
    """New files and new keys of configurations, all checked before the first is written."""

    def __init__(self) -> None:
        self._new: list[tuple[Path, str, bool]] = []
        self.written: list[Path] = []

    def add(self, path: Path, text: str, *, secret: bool = False) -> None:
        """Add a file, unless it exists with the same content."""
        if not path.exists():
            self._new.append((path, text, secret))
        elif path.read_text().strip() != text.strip():
            raise ParameterError(f"{path} exists with other content: nothing is overwritten")

    def extend(self, config: Path, more: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
        """Add keys at the end of a configuration, unless it has them; only `defaults` may have another value there.

        Return the keys that it had.
        """
        try:
            text = config.read_text(encoding="utf-8")
            known = tomllib.loads(text)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise DataError(f"{config} must be a file in TOML: {reason}") from None
        for key, value in more.items():
            found = known.get(key)
            if found is not None and value not in (found if isinstance(found, list) else [found]):
                raise ParameterError(f"{key} must have {value}, got another value in {config}: correct it there")
        if lines := [f"{key} = {json.dumps(value)}\n" for key, value in (more | defaults).items() if key not in known]:
            self._new.append((config, text + "".join(lines), False))
        return known

    def check(self) -> None:
        """Refuse a folder that does not exist."""
        for path, _, _ in self._new:
            if not path.parent.is_dir():
                raise DataError(f"{path.parent} must be a folder of a party, got none")

    def write(self) -> None:
        """Write all files."""
        for path, text, secret in self._new:
            if secret:
                write_secret(path, text)
            else:
                write_whole(path, text.encode())
            self.written.append(path)

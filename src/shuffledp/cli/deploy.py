"""`shuffledp deploy`: create the folders of all parties of a collection."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from shuffledp.atomic_file import write_whole
from shuffledp.cli import options as given
from shuffledp.cli.options import (
    Without,
    argument,
    flag,
    integer,
    moment_of,
    option,
    parse_pair,
    shortened,
    tasks_from_options,
)
from shuffledp.cli.output import (
    ProgressBar,
    failures_in_json,
    note_written,
    print_json,
    print_note,
    print_sentence,
    print_sentences,
    print_title,
)
from shuffledp.cli.task_options import Admitted, AnswerOptions, AskedBy, HonestUsers, admission_of
from shuffledp.errors import ParameterError
from shuffledp.formatting import counted, epsilon_delta, shown_address
from shuffledp.validation import one_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shuffledp.collect.deployment.joining import Joined
    from shuffledp.collect.deployment.parties import Chain, Deployment, Party
    from shuffledp.collect.task import Place, Task

_SERVERS, _TASK, _ADMISSION, _LEDGER = "Servers", "First task", "Admission", "Ledger"
_STORES = ("postgres", "sqlite")
_FIRST_PORT = 8001
"""The port of the first server if all are on this machine."""

Folder = Annotated[Path, argument("FOLDER")]
Limit = Annotated[
    str | None,
    option("EPSILON,DELTA", "Limit of the analyzer's ledger; default: the guarantee of the task.", panel=_LEDGER),
]
Population = Annotated[
    str | None, option("WORDS", "The people whose data is released; default: the name of the folder.", panel=_LEDGER)
]


def init(
    folder: Folder,
    *,
    shufflers: Annotated[int, integer("Number of shufflers in the chain.")] = 2,
    address: Annotated[
        list[str] | None,
        option("URL", "Public address of a shuffler, repeated in order; default: ports of this machine."),
    ] = None,
    analyzer_address: Annotated[str | None, option("URL", "Public address of the analyzer.")] = None,
    only: Annotated[
        str | None, option("PARTY", "Create one party only, such as shuffler-1 or analyzer; --address is its address.")
    ] = None,
    store: Annotated[
        str | None,
        option(
            "|".join(_STORES), "Store of each shuffler; default: postgres, or sqlite without --address.", panel=_SERVERS
        ),
    ] = None,
    page: Annotated[bool, flag("--page", "The first shuffler serves the survey page.", panel=_SERVERS)] = False,
    question: Annotated[
        str | None, option("WORDS", "The question of a first task; without it no task is created.", panel=_TASK)
    ] = None,
    users: Annotated[int | None, integer("Reports per batch.", panel=_TASK)] = None,
    epsilon: Annotated[float | None, option("NUMBER", "Privacy loss of the task.", panel=_TASK)] = None,
    delta: Annotated[float | None, option("NUMBER", "Probability of a larger privacy loss.", panel=_TASK)] = None,
    closes: Annotated[str, option("TIME", "End: a time in UTC, or a length of time from now.", panel=_TASK)] = "30d",
    answers: Annotated[AnswerOptions, Without({"domain_at", "answers_from"})],
    asked_by: AskedBy,
    honest_users: HonestUsers = None,
    admission: Admitted = "anybody",
    tokens: Annotated[
        int | None,
        integer(
            "One-time tokens to create for --admission tokens; default: 1.2 per report of a batch.", panel=_ADMISSION
        ),
    ] = None,
    limit: Limit = None,
    population: Population = None,
    json: given.Json = False,
) -> None:
    """Create keys, tokens and configuration for every server of a collection, one folder for each party.

    FOLDER must be new. HAND-OVER.md in it says which file goes to whom. The
    options of the first task are those of `shuffledp task new`, which offers
    more kinds of tasks.

    The person who creates all folders holds all keys. With --only, each
    organisation creates its own folder, and `shuffledp deploy join` completes
    it with the public values of the others.
    """
    from shuffledp.collect.deployment.joining import join as complete
    from shuffledp.collect.deployment.parties import (
        FIRST_TASK,
        PUBLIC,
        Chain,
        Deployment,
        create_invitations,
        ledger_of,
        new_folder,
        write_hand_over,
    )
    from shuffledp.ledger import Ledger

    with failures_in_json(json):
        guarantee = {"users": users, "honest_users": honest_users, "epsilon": epsilon, "delta": delta}
        asked = {**guarantee, **vars(answers), "tokens": tokens, **vars(asked_by)}
        _check_task_options(question, only, asked)
        limits = parse_pair("--limit", limit)
        for name, value in (("--limit", limit), ("--population", population)):
            if value is not None and only not in (None, "analyzer"):
                raise ParameterError(f"{name} is for the analyzer's ledger, got --only {shortened(only)}")
        if population is not None and limits is None and question is None:
            raise ParameterError("--population needs --limit or --question: without them no ledger is created yet")
        with tasks_from_options():
            addresses = _addresses(shufflers, address, analyzer_address, only=only, page=page)
            kind: Any = one_of("store", store, _STORES) if store else "postgres" if address else "sqlite"
            deployment = Deployment(shufflers=shufflers, addresses=addresses, store=kind, page=page)
        make_task = None
        if question is not None:
            people = {**guarantee, **vars(asked_by)}
            make_task = _task_maker(question, answers, people, closes=closes, admission=admission)
        task, command = None, None
        alone = _only_commands(deployment, limit=limit, population=population)
        named = population or f"people asked by {folder.resolve().name}"
        with new_folder(folder) as made:
            parties = deployment.create(made)
            if deployment.is_whole:
                chain = Chain(parties)
                if make_task is None:
                    command = task_command(chain, folder)
                else:
                    task = make_task(chain.shufflers, chain.analyzer)
                    write_whole(made / PUBLIC / FIRST_TASK, task.to_json().encode())
                admitted = {} if task is None else create_invitations(made, task, tokens=tokens, page=page)
                complete(made, admission=admitted, limit=limits, population=named if limits or task else None)
            elif limits is not None:
                Ledger.create(ledger_of(made), epsilon=limits[0], delta=limits[1], population=named)
            write_hand_over(made, deployment, parties, name=str(folder), task=task, command=command, only=alone)
    following = _next_commands(folder, parties, command)
    if json:
        print_json(_created_as_json(folder, parties, task, following))
    else:
        _show_created(folder, deployment, parties, task, following, limit_is_default=limits is None)


def _check_task_options(question: str | None, only: str | None, asked: dict[str, Any]) -> None:
    named = [f"--{name.strip('_').replace('_', '-')}" for name, value in asked.items() if value is not None]
    if question is None and named:
        raise ParameterError(f"{named[0]} needs --question: it belongs to the first task")
    if question is not None and only is not None:
        raise ParameterError(
            "--question cannot be given with --only: a task needs the public keys of all parties. Create it with "
            "`shuffledp task new` after they were exchanged"
        )
    if question is not None:
        for name in ("users", "epsilon", "delta"):
            if asked[name] is None:
                raise ParameterError(f"--{name} must be given with --question")


def _addresses(
    shufflers: int, addresses: Sequence[str] | None, analyzer: str | None, *, only: str | None, page: bool
) -> dict[str, str]:
    from shuffledp.collect.deployment.parties import names_of

    names = names_of(shufflers)
    if only is not None:
        if only not in names:
            raise ParameterError(f"--only must be one of {', '.join(names)}, got {shortened(only)}")
        given = [*(addresses or ()), *([analyzer] if analyzer else [])]
        if len(given) != 1:
            raise ParameterError(f"--only {only} needs one --address, its own, got {len(given)}")
        if page and only != names[0]:
            raise ParameterError(f"--page is for {names[0]}, to which people send reports, got --only {only}")
        return {only: given[0]}
    if not addresses and analyzer is None:
        return {name: f"http://127.0.0.1:{_FIRST_PORT + at}" for at, name in enumerate(names)}
    if len(addresses or ()) != shufflers or analyzer is None:
        raise ParameterError(
            f"give --address for each of {counted(shufflers, 'shuffler')} and --analyzer-address, got "
            f"{counted(len(addresses or ()), 'address', things='addresses')} and "
            f"{'no' if analyzer is None else 'an'} address of the analyzer"
        )
    return dict(zip(names, [*(addresses or ()), analyzer], strict=True))


def _only_commands(deployment: Deployment, *, limit: str | None, population: str | None) -> list[str]:
    """Return the commands with which each organisation creates its own folder, with the options of this deployment."""
    commands = []
    for at, (name, address) in enumerate(deployment.addresses.items()):
        words = ["shuffledp", "deploy", "init", "collection", "--only", name, "--shufflers", str(deployment.shufflers)]
        words += ["--address", address if urlsplit(address).scheme == "https" else "https://ITS.ADDRESS"]
        if name != "analyzer":
            words += ["--store", "sqlite"] if deployment.store == "sqlite" else []
            words += ["--page"] if deployment.page and at == 0 else []
        elif limit is not None:
            words += ["--limit", limit, *(["--population", population] if population else [])]
        commands.append(shlex.join(words))
    return commands


def _task_maker(
    question: str, answers: AnswerOptions, people: dict[str, Any], *, closes: str, admission: str
) -> Callable[[list[Place], Place], Task]:
    """Check the options of the first task; return a function that makes it once the servers have keys."""
    from shuffledp.collect import new_task

    answers.check()
    now = datetime.now(UTC).replace(microsecond=0)
    closing, admitted = moment_of(closes, name="closes", after=now), admission_of(admission)
    possible = answers.answers()

    def make(shufflers: list[Place], analyzer: Place) -> Task:
        with ProgressBar() as progress, tasks_from_options():
            return new_task(
                question=question,
                answers=possible,
                shufflers=shufflers,
                analyzer=analyzer,
                opens=now,
                closes=closing,
                admission=admitted,
                progress=progress,
                **people,
            )

    return make


def join(
    folder: Folder,
    admission_hashes: Annotated[
        Path | None,
        option("FILE", "SHA-256 of one-time tokens, for shuffler-1, if the task requires them.", panel=_ADMISSION),
    ] = None,
    admission_secret: Annotated[
        Path | None, option("FILE", "The secret for shuffler-1, if the task requires one.", panel=_ADMISSION)
    ] = None,
    limit: Limit = None,
    population: Population = None,
    json: given.Json = False,
) -> None:
    """Complete the folder of a party with the public values of the others, and with tasks.

    FOLDER is one of `shuffledp deploy init`. Put the files *.party.json of all
    parties and the tasks (*.task.json, *.series.json) into its folder public
    first. A task that names other keys or addresses is refused. A repeated
    call changes nothing.
    """
    from shuffledp.collect.deployment.joining import MissingAdmissionError
    from shuffledp.collect.deployment.joining import join as complete
    from shuffledp.collect.deployment.parties import HASHES, SECRET

    with failures_in_json(json):
        files = {HASHES: admission_hashes, SECRET: admission_secret}
        limits = parse_pair("--limit", limit)
        admission = {name: path for name, path in files.items() if path is not None}
        try:
            joined = complete(folder, admission=admission, limit=limits, population=population)
        except MissingAdmissionError as error:
            name = f"--{error.file.replace('.', '-')}"
            hint = "; create them with `shuffledp keys tokens`" if error.file == HASHES else ""
            raise ParameterError(f"{name} must be given for shuffler-1: {error.why}{hint}") from None
    for path in joined.written:
        note_written(path)
    for party, upstream in joined.other_upstreams.items():
        print_note(f"{party}: its configuration keeps upstream {shown_address(upstream)}, not the address in public")
    if json:
        print_json(_joined_as_json(folder, joined))
    else:
        _show_joined(folder, joined, limit_is_default=limits is None)


def task_command(chain: Chain, folder: Path) -> str:
    """Return the command that creates a task for these servers, with an example of a question."""
    from shuffledp.collect.deployment.parties import FIRST_TASK, PUBLIC

    servers = [("--shuffler", place) for place in chain.shufflers] + [("--analyzer", chain.analyzer)]
    lines = [
        'shuffledp task new --question "Tea or coffee?" --domain tea,coffee --users 1000 --epsilon 1 --delta 1e-6',
        *(f"{role} {shlex.quote(f'{place.address}={place.key}')}" for role, place in servers),  # of other parties
        f"--out {shlex.quote(str(folder / PUBLIC / FIRST_TASK))}",
    ]
    return " \\\n  ".join(lines)


def _created_as_json(
    folder: Path, parties: Sequence[Party], task: Task | None, following: Sequence[str]
) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "parties": [
            {
                "party": each.party,
                "folder": str(folder / each.party),
                **{what: getattr(each, what) for what in ("address", "key", "fingerprint")},
            }
            for each in parties
        ],
        "task": None if task is None else task.name,
        "next": following,
    }


def _next_commands(folder: Path, parties: Sequence[Party], command: str | None) -> list[str]:
    if len(parties) == 1:
        return [_join_command(folder)]
    before = [] if command is None else [command, _join_command(folder)]
    return [*before, *(_start_command(folder, each) for each in parties)]


def _join_command(folder: Path) -> str:
    return f"shuffledp deploy join {shlex.quote(str(folder))}"


def _start_command(folder: Path, party: Party) -> str:
    from shuffledp.collect.deployment.parties import in_containers

    own, kind = folder / party.party, "analyzer" if party.party == "analyzer" else "shuffler"
    if in_containers(folder, party):
        words = ["docker", "compose", "--file", folder / "compose.yaml", "--env-file", own / ".env", "up", "--detach"]
    else:
        words = ["shuffledp", kind, "--config", own / "server" / f"{kind}.toml"]
    return shlex.join(map(str, words))


def _print_next(title: str, commands: Sequence[str]) -> None:
    print_sentence(title)
    for line in commands:
        print(line)
    if any(line.startswith("docker") for line in commands):
        print_sentence("To prepare the containers, or to do without (systemd): docs/how-to/deploy.md.")


def _show_created(
    folder: Path,
    deployment: Deployment,
    parties: Sequence[Party],
    task: Task | None,
    following: Sequence[str],
    *,
    limit_is_default: bool,
) -> None:
    from shuffledp.collect.deployment.parties import INVITATIONS, LINKS, SECRET, TOKENS

    notes = [note for each in parties if (note := _note_on_address(each)) is not None]
    if not deployment.is_whole:
        (party,) = parties
        print_title(f"Created the folder of {party.party}: {folder / party.party}")
        print_sentence(f"Send {folder / 'public' / party.party}.party.json to the other parties; it is not secret.")
        print_sentence(f"Fingerprint, to compare by telephone: {party.fingerprint}")
        print_sentences(notes)
        print_sentence(f"All steps: {folder / 'HAND-OVER.md'}")
        return
    chain = f"{counted(deployment.shufflers, 'shuffler')} and an analyzer"
    print_title(f"Created {chain} in {folder}{'' if task is None else ', with a task'}")
    if task is not None:
        print_sentence(f"Task id: {task.name}")
        print_sentence(f"Results: {task.analyzer.address}/tasks/{task.name}")
    if deployment.page:
        print_sentence(f"Survey: {parties[0].address}{'/' if task is None else f'/ask/{task.name}'}")
    if (invitations := folder / INVITATIONS).is_dir():
        found = LINKS if (invitations / LINKS).exists() else TOKENS if (invitations / TOKENS).exists() else SECRET
        each = "for everybody" if task is not None and task.admission == "secret" else "one line for each person"
        print_sentence(f"Invitations: {invitations / found}, {each}.")
    _show_limit(folder, is_default=limit_is_default)
    print_sentences(notes)
    print_sentence("You hold all keys: hand each folder to its organisation and delete your copy, or use --only.")
    print_sentence(f"Which file goes to whom: {folder / 'HAND-OVER.md'}")
    _print_next("Next:", following)


def _note_on_address(party: Party) -> str | None:
    """Return what an address without TLS, or a port other than 443, means; None for port 443, and for this machine."""
    parts = urlsplit(party.address)
    if parts.scheme == "http" and not re.fullmatch(r"localhost|127\.[\d.]+|::1", parts.hostname or ""):
        return (
            f"Warning: {party.party} has an address without TLS. Others can read tokens that are sent there, and "
            f"browsers answer only at https://: start again with https://{parts.netloc}."
        )
    if parts.scheme != "https" or parts.port in (None, 443):
        return None
    return (
        f"{party.party}: a public certificate authority checks port 443 of {parts.hostname}, not {parts.port}. Let "
        "port 443 lead to the proxy, too, or use a certificate of your own (docs/how-to/deploy.md)."
    )


def _show_limit(folder: Path, *, is_default: bool) -> None:
    """Print the limit of the analyzer's ledger, if there is one here; `is_default` if this command chose it."""
    from shuffledp.collect.deployment.parties import ledger_of
    from shuffledp.ledger import Ledger

    path = ledger_of(folder)
    if path.exists():
        limit = Ledger(path).budget
        hint = "; to have room for more tasks, start again with --limit" if is_default else ""
        print_sentence(f"Limit of all tasks together: {epsilon_delta(limit.epsilon, limit.delta)}. It is final{hint}.")


def _joined_as_json(folder: Path, joined: Joined) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "parties": list(joined.parties),
        "fingerprints": {each.party: each.fingerprint for each in joined.chain.parties},
        "tasks": {name: asked.name for name, asked in joined.tasks.items()},
        "written": [str(path) for path in joined.written],
        "next": _after_join(folder, joined),
    }


def _show_joined(folder: Path, joined: Joined, *, limit_is_default: bool) -> None:
    from shuffledp.collect.deployment.parties import ledger_of

    state = "complete" if joined.tasks else "complete except for a task"
    print_title(f"{', '.join(joined.parties)}: {state}")
    _show_limit(folder, is_default=limit_is_default and ledger_of(folder) in joined.written)
    if len(joined.parties) < len(joined.chain.parties):
        print_sentence("Compare these fingerprints with the other parties by telephone:")
        for each in joined.chain.parties:
            print(f"  {each.party:10}  {each.fingerprint}{'  (your own)' if each.party in joined.parties else ''}")
    title = "Next:" if joined.tasks else "One party creates the task and sends it to the others:"
    _print_next(title, _after_join(folder, joined))


def _after_join(folder: Path, joined: Joined) -> list[str]:
    if not joined.tasks:
        return [task_command(joined.chain, folder), _join_command(folder)]
    return [_start_command(folder, each) for each in joined.chain.parties if each.party in joined.parties]

"""What `shuffledp deploy` prints: the parties, invitations and limits, and the commands that come next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shuffledp.cli.output import print_sentence, print_title
from shuffledp.formatting import counted, epsilon_delta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shuffledp.collect.deployment.folders import Deployment
    from shuffledp.collect.deployment.joining import Joined
    from shuffledp.collect.deployment.parties import Chain, Party
    from shuffledp.collect.task import Task


def task_command(chain: Chain, folder: Path) -> str:
    """Return the command that creates a task for these servers, with an example of a question."""
    from shuffledp.collect.deployment.folders import FIRST_TASK
    from shuffledp.collect.deployment.parties import PUBLIC

    servers = [("--shuffler", place) for place in chain.shufflers] + [("--analyzer", chain.analyzer)]
    lines = [
        'shuffledp task new --question "Tea or coffee?" --domain tea,coffee --users 1000 --epsilon 1 --delta 1e-6',
        *(f"{role} {shlex.quote(f'{place.address}={place.key}')}" for role, place in servers),  # of other parties
        f"--out {shlex.quote(str(folder / PUBLIC / FIRST_TASK))}",
    ]
    return " \\\n  ".join(lines)


def created_as_json(folder: Path, parties: Sequence[Party], task: Task | None, command: str | None) -> dict[str, Any]:
    """What `deploy init` created, for --json."""
    return {
        "folder": str(folder),
        "parties": [
            {
                "party": each.party,
                "folder": str(folder / each.party),
                "address": each.address,
                "key": each.key,
                "fingerprint": each.fingerprint,
            }
            for each in parties
        ],
        "task": None if task is None else task.name,
        "next": _next_commands(folder, parties, command),
    }


def _next_commands(folder: Path, parties: Sequence[Party], command: str | None) -> list[str]:
    """Return the commands that come next, in order."""
    if len(parties) == 1:
        return [f"shuffledp deploy join {shlex.quote(str(folder))}"]
    before = [] if command is None else [command, f"shuffledp deploy join {shlex.quote(str(folder))}"]
    return [*before, *(_start_command(folder, each.party) for each in parties)]


def _start_command(folder: Path, party: str) -> str:
    kind = "analyzer" if party == "analyzer" else "shuffler"
    return f"shuffledp {kind} --config {shlex.quote(str(folder / party / 'server' / f'{kind}.toml'))}"


def show_created(
    folder: Path,
    deployment: Deployment,
    parties: Sequence[Party],
    task: Task | None,
    command: str | None,
    *,
    limit_is_default: bool,
) -> None:
    """Print what `deploy init` created, and the next commands."""
    from shuffledp.collect.deployment.folders import INVITATIONS, LINKS, SECRET, TOKENS

    ports = [note for each in parties if (note := _note_on_port(each)) is not None]
    if not deployment.is_whole:
        (party,) = parties
        print_title(f"Created the folder of {party.party}: {folder / party.party}")
        print_sentence(f"Send {folder / 'public' / party.party}.party.json to the other parties; it is not secret.")
        print_sentence(f"Fingerprint, to compare by telephone: {party.fingerprint}")
        for note in ports:
            print_sentence(note)
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
    for note in ports:
        print_sentence(note)
    print_sentence("You hold all keys: hand each folder to its organisation and delete your copy, or use --only.")
    print_sentence(f"Which file goes to whom: {folder / 'HAND-OVER.md'}")
    print_sentence("Next:")
    for line in _next_commands(folder, parties, command):
        print(line)


def _note_on_port(party: Party) -> str | None:
    """Return what a port other than 443 means for a certificate; None for no proxy, and for port 443."""
    from urllib.parse import urlsplit

    parts = urlsplit(party.address)
    if parts.scheme != "https" or parts.port in (None, 443):
        return None
    return (
        f"{party.party}: a public certificate authority checks port 443 of {parts.hostname}, not {parts.port}. Let "
        "port 443 lead to the proxy, too, or use a certificate of your own (docs/how-to/deploy.md)."
    )


def _show_limit(folder: Path, *, is_default: bool) -> None:
    """Print the limit of the analyzer's ledger, if there is one here; `is_default` if this command chose it."""
    from shuffledp.collect.deployment.folders import ledger_of
    from shuffledp.ledger import Ledger

    path = ledger_of(folder)
    if path.exists():
        limit = Ledger(path).budget
        hint = "; to have room for more tasks, start again with --limit" if is_default else ""
        print_sentence(f"Limit of all tasks together: {epsilon_delta(limit.epsilon, limit.delta)}. It is final{hint}.")


def joined_as_json(folder: Path, joined: Joined) -> dict[str, Any]:
    """What `deploy join` completed, for --json."""
    return {
        "folder": str(folder),
        "parties": list(joined.parties),
        "fingerprints": {each.party: each.fingerprint for each in joined.chain.parties},
        "tasks": {name: asked.name for name, asked in joined.tasks.items()},
        "written": [str(path) for path in joined.written],
        "next": _after_join(folder, joined),
    }


def show_joined(folder: Path, joined: Joined, *, limit_is_default: bool) -> None:
    """Print the state of the own parties, fingerprints to compare, and the next commands."""
    from shuffledp.collect.deployment.folders import ledger_of

    state = "complete" if joined.tasks else "complete except for a task"
    print_title(f"{', '.join(joined.parties)}: {state}")
    _show_limit(folder, is_default=limit_is_default and ledger_of(folder) in joined.written)
    if len(joined.parties) < len(joined.chain.parties):
        print_sentence("Compare these fingerprints with the other parties by telephone:")
        for each in joined.chain.parties:
            print(f"  {each.party:10}  {each.fingerprint}{'  (your own)' if each.party in joined.parties else ''}")
    print_sentence("Next:" if joined.tasks else "One party creates the task and sends it to the others:")
    for line in _after_join(folder, joined):
        print(line)


def _after_join(folder: Path, joined: Joined) -> list[str]:
    if not joined.tasks:
        return [task_command(joined.chain, folder), f"shuffledp deploy join {shlex.quote(str(folder))}"]
    return [_start_command(folder, party) for party in joined.parties]

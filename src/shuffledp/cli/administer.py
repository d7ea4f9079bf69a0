"""`shuffledp task add`, `list`, `close`, `remove` and `tokens`: the tasks of a running server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from shuffledp.cli import options as given
from shuffledp.cli.options import argument, flag, option
from shuffledp.cli.output import failures_in_json, print_json, print_sentence
from shuffledp.errors import DataError, ParameterError, RefusedError
from shuffledp.formatting import counted, shown

if TYPE_CHECKING:
    from shuffledp.collect.client.operator import OperatorClient


@dataclass(frozen=True, kw_only=True)
class Operator:
    """A running server, and the token to manage its tasks."""

    server: Annotated[str, option("URL", "The shuffler or the analyzer, such as https://host:port.")]
    token: Annotated[Path, option("FILE", "The operator's token, as `shuffledp keys token` wrote it.")]

    def client(self) -> OperatorClient:
        """Return the client that manages the tasks."""
        from shuffledp.collect.client.operator import OperatorClient
        from shuffledp.collect.crypto.keys import read_word

        return OperatorClient(self.server, read_word(self.token))


Which = Annotated[str, argument("FILE|ID")]

_STATES = {
    "before": "opens later",
    "open": "open",
    "closed": "closed",
    "closed-early": "closed early",
}


_BEGINNING, _TOO_SHORT = re.compile("[0-9a-f]{8,63}"), re.compile("[0-9a-f]{1,7}")
"""First digits of an id that stand for it, such as the 16 on the pages of the console."""


def _name_of(which: str, client: OperatorClient) -> str:
    """The id of a task or series, given as such, by its first digits, or by its file."""
    from shuffledp.collect.task import read_task_or_series
    from shuffledp.collect.task.public_file import is_hexadecimal

    text = which.strip().lower()
    if is_hexadecimal(text):
        return text
    if _TOO_SHORT.fullmatch(text) and not Path(which).exists():
        raise ParameterError(f"the id must have at least its first 8 digits, got {text}")
    if not _BEGINNING.fullmatch(text) or Path(which).exists():
        return read_task_or_series(Path(which)).name
    found = [each["id"] for each in client.tasks() if each["id"].startswith(text)]
    if len(found) != 1:
        message = (
            f"the id must be that of one task of the server, got {text}, with which "
            f"{counted(len(found), 'id begins', things='ids begin') if found else 'no id begins'}: "
            "`shuffledp task list` prints all"
        )
        raise DataError(message) if found else RefusedError(message, reason="unknown-task")
    return str(found[0])


def add(file: given.File, operator: Operator, json: given.Json = False) -> None:
    """Add a task to a running server, without a restart.

    FILE is a task or a series. Start the server with --operator HASH, and put
    its private key of the task into the folder of --key first. The server
    checks the task as at a start. Add it to every server of the task, first
    to the analyzer. Adding it again changes nothing.

    Exit codes: 0 added, now or before; 2 wrong option; 3 refused, or a file
    cannot be used; 5 the server cannot be reached.
    """
    from shuffledp.collect.task import read_task_or_series

    with failures_in_json(json, state="failed"):
        asked = read_task_or_series(file)
        about, new = operator.client().add(asked.canonical)
    if json:
        print_json({**about, "new": new})
        return
    print_sentence(f"{'Added' if new else 'Served already'}: {_described(about)}")


def listed(operator: Operator, json: given.Json = False) -> None:
    """List the tasks of a running server and their states."""
    with failures_in_json(json, state="failed"):
        found = operator.client().tasks()
    if json:
        print_json({"tasks": found})
        return
    if not found:
        print_sentence("The server has no task.")
        return
    for each in found:
        print(each["id"])  # on a line of its own, to be copied
        print_sentence(f"  {_when(each)}: {shown(str(each.get('question')), width=60)}")
        if reports := _reports(each):
            print_sentence(f"  {reports}")
        if problem := _problem(each):
            print_sentence(f" {problem}")


def close(
    which: Which,
    operator: Operator,
    yes: Annotated[bool, flag("--yes", "Confirm: a closed task is never opened again.")] = False,
    json: given.Json = False,
) -> None:
    """Close a task before its closing time.

    FILE or ID is a task or a series; the first 8 digits of an id are enough
    if no other begins with them. At the first shuffler, complete batches
    are still forwarded, the reports in an incomplete one are deleted unread,
    and further reports are refused. Other servers go on with the batches in
    flight. Closing it again changes nothing.
    """
    with failures_in_json(json, state="failed"):
        client = operator.client()
        name = _name_of(which, client)
        if not yes:
            raise ParameterError(f"nothing was closed: add --yes to close the task {name} permanently")
        about = client.close(name)
    if json:
        print_json(about)
        return
    print_sentence(f"Closed: {_described(about)}")
    if short := _short_by(about):
        print_sentence(f"{short}: its reports were deleted.")


def remove(
    which: Which,
    operator: Operator,
    unchecked: Annotated[
        bool, flag("--unchecked", "Do not ask earlier servers for batches; without its key, delete those here.")
    ] = False,
    json: given.Json = False,
) -> None:
    """Remove a closed task from a running server, which then no longer lists it.

    FILE or ID is a task or a series. All its batches must be forwarded or
    counted, also those of the servers before this one. An analyzer keeps the releases in its store, and no longer shows
    them; `shuffledp task add` shows them again. Removing it again changes
    nothing.
    """
    with failures_in_json(json, state="failed"):
        client = operator.client()
        name = _name_of(which, client)
        try:
            client.remove(name, unchecked=unchecked)
        except RefusedError as error:  # pages show the sentence of the server, too
            sentence = str(error).replace("the task unchecked", "the task with --unchecked")
            raise RefusedError(sentence, reason=error.reason) from None
    if json:
        print_json({"id": name, "state": "removed"})
    else:
        print_sentence(f"Removed: {name}")


def tokens(
    which: Which,
    operator: Operator,
    hashes: Annotated[
        Path | None, option("FILE", "SHA-256 of one-time tokens, as `shuffledp keys tokens` wrote them.")
    ] = None,
    secret: Annotated[Path | None, option("FILE", "The shared secret; only its SHA-256 is sent.")] = None,
    json: given.Json = False,
) -> None:
    """Add one-time tokens, or the shared secret, to a task at its first shuffler.

    FILE or ID is a task or a series with --admission tokens or secret. Only
    hashes are sent. Adding them again changes nothing.
    """
    with failures_in_json(json, state="failed"):
        if (hashes is None) == (secret is None):
            raise ParameterError("give either --hashes or --secret")
        given_hashes, client = _hashes(hashes, secret), operator.client()
        name = _name_of(which, client)
        if secret is not None and any(
            each["id"] == name and each.get("admission") == "tokens" for each in client.tasks()
        ):  # the secret would be a token that is easier to guess
            raise ParameterError("the task needs one-time tokens: use --hashes")
        added = client.add_hashes(name, given_hashes)
    if json:
        print_json({"added": added})
    else:
        print_sentence(f"{counted(added, 'new hash', things='new hashes')} added.")


def _hashes(hashes: Path | None, secret: Path | None) -> Sequence[str]:
    from shuffledp.collect.crypto.keys import read_word
    from shuffledp.collect.server.auth import hash_of, read_hashes

    if hashes is None:
        assert secret is not None
        return [hash_of(read_word(secret)).hex()]
    return [each.hex() for each in read_hashes(hashes, name="hashes")]


def _described(about: dict[str, Any]) -> str:
    question = shown(str(about.get("question")), width=80)
    return f"{about['kind']} {about['id']}, {_state(about)} ({question}).{_problem(about)}"


def _problem(about: dict[str, Any]) -> str:
    return f" It cannot be served: {shown(str(about['problem']), width=400)}" if about.get("problem") else ""


def _reports(about: dict[str, Any]) -> str:
    waiting = (about.get("counters") or {}).get("waiting")
    counts = [f"{counted(waiting, 'report')} waiting"] if isinstance(waiting, int) else []
    return "; ".join([*counts, *filter(None, [_short_by(about)])])


def _short_by(about: dict[str, Any]) -> str:
    short_by = (about.get("counters") or {}).get("short_by")
    if not isinstance(short_by, int) or not short_by:
        return ""
    return f"{counted(short_by, 'person was', things='people were')} missing from the last batch"


def _state(about: dict[str, Any]) -> str:
    return _STATES.get(about["state"], "unknown")


def _when(about: dict[str, Any]) -> str:
    """The state, with the closing time unless it no longer counts."""
    times = {"before": ", closes", "open": " until", "closed": " since"}
    link = times.get(about["state"])
    return _state(about) + ("" if link is None else f"{link} {shown(str(about.get('closes')), width=40)}")

"""The servers of a collection: `shuffledp shuffler`, `shuffledp analyzer`, and `shuffledp health`, which asks one.

With --config the options of a server come from a TOML file. Its keys are the options without `--`, and relative paths
start at its folder. Options on the command line win.
"""

from __future__ import annotations

import difflib
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlsplit

import typer

from shuffledp.cli import options as given
from shuffledp.cli.options import RESULT, argument, flag, integer, option
from shuffledp.cli.output import print_json, print_note, print_sentence
from shuffledp.errors import DataError, ParameterError, UnreachableError
from shuffledp.formatting import shown, shown_address

if TYPE_CHECKING:
    from shuffledp.collect.server.run import Certificate

_FILE, _NUMBER = "FILE", "NUMBER"
"""Kinds of options that need more than their text, as the help shows them."""

_STORE, _SQLITE = "store", "sqlite:///"
"""The option that takes a path or an address, and the address that holds a path."""

_TYPES = {str: "text", bool: "true or false", int: "a whole number", float: "a number", list: "a list", dict: "a table"}


def read_config(file: Path, options: Iterable[Any]) -> dict[str, Any]:
    """Return the values in a file by parameter, as texts that the options of a command parse."""
    content = _content(file)
    known = {each.opts[0].removeprefix("--"): each for each in options}
    found = {}
    for key, value in content.items():
        if key not in known:
            near = difflib.get_close_matches(key.replace("_", "-"), known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it must be one of {', '.join(known)}"
            raise ParameterError(f"{file} has an unknown key, {key!r:.60}: {hint}")
        found[known[key].name] = _value_of(value, known[key], key=key, file=file)
    return found


def _content(file: Path) -> Mapping[str, Any]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"config: {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"config: {file} cannot be read: it is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"config: {file} is not TOML: {error}") from None
    if not content:
        raise DataError(f"config: {file} is empty: it must have options of the command, such as port = 8000")
    return content


def _value_of(value: Any, option: Any, *, key: str, file: Path) -> Any:
    """Return the value of an option; the option itself checks its range."""
    if option.is_flag:
        return _checked(value, (bool,), "true or false", key=key, file=file)
    if option.multiple:
        each = value if isinstance(value, list) else [value]
        return [_text_of(one, option, "text or a list of texts", key=key, file=file) for one in each]
    return _text_of(value, option, "text", key=key, file=file)


def _text_of(value: Any, option: Any, what: str, *, key: str, file: Path) -> str:
    if option.metavar == _NUMBER:
        return str(_checked(value, (int, float), "a number", key=key, file=file))
    text: str = _checked(value, (str,), what, key=key, file=file)
    folder = file.resolve().parent
    if option.metavar == _FILE or (key == _STORE and "://" not in text):
        return str(folder / text)
    if key == _STORE and text.startswith(_SQLITE):
        return f"{_SQLITE}{Path(quote(str(folder))) / text.removeprefix(_SQLITE)}"
    return text


def _checked(value: Any, types: tuple[type, ...], what: str, *, key: str, file: Path) -> Any:
    """Refuse a value of another type, without showing it: it may be a secret in the wrong place."""
    if type(value) not in types:
        raise ParameterError(f"{key} must be {what}, got {_TYPES.get(type(value), 'a time')} in {file}")
    if value == "":
        raise ParameterError(f"{key} must be {what}, got an empty text in {file}")
    return value


def _is_from(context: Any, name: str, source: str) -> bool:
    found = context.get_parameter_source(name)
    return found is not None and found.name == source


def in_file(context: Any, error: typer.BadParameter) -> ParameterError | None:
    """Return the error about an option that is missing or wrong in the file of --config; None about any other."""
    file, option = context.params.get("config"), error.param
    if file is None or option is None or option.name is None:
        return None
    if _is_from(context, option.name, "DEFAULT_MAP"):
        return ParameterError(f"{option.opts[0].removeprefix('--')} {error.message} in {file}")
    if _is_from(context, option.name, "DEFAULT"):  # required, and given nowhere
        return ParameterError(f"{option.opts[0]} must be given, in {file} or on the command line")
    return None


def note_file(context: Any, error: ParameterError) -> None:
    """Note on an error about an option that its value is in the file of --config."""
    file = context.params.get("config")
    name = str(error).partition(" ")[0]
    if file is not None and _is_from(context, name, "DEFAULT_MAP"):
        error.add_note(f"{name} is set in {file}")


def _use(context: typer.Context, file: Path | None) -> Path | None:
    if file is not None:
        options = [each for each in context.command.params if each.name != "config"]
        context.default_map = {**(context.default_map or {}), **read_config(file, options)}
    return file


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar=_FILE,
        help="TOML file with options of this command, such as port = 8000; the command line wins.",
        is_eager=True,  # before the options that it may give
        callback=_use,
    ),
]


NETWORK = "Network"

Tasks = Annotated[
    list[Path] | None,
    option("FILE", "A task to serve, or a folder of tasks; may be repeated.", name="--task"),
]
Port = Annotated[int, integer("Port to listen on; 0 for any, which is logged.")]
Host = Annotated[str, option("ADDRESS", "Address to listen on; 0.0.0.0 for all interfaces.", panel=NETWORK)]


@dataclass(frozen=True, kw_only=True)
class Tls:
    """The certificate of a server."""

    certificate: Annotated[
        Path | None, option("FILE", "Certificate with its chain, for TLS without a proxy.", panel=NETWORK)
    ] = None
    certificate_key: Annotated[Path | None, option("FILE", "The private key of the certificate.", panel=NETWORK)] = None

    def read(self) -> Certificate | None:
        """Return the certificate; None behind a proxy that terminates TLS."""
        from shuffledp.collect.server.run import Certificate

        if self.certificate is None and self.certificate_key is None:
            return None
        if self.certificate is None or self.certificate_key is None:
            raise ParameterError("--certificate and --certificate-key must be given together")
        return Certificate(certificate=self.certificate, key=self.certificate_key)


_ADMISSION, _SHUFFLER_CHAIN = "Admission", "Previous and next server"


def shuffler(
    key: Annotated[
        list[Path],
        option("FILE", "Private key of this shuffler for a task, or a folder of keys; may be repeated.", name="--key"),
    ],
    store: Annotated[str, option("URL", "Store of reports: a file (SQLite), or postgresql://...")],
    port: Port,
    *,
    task: Tasks = None,
    next: Annotated[
        list[str] | None,
        option("HASH", "SHA-256 of the token of the next server; may be repeated.", panel=_SHUFFLER_CHAIN),
    ] = None,
    upstream: Annotated[
        str | None,
        option("URL", "The previous shuffler, if not at its address in the task.", panel=_SHUFFLER_CHAIN),
    ] = None,
    token: Annotated[
        Path | None,
        option("FILE", "The token for the previous shuffler; only for later shufflers.", panel=_SHUFFLER_CHAIN),
    ] = None,
    admission_secret: Annotated[
        Path | None, option("FILE", "The secret of the task, if it requires one.", panel=_ADMISSION)
    ] = None,
    admission_hashes: Annotated[
        Path | None,
        option("FILE", "SHA-256 of the one-time tokens, one per line, if required.", panel=_ADMISSION),
    ] = None,
    operator: Annotated[
        list[str] | None,
        option("HASH", "SHA-256 of a token to manage tasks at /operator or with `shuffledp task`; may be repeated."),
    ] = None,
    page: Annotated[
        bool,
        flag("--page", "Serve the survey page at /.", panel=NETWORK),
    ] = False,
    host: Host = "127.0.0.1",
    workers: Annotated[int, integer("Processes that accept reports.", panel=NETWORK)] = 1,
    tls: Tls,
    most_per_second: Annotated[
        float | None,
        option("NUMBER", "The most reports per second; default: no limit.", panel=NETWORK),
    ] = None,
    config: Config = None,
) -> None:
    """Run a shuffler: accept reports, mix them in batches, and forward them.

    The key determines the position in the chain. The first shuffler accepts
    reports; a later one pulls batches from the previous one. A report is
    acknowledged after it is on disk, and incomplete batches are never
    forwarded. With --operator, the page /operator and `shuffledp task add` add
    tasks while it runs, and --task is not needed. SIGTERM or Ctrl-C stops it
    gracefully. Logs are JSON lines on stderr without personal data.
    """
    from shuffledp.collect.server.run import serve, shared_folder
    from shuffledp.collect.shuffler.app import app_from
    from shuffledp.collect.shuffler.settings import Settings

    certificate = tls.read()
    read_settings = partial(
        Settings.read,
        task=task or (),
        key=key,
        store=store,
        next=next or (),
        upstream=upstream,
        token=token,
        admission_secret=admission_secret,
        admission_hashes=admission_hashes,
        workers=workers,
        most_per_second=most_per_second,
        page=page,
        operator=operator or (),
    )
    read_settings().check()
    with ExitStack() as folders:  # one process keeps the sessions of operators in its memory
        shared = folders.enter_context(shared_folder()) / "sessions" if operator and workers > 1 else None
        make_app = partial(app_from, partial(read_settings, sessions=shared))
        serve(make_app, port=port, host=host, workers=workers, certificate=certificate)


_ANALYZER_CHAIN = "Previous server"


def analyzer(
    store: Annotated[str, option("URL", "Store of tallies and releases: a file (SQLite), or postgresql://...")],
    port: Port,
    ledger: Annotated[Path, option("FILE", "The ledger; each task is entered once, before its first release.")],
    *,
    task: Tasks = None,
    key: Annotated[
        list[Path] | None,
        option(
            "FILE",
            "Private key of the analyzer for a task, or a folder; may be repeated. Without it, old releases are shown.",
        ),
    ] = None,
    token: Annotated[Path | None, option("FILE", "The token for the last shuffler.")] = None,
    operator: Annotated[
        list[str] | None,
        option("HASH", "SHA-256 of a token to sign in to the console and to add tasks; may be repeated."),
    ] = None,
    upstream: Annotated[
        str | None, option("URL", "The last shuffler, if not at its address in the task.", panel=_ANALYZER_CHAIN)
    ] = None,
    answers: Annotated[
        list[Path] | None,
        option("FILE", "The list of answers of a task that links to it; may be repeated.", panel=RESULT),
    ] = None,
    join: Annotated[
        bool, flag("--join", "Each release counts all batches so far instead of one batch.", panel=RESULT)
    ] = False,
    block: given.Block = None,
    processes: Annotated[
        int | None,
        integer("Processes that decrypt messages; default: one per core."),
    ] = None,
    host: Host = "127.0.0.1",
    tls: Tls,
    config: Config = None,
) -> None:
    """Run an analyzer: pull batches from the last shuffler, count them, and publish histograms.

    Each batch is counted exactly once, also after a crash. Batches with too
    few messages are refused, because their noise is incomplete. Each task is
    entered in the ledger once, before its first release. The console at /
    shows the releases to everyone and, with --operator, the state of the
    servers to its operator, who can add tasks there. SIGTERM or Ctrl-C stops
    it gracefully. Logs are JSON lines on stderr without personal data.
    """
    from shuffledp.collect.analyzer.app import app_from
    from shuffledp.collect.analyzer.settings import Settings
    from shuffledp.collect.server.run import serve

    certificate = tls.read()
    read_settings = partial(
        Settings.read,
        task=task or (),
        key=key or (),
        store=store,
        ledger=ledger,
        token=token,
        upstream=upstream,
        answers=answers or (),
        join=join,
        processes=processes,
        operator=operator or (),
        block=block,
    )
    read_settings().check()
    serve(partial(app_from, read_settings), port=port, host=host, certificate=certificate)


_SECONDS = 10.0
"""Longer than a store takes to answer on a busy machine."""

_LONGEST_TEXT = 400
"""Characters of a server's sentence that are printed."""


def health(
    url: Annotated[str, argument("URL")],
    json: given.Json = False,
) -> None:
    """Ask a server whether it works, for the health check of a container.

    URL is the address of a shuffler or an analyzer inside its network, such as
    http://127.0.0.1:8000. Problems of tasks are printed. Exit codes: 0 it
    answers requests; 3 it does not; 5 it cannot be reached.
    """
    import httpx

    from shuffledp.collect.reaching import certificates, check_server_address, why_unreachable

    check_server_address(url, "URL")
    parts = urlsplit(url)
    if parts.query or parts.fragment:
        raise _no_address(url)
    try:
        answer = httpx.get(f"{url.rstrip('/')}/health", timeout=_SECONDS, trust_env=False, verify=certificates())
    except httpx.InvalidURL:
        raise ParameterError(f"URL must be an address such as https://host:port, got {shown(url)}") from None
    except httpx.HTTPError as error:
        raise UnreachableError(f"{url} cannot be reached: {why_unreachable(error)}") from None
    if answer.status_code == HTTPStatus.NOT_FOUND and parts.path.strip("/"):  # behind a proxy, a path may be right
        raise _no_address(url)
    try:
        content = answer.json()
    except (ValueError, RecursionError):
        raise DataError(f"{url} is no server of shuffledp: its answer is not JSON") from None
    if not _is_health(content, working=answer.is_success):
        raise DataError(f"{url} is no server of shuffledp: its answer is not about its health")
    if json:
        print_json(content)
    reason, detail = content.get("reason"), content.get("detail")
    if not answer.is_success:
        if not json:
            _print_problems(content)
        told = detail or reason or f"status {answer.status_code}"
        raise DataError(f"{url} does not work: {shown(told, width=_LONGEST_TEXT)}")
    if not json:
        print_sentence(shown(content["state"]) + ("" if reason is None else f": {shown(reason)}"))
        _print_problems(content)


def _no_address(url: str) -> ParameterError:
    return ParameterError(f"URL must be the address of a server without a path, got {shown_address(url)}")


def _print_problems(content: dict[str, Any]) -> None:
    """Print the problems of tasks; one that several tasks have once, with their number."""
    tasks = defaultdict[str, list[str]](list)
    for task, problems in content.get("problems", {}).items():
        for problem in dict.fromkeys(problems):
            tasks[problem].append(task)
    for problem, having in tasks.items():
        text = shown(problem, width=_LONGEST_TEXT)
        print_note(f"{shown(having[0][:16])}: {text}" if len(having) == 1 else f"{text} ({len(having):,} tasks)")


def _is_health(content: Any, *, working: bool) -> bool:
    """Whether an answer has the types of a server's health: a server that works says its state."""
    if not isinstance(content, dict) or (working and not isinstance(content.get("state"), str)):
        return False
    problems = content.get("problems", {})
    return all(isinstance(content.get(name), str | None) for name in ("reason", "detail")) and (
        isinstance(problems, dict)
        and all(isinstance(each, list) and all(isinstance(text, str) for text in each) for each in problems.values())
    )

"""`--config FILE`: the options of a command from a TOML file, whose keys are the options without `--`.

Relative paths start at the folder of the file. Options on the command line win.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from shuffledp.errors import DataError, ParameterError

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
    """Take the values of the file as defaults of the other options."""
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

"""Puts the public names of a module into the pages of docs/reference/api, as the site is built.

A line `<!-- names of shuffledp.protocols -->` becomes an entry for each name in that module's `__all__`, which
mkdocstrings fills from signatures and docstrings. mkdocs.yml lists this file under `hooks`.
"""

import importlib
import inspect
import pkgutil
import re
from types import ModuleType
from typing import Any

NAMES = re.compile(r"^<!-- names of (?P<module>[\w.]+) -->$", flags=re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """What mkdocs calls with the text of each page before it is rendered."""
    return NAMES.sub(lambda match: entries(match["module"]), markdown)


def entries(name: str) -> str:
    """A mkdocstrings entry for each public name, under the module that defines it."""
    return "\n\n".join(f"::: {path}" for path in sorted(public(name), key=lambda path: path.rpartition(".")[2].lower()))


def public(name: str) -> set[str]:
    """Full paths of a module's public names: of `__all__` or, without one, of the modules inside."""
    module = importlib.import_module(name)
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return {_path(module, each) for each in listed}
    inside = [importlib.import_module(part.name) for part in pkgutil.walk_packages(module.__path__, f"{name}.")]
    return {
        _path(part, each)
        for part in inside
        for each, value in vars(part).items()
        if not each.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == part.__name__
    }


def _path(module: ModuleType, name: str) -> str:
    value = getattr(module, name)
    return f"{getattr(value, '__module__', module.__name__)}.{name}"

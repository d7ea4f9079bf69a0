"""Fills the pages of docs/reference/api with the public names of their modules when the site is built.

A line `<!-- names of shuffledp.protocols -->` becomes an entry for each name in that module's `__all__`, which
mkdocstrings fills in from signatures and docstrings. mkdocs.yml lists this file under `hooks`.
"""

import importlib
import inspect
import pkgutil
import re
from types import ModuleType
from typing import Any

NAMES = re.compile(r"^<!-- names of (?P<module>[\w.]+) -->$", flags=re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the markers of a page before mkdocs renders it."""
    return NAMES.sub(lambda match: entries(match["module"]), markdown)


def entries(name: str) -> str:
    """Return a mkdocstrings entry for each public name, under the module that defines it."""
    return "\n\n".join(f"::: {path}" for path in sorted(public(name), key=lambda path: path.rpartition(".")[2].lower()))


def public(name: str) -> set[str]:
    """Return full paths of a module's public names: those in `__all__`, or those of its submodules without one."""
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

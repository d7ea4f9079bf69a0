"""HTML from Jinja2 templates: one environment for the report, the survey page and the console.

Every value is escaped unless it is markup that another template rendered. An undefined name in a template is an error.
Python code prepares plain values and pictures; the markup and the style are in `templates/`.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from shuffledp.errors import MissingExtraError
from shuffledp.formatting import counted, moment, privacy_figure, readable, sentence, share_at_most, shown

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def render(template: str, /, *, package: str = "", **context: Any) -> Markup:
    """Render a template of this package, or of another package that has its own folder `templates`."""
    rendered = environment(package).get_template(template).render(context)  # names the extra if Jinja2 is missing
    from markupsafe import Markup

    return Markup(rendered)


@cache
def environment(package: str = "") -> Environment:
    """Return the environment whose templates are those of `package`, then those of this package."""
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError("jinja2", extra="html") from None
    packages = [package, __package__] if package else [__package__]
    found = Environment(
        loader=ChoiceLoader([PackageLoader(each) for each in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    found.filters.update(
        bound=_bound,
        figure=privacy_figure,
        label=label,
        moment=moment,
        number=_number,
        people=partial(counted, thing="person"),
        sentence=sentence,
        shown=_shown,
        whole=_whole,
    )
    found.globals.update(counted=counted, style=style)
    return found


def label(text: Any, width: int = 40) -> Markup:
    """Return text that people wrote as one short printable line, isolated from the writing direction around it."""
    from markupsafe import Markup

    return Markup("<bdi>{}</bdi>").format(shown(text, width=width))


def _shown(text: Any, width: int = 40) -> str:
    return shown(text, width=width)


def _bound(bound: float, digits: int = 2) -> str:
    """An upper bound, rounded up."""
    return share_at_most(bound, digits=digits)


def _number(number: int) -> str:
    return readable(int(number))


def _whole(number: float) -> str:
    """An estimate as a whole number of people; it can be negative."""
    return f"{round(number):,}"


@cache
def style() -> Markup:
    """Return the style of every page, for a file or for the `<style>` element of a page that stands alone."""
    return stylesheet("bars.css") + stylesheet("heat_map.css") + stylesheet("style.css") + stylesheet("trend.css")


def stylesheet(name: str) -> Markup:
    """Return a style sheet of this package. It is our own text, so it is not escaped."""
    loader = environment().loader
    assert loader is not None
    from markupsafe import Markup

    return Markup(loader.get_source(environment(), name)[0])


@cache
def style_source() -> str:
    """Return the source that allows exactly this style, inside a page, in a content security policy."""
    return f"'sha256-{b64encode(hashlib.sha256(style().encode()).digest()).decode()}'"

"""Small pieces of HTML. Whatever is not HTML already is escaped, so that no label can be anything but text.

What every page of a collection has around its content: one look, and nothing that comes from anybody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape


class Html(str):
    """Text that is HTML already; all other text is escaped where it is put into a page."""

    __slots__ = ()

    def __add__(self, other: object) -> Html:
        return Html(f"{self}{html(other)}")


NOTHING = Html()


def html(text: object) -> Html:
    """Any text as HTML."""
    return text if isinstance(text, Html) else Html(escape(str(text)))


def joined(parts: Iterable[object], between: str = "\n") -> Html:
    """Several pieces, one after the other."""
    return Html(between.join(html(part) for part in parts))


def label(text: object) -> Html:
    """Words of somebody else, which may run from right to left, apart from the words around them."""
    return Html(f"<bdi>{html(text)}</bdi>")


def tag(name: str, content: object, **attributes: object) -> Html:
    """An element; an attribute's underscores are hyphens, one at its end is left out."""
    listed = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items()
    )
    return Html(f"<{name}{listed}>{html(content)}</{name}>")


def link(address: str, words: object, **attributes: object) -> Html:
    """A link to a page of this server."""
    return tag("a", words, href=address, **attributes)


def live(name: str, content: object, *, says: str = "") -> Html:
    """A part in whose place console.js puts a newer one; `says` is what a screen reader is told when it changes."""
    return tag("section", content, id=name, data_live="", data_says=says)


def facts(rows: Mapping[str, object]) -> Html:
    """Names and what they are."""
    lines = joined(tag("tr", Html(tag("th", name, scope="row") + tag("td", value))) for name, value in rows.items())
    return tag("table", tag("tbody", lines), class_="made")


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, words: Sequence[int] = ()) -> Html:
    """A table whose first column names the rows; the columns numbered in `words` hold text, the others numbers."""

    def kind(at: int) -> dict[str, str]:
        return {"class_": "words"} if at in words else {}

    def line(row: Sequence[object]) -> Html:
        # on a telephone a row is a block, and every cell says what it is
        cells = (tag("td", cell, data_head=head[at], **kind(at)) for at, cell in enumerate(row[1:], 1))
        return tag("tr", tag("th", row[0], scope="row") + joined(cells, ""))

    first = joined((tag("th", each, scope="col", **kind(at)) for at, each in enumerate(head)), "")
    lines = joined(line(row) for row in rows)
    return Html(f'<table class="all stacked"><thead><tr>{first}</tr></thead><tbody>{lines}</tbody></table>')


def cards(numbers: Iterable[tuple[object, object]]) -> Html:
    """Numbers that matter, and what each is."""
    each = joined((tag("div", tag("b", key) + tag("span", words), class_="card") for key, words in numbers), "")
    return tag("div", each, class_="cards")


def paragraphs(parts: Mapping[str, str]) -> Html:
    """Paragraphs, each with its title in bold."""
    return joined(Html(f"<p><b>{html(title)}:</b> {label(text)}</p>") for title, text in parts.items())


def document(title: object, body: object, *, files: str, script: bool = True) -> str:
    """A whole page; its style, icon and script are `files` with .css, .svg and .js, and beside them is the look."""
    loaded = tag("script", "", type="module", src=f"{files}.js") if script else NOTHING
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>{html(title)}</title>
<link rel="icon" href="{files}.svg" type="image/svg+xml">
<link rel="stylesheet" href="{files.rpartition("/")[0]}/look.css">
<link rel="stylesheet" href="{files}.css">
{loaded}
</head>
<body class="shuffledp">
{html(body)}
</body>
</html>
"""


def skip_link(words: str) -> Html:
    """Leads whoever uses a keyboard past what every page begins with."""
    return Html(f'<a class="skip" href="#main">{html(words)}</a>')

"""What every page of a collection has around its content: one look, and nothing that comes from anybody else."""

from __future__ import annotations

from shuffledp.collection.pages.markup import NOTHING, Html, html, tag


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

"""What every page of the console has around its content."""

from __future__ import annotations

from shuffledp import __version__
from shuffledp.collection.console.markup import NOTHING, Html, html, joined, label, link, tag

_LEAVE = Html(
    '<form method="post" action="/operator/logout"><button class="quiet" type="submit">Sign out</button></form>'
)


def page(title: str, content: object, *, here: str = "", signed_in: bool = False) -> str:
    """A whole page; `here` is the address of the page among those that the head names."""
    links = joined(
        tag("li", link(address, words, **({"aria_current": "page"} if address == here else {})))
        for address, words in (("/", "Results"), ("/operator", "Operator"))
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{html(title)}</title>
<link rel="icon" href="/console/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/look.css">
<link rel="stylesheet" href="/console/console.css">
<script type="module" src="/console/console.js"></script>
</head>
<body class="shuffledp">
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><a class="brand" href="/">shuffledp</a>
<nav aria-label="Pages"><ul>{links}</ul></nav>{_LEAVE if signed_in else ""}</header>
<main id="main" tabindex="-1">
{html(content)}
</main>
<p id="news" class="visually-hidden" role="status" aria-live="polite"></p>
<p id="connection" class="banner" role="alert" hidden></p>
<footer>Served by shuffledp {html(__version__)}: private histograms in the shuffled model of differential privacy.
Nothing on this page comes from anybody else.</footer>
</body>
</html>
"""


def titled(title: object, under: object = "") -> Html:
    """The heading of a page."""
    return tag("h1", label(title)) + (tag("p", under, class_="under") if under else NOTHING)

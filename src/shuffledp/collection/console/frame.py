"""What every page of the console has around its content."""

from __future__ import annotations

from shuffledp import __version__
from shuffledp.collection.pages.frame import document, skip_link
from shuffledp.collection.pages.markup import NOTHING, Html, html, joined, label, link, tag

_LEAVE = Html(
    '<form method="post" action="/operator/logout"><button class="quiet" type="submit">Sign out</button></form>'
)


def page(title: str, content: object, *, here: str = "", signed_in: bool = False) -> str:
    """A whole page; `here` is the address of the page among those that the head names."""
    links = joined(
        tag("li", link(address, words, **({"aria_current": "page"} if address == here else {})))
        for address, words in (("/", "Results"), ("/operator", "Operator"))
    )
    body = f"""{skip_link("Skip to the content")}
<header class="top"><a class="brand" href="/">shuffledp</a>
<nav aria-label="Pages"><ul>{links}</ul></nav>{_LEAVE if signed_in else ""}</header>
<main id="main" tabindex="-1">
{html(content)}
</main>
<p id="news" class="visually-hidden" role="status" aria-live="polite"></p>
<p id="connection" class="banner" role="alert" hidden></p>
<footer>Served by shuffledp {html(__version__)}: private histograms in the shuffled model of differential privacy.
Nothing on this page comes from anybody else.</footer>"""
    return document(title, Html(body), files="/console/console")


def titled(title: object, under: object = "") -> Html:
    """The heading of a page."""
    return tag("h1", label(title)) + (tag("p", under, class_="under") if under else NOTHING)

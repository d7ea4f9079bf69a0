"""How every server of a task is, and what does not work, in words."""

from __future__ import annotations

from collections.abc import Sequence

from shuffledp.collection.console.happened import name_of
from shuffledp.collection.console.hops import Hop
from shuffledp.collection.pages.markup import NOTHING, Html, joined, label, table, tag
from shuffledp.words import moment, shown

_LONGEST = 120
"""Characters of an address that are shown."""

STORE_AWAY = "The analyzer's store does not answer: nothing can be counted or shown until it does."
WORK_ENDED = "Work that should run beside the requests has ended: start the analyzer anew."


def problems_of(hops: Sequence[Hop], own: Sequence[str]) -> list[tuple[str, str]]:
    """Who has a problem, and which."""
    found = [("Analyzer", each) for each in own]
    for hop in hops:
        name = name_of(hop.position, len(hops))
        if hop.trouble is not None:
            found.append((name, hop.trouble))
        if hop.status is not None and hop.answers:
            found += [(name, each) for each in hop.status.problems]
    return found


def problems_section(problems: Sequence[tuple[str, str]]) -> Html:
    """All that does not work; empty if everything does."""
    if not problems:
        return NOTHING
    listed = joined(Html(f"<li><b>{label(who)}:</b> {label(what)}</li>") for who, what in problems)
    return tag("div", tag("b", "What does not work at the moment") + tag("ul", listed), class_="open")


def health_section(hops: Sequence[Hop], *, address: str, store: bool, working: bool, own: Sequence[str]) -> Html:
    """Every server, whether it answers, and when it did last."""
    rows: list[tuple[object, ...]] = [
        (
            name_of(hop.position, len(hops)),
            _state(hop),
            moment(hop.seen) if hop.seen else "not since this analyzer was started",
            tag("code", shown(hop.address, width=_LONGEST)),
        )
        for hop in hops
    ]
    rows += [
        ("Analyzer", _analyzer(working, own), "now", tag("code", shown(address, width=_LONGEST))),
        (
            "Its store",
            _status("good", "answers") if store else _status("bad", "does not answer"),
            "now" if store else "",
            "",
        ),
    ]
    listed = table(("server", "how it is", "last seen", "address"), rows, words=(1, 2, 3))
    return tag("h2", "Servers") + listed


def _state(hop: Hop) -> Html:
    if not hop.answers:
        return _status("bad", "does not answer") if hop.trouble else _status("waiting", "is being asked")
    if hop.trouble or (hop.status is not None and hop.status.problems):
        return _status("waiting", "answers, and has problems")
    return _status("good", "answers")


def _analyzer(working: bool, own: Sequence[str]) -> Html:
    if not working:
        return _status("bad", "has stopped counting")
    return _status("waiting", "works, and has problems") if own else _status("good", "works")


def _status(kind: str, words: str) -> Html:
    return tag("span", words, class_=f"status {kind}")

"""A self-contained HTML page about a release: no scripts, no network; for telephones, screens and paper."""

from __future__ import annotations

from html import escape

from shuffledp.brief import brief
from shuffledp.jobs.release import Release
from shuffledp.jobs.trust import why_no_messages
from shuffledp.report import parts
from shuffledp.report.look import LOOK
from shuffledp.report.recipe import call, command
from shuffledp.words import counted, share_at_most, shown


def page(release: Release) -> str:
    """The report."""
    name, people = escape(shown(release.column)), counted(release.estimate.people, "person", things="people")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="shuffledp {escape(release.version)}">
<title>{name}: a private histogram of {people}</title>
<style>{LOOK}</style>
</head>
<body class="shuffledp">
<main>
<h1><bdi>{name}</bdi>{_counted(release)}</h1>
<p class="under">A private histogram of {people}, made on <time>{release.made.isoformat()}</time>.</p>
{parts.cautions(release)}
{parts.cards(release)}
{parts.picture(release)}
<div class="pair">
{parts.by_rank(release)}
{parts.promise(release)}
</div>
{parts.meaning(release)}
{parts.counting(release)}
<h2>How it was made</h2>
{_made(release)}
{parts.table(release)}
</main>
<footer>Made with shuffledp {escape(release.version)}: private histograms in the shuffled model of differential
privacy.</footer>
</body>
</html>
"""


def _counted(release: Release) -> str:
    """What is counted, behind the name of the column or the question."""
    if "task" not in release.asked:
        return ": how many people hold each value"
    return f"{'' if release.column.endswith('?') else ':'} How many people gave each answer"


def _made(release: Release) -> str:
    """Everything that is needed to make such a release again, but for the data."""
    estimate, promise = release.estimate, release.estimate.guarantee
    facts = {
        "Question" if "task" in release.asked else "Column": shown(release.column, width=200),
        "People": f"{estimate.people:,}",
        "Possible values": release.possible_values,
        "Promise": "none was asked for"
        if promise is None
        else f"epsilon {share_at_most(promise.epsilon, digits=6)}, delta {share_at_most(promise.delta, digits=6)} "
        f"for the whole release ({promise.basis})",
        "Protocol": release.title,
        "Messages": why_no_messages(release.protocol)
        if release.messages is None
        else f"{release.messages:,}, made, shuffled and counted",
        "Day": release.made.isoformat(),
        "Program": f"shuffledp {release.version}",
    }
    code = {"In Python": call(release), "On the command line": command(release), "Parameters": brief(release.protocol)}
    rows = [f'<tr><th scope="row">{name}</th><td><bdi>{escape(text)}</bdi></td></tr>' for name, text in facts.items()]
    rows += [
        f'<tr><th scope="row">{name}</th><td><code>{escape(text)}</code></td></tr>'
        for name, text in code.items()
        if text
    ]
    return f'<table class="made"><tbody>{"".join(rows)}</tbody></table>'

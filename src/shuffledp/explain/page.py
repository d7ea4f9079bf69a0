"""How to make such a release again, but for the data: as a program and as a command.

What is shown of a release, as parts of a page: the report and the console put them together.

Each is HTML in which every label is escaped, without a style attribute or a script, with titles of the second level.

A self-contained HTML page about a release: no scripts, no network; for telephones, screens and paper.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from shuffledp.explain.bars import html_bars
from shuffledp.explain.distribution import distribution_section
from shuffledp.explain.heat_map import can_be_mapped, heat_map
from shuffledp.explain.look import LOOK
from shuffledp.explain.release import (
    estimate_paragraphs,
    evaluation_sentence,
    messages_made,
    note_sentences,
    possible_values,
    warning_sentences,
)
from shuffledp.explain.svg import all_values, privacy_curve
from shuffledp.formatting import at_most, counted, sentence, share_at_most, short_repr, shown, surely
from shuffledp.histogram.estimate import MOST_BARS, values_among
from shuffledp.histogram.ordered_estimate import OrderedEstimate
from shuffledp.release.release import Release

_LONGEST_EDGES = 400
"""Characters of edges that are repeated; the JSON of a release has all of them."""


def call(release: Release) -> str:
    """The function with its options; empty where they are not known, or people were asked by a task."""
    if not release.asked or "task" in release.asked:
        return ""
    options = {name: repr(value) for name, value in release.asked.items() if name != "domain"}
    if "domain" in release.asked:
        options["domain"] = _in_python(release.asked["domain"])
    return f"private_histogram(data, {', '.join(f'{name}={value}' for name, value in options.items())})"


def _in_python(possible: Any) -> str:
    """What was said to be possible: of one column or, in a list, of each."""
    if isinstance(possible, list):
        return f"[{', '.join(map(_in_python, possible))}]"
    if not isinstance(possible, dict):
        return f"[{possible} values]"
    if "edges" in possible:
        return f"Edges({_short(possible['edges'])!r})"
    return f"Periods({possible['by']!r}, start={possible['from']!r}, stop={possible['to']!r})"


def command(release: Release) -> str:
    """The command that does the same with a file; empty where no column of a file was asked for."""
    if "column" not in release.asked:
        return ""
    words = ["shuffledp", "run", "FILE"]
    for name, value in release.asked.items():
        words += _words(name, value, columns=_columns(release))
    return " ".join(words)


def _columns(release: Release) -> list[str]:
    column = release.asked["column"]
    return [str(name) for name in column] if isinstance(column, list) else [str(column)]


def _words(name: str, value: Any, *, columns: list[str]) -> Iterator[str]:
    """An option, as often as it is needed."""
    if name == "column":
        for column in columns:
            yield from ("--column", shlex.quote(column))
    elif name == "domain":
        parts = value if isinstance(value, list) else [value] * len(columns)
        for column, possible in zip(columns, parts, strict=True):
            yield from _possible_words(possible, of=f"{column}=" if len(columns) > 1 else "")
    else:
        yield f"--{name.replace('_', '-')}"
        if name == "quantiles":
            yield ",".join(f"{share:g}" for share in value)
        elif value is not True:
            yield shlex.quote(f"{value:.15g}" if isinstance(value, float) else str(value))


def _possible_words(possible: Any, *, of: str) -> Iterator[str]:
    """What a column can hold; `of` names the column where there are several."""
    if not isinstance(possible, dict):
        possible = {"domain": "FILE"}
    for option, text in possible.items():
        yield from (f"--{option}", shlex.quote(f"{of}{_short(text) if option == 'edges' else text}"))


def _short(edges: str) -> str:
    return edges if len(edges) <= _LONGEST_EDGES else "EDGES"


MOST_ROWS = 200
"""Of the table; the files have all of them."""


def picture(release: Release) -> str:
    """The values with bars, intervals and numbers; two columns as a table, ordered values with their distribution."""
    return f"{_both_columns(release)}\n{_distribution(release)}\n{_histogram(release)}"


def cards(release: Release) -> str:
    """The numbers that matter most."""
    each = "".join(f'<div class="card"><b>{number}</b><span>{text}</span></div>' for number, text in headline(release))
    return f'<div class="cards">{each}</div>'


def promise(release: Release) -> str:
    """What is promised to each person, as a curve with words; empty where nothing is promised."""
    if release.estimate.guarantee is None:
        return ""
    kind = "exact" if release.privacy.exact else "an upper bound"
    return f"""<figure><h2>What is promised to each person</h2>{privacy_curve(release)}
<figcaption>The smaller epsilon and delta, the less anybody can learn about one person. The curve is {kind}; it holds
for {escape(release.privacy.neighbours)}.</figcaption></figure>"""


def cautions(release: Release) -> str:
    """Warnings, and that a page with an evaluation is not private; the report begins with them."""
    warnings = "".join(
        f'<p class="warning"><b>Warning.</b> {escape(sentence(text))}.</p>' for text in warning_sentences(release)
    )
    found = release.evaluation
    if found is None:
        return warnings
    words = escape(sentence(evaluation_sentence(found)), quote=False)
    return f'{warnings}<p class="open"><b>Not private: do not publish this page.</b> {words}</p>'


def meaning(release: Release) -> str:
    """What the numbers and the promise mean, and what they do not protect."""
    return f"<h2>What this means</h2>\n{story_html(estimate_paragraphs(release.estimate))}"


def counting(release: Release) -> str:
    """How people and their values were counted."""
    notes = "".join(f"<li>{escape(note)}</li>" for note in note_sentences(release))
    return f"<h2>How people were counted</h2>\n<ul>{notes}</ul>"


def table(release: Release) -> str:
    """The values, up to a number of them, with shares and intervals, folded up; empty where none is shown."""
    estimate = release.estimate
    if not len(estimate):
        return ""
    listed = estimate.rows_to_show(MOST_ROWS)
    rows = "".join(
        f'<tr><th scope="row"><bdi>{escape(shown(row.label, width=200))}</bdi></th><td>{round(row.count):,}</td>'
        f'<td class="share">{row.count / estimate.people:.3%}</td><td>{row.low:,} to {row.high:,}</td></tr>'
        for row in listed
    )
    some, number = values_among(row.label for row in listed), estimate.values_shown
    which = f"the first {some:,} of {number:,} values" if some < number else counted(some, "value")
    header = (
        '<tr><th scope="col">value</th><th scope="col">people</th><th scope="col" class="share">share</th>'
        f'<th scope="col">interval, all at once with probability {surely(estimate.beta)}</th></tr>'
    )
    return (
        f"<details><summary>Table: {which}</summary>\n"
        f'<table class="all"><thead>{header}</thead><tbody>{rows}</tbody></table></details>'
    )


def by_rank(release: Release) -> str:
    """A chart of all values, only where the bars do not show everything."""
    if not len(release.estimate):
        return f"<p>{_hidden(release)}</p>"
    if len(release.estimate.rows_to_show(MOST_BARS)) == len(release.estimate):
        return ""
    return f"""<figure><h2>All values that are shown, sorted</h2>{all_values(release)}
<figcaption>The line shows the estimates, the band their intervals. Both axes are logarithmic: each step of the same
length is the same factor.</figcaption></figure>"""


def headline(release: Release) -> list[tuple[str, str]]:
    """The numbers that matter most, and what each is: of the values that are shown, and of those that are not."""
    estimate = release.estimate
    sure = f"with probability {surely(estimate.beta)}"
    numbers = [
        (f"{estimate.people:,}", "person took part" if estimate.people == 1 else "people took part"),
        (f"{estimate.values_shown:,}", "value is shown" if estimate.values_shown == 1 else "values are shown"),
        (f"{release.detection_limit:,} or more", f"people with a value make it {_seen(release)}, {sure}"),
    ]
    if len(estimate):  # what is known of this very release; `release.error` was known before it, for any data
        off = f"people at most, by which a shown number is off, {sure}"
        numbers.append((f"± {at_most(estimate.largest_distance)}", off))
    return numbers


def bars_title(release: Release) -> str:
    """What the bars show."""
    number = release.estimate.values_shown
    if not number:
        return "No value is frequent enough to be shown"
    drawn = values_among(row.label for row in release.estimate.rows_to_show(MOST_BARS))
    if drawn == number:
        return "The one value that is shown" if number == 1 else f"All {number:,} values that are shown"
    return f"The {drawn:,} most frequent of {number:,} values that are shown"


def story_html(paragraphs: Mapping[str, str]) -> str:
    """Paragraphs, each with its title in bold."""
    return "\n".join(
        f"<p><b>{escape(title, quote=False)}:</b> {escape(text, quote=False)}</p>" for title, text in paragraphs.items()
    )


def _seen(release: Release) -> str:
    """What enough people do to a value: it is shown, or it stands out where all are."""
    return "surely seen" if release.estimate.estimator == "truncated" else "stand out from those that nobody has"


def _both_columns(release: Release) -> str:
    """The table of rows and columns, where labels are pairs."""
    if not can_be_mapped(release.estimate):
        return ""
    return f"<h2>Both columns at once</h2>\n{heat_map(release.estimate, column=release.column)}"


def _distribution(release: Release) -> str:
    """The distribution function and quantiles, where values have an order."""
    if not isinstance(release.estimate, OrderedEstimate):
        return ""
    return distribution_section(release.estimate, column=release.column)


def _histogram(release: Release) -> str:
    estimate = release.estimate
    if not len(estimate):
        return f"<h2>{bars_title(release)}</h2>"
    return f"""<h2>{bars_title(release)}</h2>
<figure>{html_bars(estimate.rows_to_show(MOST_BARS), column=release.column)}
<figcaption>Bars are estimates, the thin lines on them intervals: all of them together hold the true numbers with
probability {surely(estimate.beta)}. {_hidden(release)}</figcaption></figure>"""


def _hidden(release: Release) -> str:
    """What is known of a value that is not shown."""
    if release.estimate.estimator == "truncated":
        most = counted(release.estimate.simultaneous.unreported_high, "person", things="people")
        number = release.estimate.values_shown
        other = f"A value that is not among the {number:,}" if number > MOST_BARS else "A value that is not shown"
        return f"No value is shown that nobody holds. {other} is held by at most {most}."
    return "Every possible value is shown with noise, also those that nobody holds."


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
{cautions(release)}
{cards(release)}
{picture(release)}
<div class="pair">
{by_rank(release)}
{promise(release)}
</div>
{meaning(release)}
{counting(release)}
<h2>How it was made</h2>
{_made(release)}
{table(release)}
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
        "Possible values": possible_values(release),
        "Promise": "none was asked for"
        if promise is None
        else f"epsilon {share_at_most(promise.epsilon, digits=6)}, delta {share_at_most(promise.delta, digits=6)} "
        f"for the whole release ({promise.basis})",
        "Protocol": release.title,
        "Messages": messages_made(release),
        "Day": release.made.isoformat(),
        "Program": f"shuffledp {release.version}",
    }
    code = {
        "In Python": call(release),
        "On the command line": command(release),
        "Parameters": short_repr(release.protocol),
    }
    rows = [f'<tr><th scope="row">{name}</th><td><bdi>{escape(text)}</bdi></td></tr>' for name, text in facts.items()]
    rows += [
        f'<tr><th scope="row">{name}</th><td><code>{escape(text)}</code></td></tr>'
        for name, text in code.items()
        if text
    ]
    return f'<table class="made"><tbody>{"".join(rows)}</tbody></table>'

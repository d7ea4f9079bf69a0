"""What is shown of a release, as parts of a page: the report and the console put them together.

Each is HTML in which every label is escaped, without a style attribute or a script, with titles of the second level.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from shuffledp.bars.html import html_bars
from shuffledp.jobs.release import Release
from shuffledp.pipeline.estimate import MOST_BARS, values_among
from shuffledp.pipeline.ordered_estimate import OrderedEstimate
from shuffledp.report.distribution import distribution_section
from shuffledp.report.figures import all_values, privacy_curve
from shuffledp.report.heat_map import can_be_mapped, heat_map
from shuffledp.words import at_most, counted, sentence, shown, surely

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
    warnings = "".join(f'<p class="warning"><b>Warning.</b> {escape(sentence(text))}.</p>' for text in release.warnings)
    found = release.evaluation
    if found is None:
        return warnings
    words = escape(sentence(found.in_words()), quote=False)
    return f'{warnings}<p class="open"><b>Not private: do not publish this page.</b> {words}</p>'


def meaning(release: Release) -> str:
    """What the numbers and the promise mean, and what they do not protect."""
    return f"<h2>What this means</h2>\n{story_html(release.estimate.story())}"


def counting(release: Release) -> str:
    """How people and their values were counted."""
    notes = "".join(f"<li>{escape(note)}</li>" for note in release.notes)
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
        (f"{release.surely_seen:,} or more", f"people with a value make it {_seen(release)}, {sure}"),
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

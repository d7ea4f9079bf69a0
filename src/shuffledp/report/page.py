"""A self-contained HTML page about a release: no scripts, no network; for telephones, screens and paper."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from shuffledp.bars.html import BAR_STYLE, html_bars
from shuffledp.brief import brief
from shuffledp.jobs.release import Release
from shuffledp.jobs.trust import why_no_messages
from shuffledp.pipeline.estimate import MOST_BARS, values_among
from shuffledp.pipeline.ordered_estimate import OrderedEstimate
from shuffledp.report.chart import CHART_STYLE
from shuffledp.report.distribution import distribution_section
from shuffledp.report.figures import all_values, privacy_curve
from shuffledp.report.heat_map import HEAT_STYLE, can_be_mapped, heat_map
from shuffledp.report.recipe import call, command
from shuffledp.words import at_most, counted, sentence, share_at_most, shown, surely

MOST_ROWS = 200
"""Of the table; the files have all of them."""

_STYLE = (
    """
:root { color-scheme: light dark; --ink: #1f2933; --soft: #55616f; --rule: #dde3ea; --paper: #fff; --card: #f3f6f9;
  --mark: #b03a0a; --line-of-chart: #2f6db3; --caution: #fff4ed; --alarm: #fef0f0; --alarm-edge: #b91c1c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaef; --soft: #a3afbd; --rule: #323b46; --paper: #14181d; --card: #1f262e; --mark: #ff9a62;
    --line-of-chart: #8fbcf0; --caution: #33241a; --alarm: #3a1d1f; --alarm-edge: #f87171; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1000px; padding: 2rem 1.2rem 4rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
.under { color: var(--soft); margin: 0 0 1.4rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 140px), 1fr)); gap: .7rem; }
.card { background: var(--card); border-radius: 8px; padding: .7rem .9rem; }
.card b { display: block; font-size: 1.3rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); font-size: .88rem; line-height: 1.35; display: block; }
figure { margin: 0; }
figcaption, .soft { color: var(--soft); font-size: .9rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr)); gap: 0 2rem; }
.warning, .open { border-left: 4px solid var(--mark); background: var(--caution); padding: .7rem 1rem; margin: 1rem 0; }
.open { border-color: var(--alarm-edge); background: var(--alarm); }
table.all, table.made { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .93rem; }
.all th, .all td { text-align: right; padding: .25rem 0 .25rem .6rem; border-bottom: 1px solid var(--rule); }
.all th:first-child { text-align: left; padding-left: 0; overflow-wrap: anywhere; font-weight: normal; }
.made th { text-align: left; font-weight: normal; color: var(--soft); width: 11rem; padding: .2rem .8rem .2rem 0;
  vertical-align: top; }
.made td { padding: .2rem 0; overflow-wrap: anywhere; }
code { font-size: .88em; overflow-wrap: anywhere; }
summary { cursor: pointer; font-weight: 600; margin-top: 1.6rem; }
footer { margin-top: 3rem; color: var(--soft); font-size: .88rem; }
@media (max-width: 600px) {
  body { padding: 1.2rem 1rem 3rem; }
  h1 { font-size: 1.4rem; }
  .made, .made tbody, .made tr, .made th, .made td { display: block; width: auto; }
  .made th { padding: .5rem 0 0; }
  .all .share { display: none; }
}
@media print {
  :root { --ink: #000; --soft: #333; --paper: #fff; --card: #fff; --rule: #999; --mark: #8a2c06;
    --line-of-chart: #1d4f8b; --caution: #fff; --alarm: #fff; }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  .card { border: 1px solid #999; }
  tr, .pair figure, .card { break-inside: avoid; }
  h2 { break-after: avoid; }
}
"""
    + BAR_STYLE
    + CHART_STYLE
    + HEAT_STYLE
)


def page(release: Release) -> str:
    """The report."""
    estimate, name = release.estimate, escape(shown(release.column))
    warnings = "".join(f'<p class="warning"><b>Warning.</b> {escape(sentence(text))}.</p>' for text in release.warnings)
    people = counted(estimate.people, "person", things="people")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="shuffledp {escape(release.version)}">
<title>{name}: a private histogram of {people}</title>
<style>{_STYLE}</style>
</head>
<body class="shuffledp">
<h1><bdi>{name}</bdi>: how many people hold each value</h1>
<p class="under">A private histogram of {people}, made on <time>{release.made.isoformat()}</time>.</p>
{warnings}{_evaluation(release)}
{_cards(release)}
{_both_columns(release)}
{_distribution(release)}
{_histogram(release)}
<div class="pair">
{_all_values(release)}
{_promise(release)}
</div>
<h2>What this means</h2>
{_story(estimate.story())}
<h2>How people were counted</h2>
<ul>{"".join(f"<li>{escape(note)}</li>" for note in release.notes)}</ul>
<h2>How it was made</h2>
{_made(release)}
{_table(release)}
<footer>Made with shuffledp {escape(release.version)}: private histograms in the shuffled model of differential
privacy.</footer>
</body>
</html>
"""


def headline(release: Release) -> dict[str, str]:
    """The numbers that matter most, and what each is: of the values that are shown, and of those that are not."""
    estimate = release.estimate
    sure = f"with probability {surely(estimate.beta)}"
    cards = {
        f"{estimate.people:,}": "person took part" if estimate.people == 1 else "people took part",
        f"{estimate.values_shown:,}": "value is shown" if estimate.values_shown == 1 else "values are shown",
        f"{release.surely_seen:,} or more": f"people with a value make it {_seen(release)}, {sure}",
    }
    # what is known of this very release; `release.error` was known before it, for any data
    if not len(estimate):
        return cards
    return {
        **cards,
        f"± {at_most(estimate.largest_distance)}": f"people at most, by which a shown number is off, {sure}",
    }


def _seen(release: Release) -> str:
    """What enough people do to a value: it is shown, or it stands out where all are."""
    return "surely seen" if release.estimate.estimator == "truncated" else "stand out from those that nobody has"


def bars_title(release: Release) -> str:
    """What the bars show."""
    number = release.estimate.values_shown
    if not number:
        return "No value is frequent enough to be shown"
    drawn = values_among(row.label for row in release.estimate.rows_to_show(MOST_BARS))
    if drawn == number:
        return "The one value that is shown" if number == 1 else f"All {number:,} values that are shown"
    return f"The {drawn:,} most frequent of {number:,} values that are shown"


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


def _both_columns(release: Release) -> str:
    """The table of rows and columns, where labels are pairs."""
    if not can_be_mapped(release.estimate):
        return ""
    return f"<h2>Both columns at once</h2>\n{heat_map(release.estimate, column=release.column)}"


def _all_values(release: Release) -> str:
    """A chart only where the bars do not show everything."""
    if not len(release.estimate):
        return f"<p>{_hidden(release)}</p>"
    if len(release.estimate.rows_to_show(MOST_BARS)) == len(release.estimate):
        return ""
    return f"""<figure><h2>All values that are shown, sorted</h2>{all_values(release)}
<figcaption>The line shows the estimates, the band their intervals. Both axes are logarithmic: each step of the same
length is the same factor.</figcaption></figure>"""


def _promise(release: Release) -> str:
    if release.estimate.guarantee is None:
        return ""
    kind = "exact" if release.privacy.exact else "an upper bound"
    return f"""<figure><h2>What is promised to each person</h2>{privacy_curve(release)}
<figcaption>The smaller epsilon and delta, the less anybody can learn about one person. The curve is {kind}; it holds
for {escape(release.privacy.neighbours)}.</figcaption></figure>"""


def _story(parts: Mapping[str, str]) -> str:
    """Paragraphs, each with its title in bold."""
    return "\n".join(
        f"<p><b>{escape(title, quote=False)}:</b> {escape(text, quote=False)}</p>" for title, text in parts.items()
    )


def _cards(release: Release) -> str:
    cards = "".join(
        f'<div class="card"><b>{key}</b><span>{text}</span></div>' for key, text in headline(release).items()
    )
    return f'<div class="cards">{cards}</div>'


def _hidden(release: Release) -> str:
    if release.estimate.estimator == "truncated":
        most = counted(release.estimate.simultaneous.unreported_high, "person", things="people")
        number = release.estimate.values_shown
        other = f"A value that is not among the {number:,}" if number > MOST_BARS else "A value that is not shown"
        return f"No value is shown that nobody holds. {other} is held by at most {most}."
    return "Every possible value is shown with noise, also those that nobody holds."


def _evaluation(release: Release) -> str:
    found = release.evaluation
    if found is None:
        return ""
    return f'<p class="open"><b>Not private: do not publish this page.</b> {sentence(found.in_words())}</p>'


def _made(release: Release) -> str:
    """Everything that is needed to make such a release again, but for the data."""
    estimate, promise = release.estimate, release.estimate.guarantee
    facts = {
        "Column": shown(release.column, width=200),
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


def _table(release: Release) -> str:
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

"""A self-contained HTML page about a release: no scripts, no network, light and dark."""

from __future__ import annotations

from html import escape

from shuffledp.jobs.release import Release
from shuffledp.report.figures import MOST_BARS, all_bins, largest_bins, privacy_curve
from shuffledp.words import readable, shown

MOST_ROWS = 200

_STYLE = """
:root { color-scheme: light; --ink: #1f2933; --soft: #5f6c7b; --line: #dde3ea; --paper: #fff; --card: #f5f7fa; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1000px; padding: 2rem 1.2rem 4rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
.under { color: var(--soft); margin: 0 0 1.4rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: .8rem; }
.card { background: var(--card); border-radius: 8px; padding: .8rem 1rem; }
.card b { display: block; font-size: 1.35rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); font-size: .88rem; }
figure { margin: 0; }
figure svg { width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: .9rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(380px, 1fr)); gap: 1.2rem; }
.warning, .open { border-left: 4px solid #c2410c; background: #fff4ed; padding: .7rem 1rem; margin: 1rem 0; }
.open { border-color: #b91c1c; background: #fef2f2; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .93rem; }
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; }
summary { cursor: pointer; font-weight: 600; }
footer { margin-top: 3rem; color: var(--soft); font-size: .88rem; }
"""


def page(release: Release) -> str:
    """The report."""
    estimate, name = release.estimate, escape(shown(release.column))
    percent = f"{100 * (1 - estimate.beta):.4g}"
    warnings = "".join(f'<p class="warning"><b>Warning.</b> {escape(text)}.</p>' for text in release.warnings)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}: a private histogram</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{name}: how many people hold each value</h1>
<p class="under">A private histogram of {estimate.people:,} people, with {escape(str(estimate.guarantee))}.</p>
{warnings}{_evaluation(release)}
{_cards(release)}
{_histogram(release)}
<div class="pair">
{_all_values(release)}
<figure><h2>What is promised to each person</h2>{privacy_curve(release)}
<figcaption>Replacing one person's value changes the chance of any outcome by at most a factor of e^epsilon, but for
delta: every point of the curve holds.</figcaption></figure>
</div>
<h2>What this means</h2>
<p>{escape(estimate.explain())}</p>
<ul>{"".join(f"<li>{escape(note)}</li>" for note in release.notes)}</ul>
<details><summary>Table ({min(MOST_ROWS, len(estimate)):,} of {len(estimate):,} values)</summary>
{_table(release, percent)}</details>
<footer>Made with shuffledp. {escape(release.title)}, {readable(estimate.bins)} possible values,
{"drawn from the exact law" if release.messages is None else f"{release.messages:,} messages"}.</footer>
</body>
</html>
"""


def _histogram(release: Release) -> str:
    estimate = release.estimate
    if not len(estimate):
        return "<h2>No value is frequent enough to be reported</h2>"
    return f"""<h2>The {min(MOST_BARS, len(estimate)):,} most frequent of {len(estimate):,} reported values</h2>
<figure>{largest_bins(release)}
<figcaption>Bars are estimates. Lines are intervals that hold the true counts of all values at once, with probability
{1 - estimate.beta:.4g}.</figcaption></figure>"""


def _all_values(release: Release) -> str:
    if not len(release.estimate):
        return f"<p>{_hidden(release)}</p>"
    return f"""<figure><h2>All reported values, sorted</h2>{all_bins(release)}
<figcaption>{_hidden(release)}</figcaption></figure>"""


def headline(release: Release) -> dict[str, str]:
    """The numbers that matter most, and what each is."""
    estimate = release.estimate
    return {
        f"{estimate.people:,}": "people",
        f"{len(estimate):,}": "values reported",
        f"{release.surely_seen:,} or more": "people with a value make it surely seen",
        f"± {release.error:,.0f}": f"people, the largest error of all values ({1 - estimate.beta:.0%} of the time)",
    }


def _cards(release: Release) -> str:
    return (
        '<div class="cards">'
        + "".join(f'<div class="card"><b>{key}</b><span>{text}</span></div>' for key, text in headline(release).items())
        + "</div>"
    )


def _hidden(release: Release) -> str:
    if release.estimate.estimator == "truncated":
        most = release.estimate.simultaneous.unreported_high
        return f"No value is reported that nobody holds. A value that is missing here has at most {most:,} people."
    return "Every possible value is reported with noise, also those that nobody holds."


def _evaluation(release: Release) -> str:
    found = release.evaluation
    if found is None:
        return ""
    return (
        '<p class="open"><b>Not private: do not publish this page.</b> It was compared with the true counts. '
        f"Largest error: {found.largest_error:,.1f} people. All intervals at once hold the truth: "
        f"{'yes' if found.covered else 'no'}. {found.found:,} of {found.occupied:,} values present are reported, and "
        f"{found.phantoms:,} that nobody holds.</p>"
    )


def _table(release: Release, percent: str) -> str:
    rows = "".join(
        f"<tr><td>{escape(shown(row.label, width=200))}</td><td>{row.count:,.0f}</td>"
        f"<td>{row.count / release.estimate.people:.3%}</td><td>{row.low:,} - {row.high:,}</td></tr>"
        for row in release.estimate.top(MOST_ROWS)
    )
    header = f"<tr><th>value</th><th>people</th><th>share</th><th>{percent} % interval, all at once</th></tr>"
    return f"<table><thead>{header}</thead><tbody>{rows}</tbody></table>"

"""The look of every page, of the report, the console and the page that asks: one style, no fonts, nothing to load.

Nothing needs a style attribute or a script: a strict content security policy forbids both. What a page can use:

- `body.shuffledp`; inside it `a.skip` (to `#main`), `header.top` with `.brand` and `nav`, `main`, `footer`;
- words: `.under` (below a title), `.soft`, `.number`, `.visually-hidden`, `code`, `pre.sealed` (bytes, in lines);
- boxes: `.cards` of `.card` (`<b>` number, `<span>` what it is), `.panel`, `.pair` (side by side where there is room),
  `.note`, `.good`, `.warning`, `.open` (alarm), `.banner` (at the lower edge of the window, while something is wrong);
- tables: `table.all` (the first column is a label, the others numbers; `.share` is left out on a telephone),
  `table.made` (names and facts), in a `.wide` where it may be wider than the page;
- what is going on: `<progress>`, `.status` with `.good`, `.waiting` or `.bad`, `.changed` for what has just changed;
- to be done: `button`, `a.button`, both also `.quiet`, in a row of `.buttons`; `label.field` around an input;
  `fieldset.choices` of `label.choice` (a radio button and its words in a `<span>`);
- pictures: `table.bars`, `svg.chart`, `table.heat-map`, `.history`, which parts.py and history.py make.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode

from shuffledp.explain.bars import BAR_STYLE
from shuffledp.explain.heat_map import HEAT_STYLE
from shuffledp.explain.history import HISTORY_STYLE
from shuffledp.explain.svg import CHART_STYLE, DARK, LIGHT, PAPER, variables

_COLOURS = f"""
:root {{ color-scheme: light dark; {variables(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {variables(DARK)} }} }}
@media print {{ :root {{ color-scheme: light; {variables(PAPER)} }} }}
"""

_FRAME = """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 1000px; padding: 2rem 1.2rem 4rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; overflow-wrap: anywhere; text-wrap: balance; }
h2 { font-size: 1.15rem; line-height: 1.35; margin: 2.2rem 0 .6rem; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; overflow-wrap: anywhere; }
h1, h2, h3, legend, .choice span, .all th, .made td { overflow: clip; overflow-clip-margin: .3em; }
p, li, figcaption, dd { max-width: 75ch; }
a { color: var(--accent); text-underline-offset: .15em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -9999px; top: .5rem; z-index: 2; background: var(--paper); padding: .6rem 1rem; }
.skip:focus { left: 1rem; }
.top { display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; align-items: baseline; padding-bottom: .7rem;
  margin-bottom: 1.6rem; border-bottom: 1px solid var(--rule); }
.top .brand { font-weight: 600; color: inherit; text-decoration: none; }
.top nav, .top nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: 0; padding: 0; list-style: none; }
.top a { display: inline-block; padding: .5rem 0; }
.top [aria-current] { color: inherit; font-weight: 600; text-decoration: none; }
.top form { margin-left: auto; }
footer { margin-top: 3rem; color: var(--soft); font-size: .88rem; }
figure { margin: 0; }
figcaption, .soft { color: var(--soft); font-size: .9rem; }
.under { color: var(--soft); margin: 0 0 1.4rem; }
.number { font-variant-numeric: tabular-nums; }
.visually-hidden { position: absolute; width: 1px; height: 1px; margin: -1px; padding: 0; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap; border: 0; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .88em; }
code { overflow-wrap: anywhere; }
pre.sealed { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: .7rem .9rem;
  margin: .6rem 0; max-height: 14rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
summary { cursor: pointer; font-weight: 600; margin-top: 1.6rem; padding: .4rem 0; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr)); gap: 0 2rem; }
.pair > * { min-width: 0; }
[hidden] { display: none !important; }
"""

_BOXES = """
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 140px), 1fr)); gap: .7rem; }
.card { background: var(--card); border-radius: 8px; padding: .7rem .9rem; }
.card b { display: block; font-size: 1.3rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); font-size: .88rem; line-height: 1.35; display: block; }
.panel { border: 1px solid var(--rule); border-radius: 8px; padding: 1rem 1.1rem; margin: 1rem 0; }
.panel > :first-child { margin-top: 0; }
.panel > :last-child { margin-bottom: 0; }
p.warning, p.open, p.note, p.good, div.warning, div.open, div.note, div.good { border-left: 4px solid var(--mark);
  background: var(--caution); padding: .7rem 1rem; margin: 1rem 0; border-radius: 0 8px 8px 0; }
p.open, div.open { border-color: var(--alarm-edge); background: var(--alarm); }
p.note, div.note { border-color: var(--accent); background: var(--card); }
p.good, div.good { border-color: var(--good); background: var(--card); }
.banner { position: fixed; left: 1rem; right: 1rem; bottom: 1rem; z-index: 1; margin: 0 auto; max-width: 600px;
  padding: .7rem 1rem; border: 2px solid var(--alarm-edge); border-radius: 8px; background: var(--alarm);
  color: var(--ink); }
"""

_TABLES = """
table.all, table.made { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .93rem; }
.all caption { text-align: left; color: var(--soft); font-size: .9rem; padding-bottom: .3rem; }
.all th, .all td { text-align: right; padding: .3rem 0 .3rem .6rem; border-bottom: 1px solid var(--rule);
  vertical-align: baseline; }
.all th { font-weight: normal; }
.all thead th { color: var(--soft); vertical-align: bottom; line-height: 1.3; }
.all th:first-child { text-align: left; padding-left: 0; overflow-wrap: anywhere; min-width: 4.5rem; }
.made th { text-align: left; font-weight: normal; color: var(--soft); width: 11rem; padding: .2rem .8rem .2rem 0;
  vertical-align: top; }
.made td { padding: .2rem 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto;
  background: linear-gradient(to left, var(--paper) 30%, transparent) right / 48px 100% no-repeat local,
    linear-gradient(to left, color-mix(in srgb, var(--ink) 35%, transparent), transparent)
    right / 16px 100% no-repeat scroll; }
.wide th:first-child { position: sticky; left: 0; background: var(--paper); }
"""

_DOING = """
progress { appearance: none; display: block; width: 100%; height: .8rem; border: 1px solid var(--edge);
  border-radius: 99px; background: var(--card); overflow: hidden; }
progress::-webkit-progress-bar { background: var(--card); }
progress::-webkit-progress-value { background: var(--accent); }
progress::-moz-progress-bar { background: var(--accent); }
.status::before { content: ""; display: inline-block; width: .7em; height: .7em; margin-right: .45em;
  border-radius: 50%; border: 2px solid var(--soft); vertical-align: baseline; }
.status.good::before { background: var(--good); border-color: var(--good); }
.status.waiting::before { border-color: var(--mark); }
.status.bad::before { background: var(--alarm-edge); border-color: var(--alarm-edge); border-radius: 0; }
.changed { animation: changed 1.2s ease-out; }
@keyframes changed { from { background: var(--caution); } }
.buttons { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0; padding: 0; list-style: none; }
button, .button { display: inline-block; min-height: 44px; min-width: 44px; padding: .55rem 1.1rem; font: inherit;
  font-weight: 600; line-height: 1.4; text-align: center; text-decoration: none; cursor: pointer; border-radius: 8px;
  border: 2px solid var(--accent); background: var(--accent); color: var(--on-accent); }
button.quiet, .button.quiet { background: transparent; color: var(--accent); border-color: var(--edge); }
button:hover, .button:hover { text-decoration: underline; }
button:disabled, button[aria-disabled="true"] { cursor: not-allowed; background: var(--card); color: var(--soft);
  border-color: var(--edge); }
fieldset { border: 0; margin: 1.2rem 0; padding: 0; min-width: 0; }
legend { font-weight: 600; padding: 0; margin-bottom: .5rem; overflow-wrap: anywhere; }
.choices { display: grid; gap: .5rem; }
.choice { display: flex; align-items: center; gap: .8rem; min-height: 48px; padding: .6rem .9rem; cursor: pointer;
  border: 1px solid var(--edge); border-radius: 8px; }
.choice span { min-width: 0; overflow-wrap: anywhere; }
.choice:hover { background: var(--card); }
.choice:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent);
  background: var(--card); }
.choice:has(:focus-visible) { outline: 3px solid var(--accent); outline-offset: 2px; }
.choice input { flex: none; width: 1.25rem; height: 1.25rem; margin: 0; accent-color: var(--accent); outline: none; }
.field { display: block; margin: 1rem 0; font-weight: 600; }
.field input, .field select, .field textarea { display: block; width: 100%; max-width: 30rem; min-height: 44px;
  margin-top: .3rem; padding: .5rem .7rem; font: inherit; color: inherit; background: var(--paper);
  border: 1px solid var(--edge); border-radius: 8px; }
.field .soft { font-weight: normal; }
[aria-invalid="true"] { border-color: var(--alarm-edge) !important; }
"""

_ELSEWHERE = """
.shuffledp table.bars { max-width: none; }
@media (max-width: 600px) {
  body { padding: 1.2rem 1rem 3rem; }
  h1 { font-size: 1.4rem; }
  .made, .made tbody, .made tr, .made th, .made td { display: block; width: auto; }
  .made th { padding: .5rem 0 0; }
  .all .share { display: none; }
  button, .button { flex: 1 1 auto; }
}
@media (prefers-reduced-motion: reduce) {
  *, ::before, ::after { animation: none !important; transition: none !important; }
}
@media (forced-colors: active) { .status::before, .bar { forced-color-adjust: none; } }
@media print {
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  .card { border: 1px solid var(--rule); }
  tr, .pair figure, .card, .panel { break-inside: avoid; }
  h2, h3, thead { break-after: avoid; }
  .skip, .top nav, .top form, button, .button, .banner { display: none; }
}
"""

_PICTURES = BAR_STYLE + CHART_STYLE + HEAT_STYLE + HISTORY_STYLE

LOOK = _COLOURS + _FRAME + _BOXES + _TABLES + _DOING + _PICTURES + _ELSEWHERE
"""The whole style, for a file or for a `<style>` of a page that stands alone."""

LOOK_SOURCE = f"'sha256-{b64encode(hashlib.sha256(LOOK.encode()).digest()).decode()}'"
"""What a content security policy calls this style where it stands in a page itself, so that no other may."""

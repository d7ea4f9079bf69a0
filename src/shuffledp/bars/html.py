"""A histogram as an HTML table with bars: real text, no scripts, readable on any background and in any width.

Numbers and labels are text of the page, so that they are as large on a telephone as anywhere else and can be read
aloud; only the lengths of the bars are drawn, as SVG whose attributes are shares of the width: a style attribute is
what a strict content security policy forbids. Colours follow those of the text around.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from shuffledp.bars.scale import Bar, Scale
from shuffledp.bars.text import interval, people
from shuffledp.words import shown

_PERCENT_PER_DIGIT = 2.3
"""Of the width of an axis on a telephone: 7 of 310 pixels."""

_EDGE = 10
"""Per cent at either end of the axis, where numbers are not centred at their mark."""

BAR_STYLE = """
.shuffledp table.bars { border-collapse: collapse; width: 100%; max-width: 60em; margin: .4em 0; font-size: .95em;
  font-variant-numeric: tabular-nums; border: 0; table-layout: auto; }
.shuffledp table.bars tr { background: none; border: 0; }
.shuffledp table.bars th, .shuffledp table.bars td { padding: .14em .5em .14em 0; border: 0; text-align: right;
  font-weight: normal; white-space: nowrap; vertical-align: middle; background: none; }
.shuffledp table.bars th:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere;
  max-width: 18em; overflow: clip; overflow-clip-margin: .3em; }
.shuffledp table.bars td.drawn, .shuffledp table.bars th.drawn { width: 55%; min-width: 6em; padding-right: .9em; }
.shuffledp table.bars thead th { opacity: .72; font-size: .85em; }
.shuffledp table.bars td.ends { opacity: .8; font-size: .88em; }
.shuffledp svg.track, .shuffledp svg.scale { display: block; width: 100%; max-width: none; overflow: visible; }
.shuffledp svg.track { height: 1.15em; }
.shuffledp .track .bar { fill: var(--bar, #5b8dc9); }
.shuffledp .track .reach { stroke: currentColor; stroke-width: 1.5px; }
.shuffledp .track .line { stroke: currentColor; stroke-width: 1px; opacity: .14; }
.shuffledp svg.scale { height: 1.4em; font-size: .84em; opacity: .8; }
.shuffledp .scale text { fill: currentColor; }
.shuffledp .unit { font-size: .84em; opacity: .8; text-align: left; white-space: normal; line-height: 1.15; }
@media (max-width: 600px) {
  .shuffledp table.bars, .shuffledp table.bars tbody, .shuffledp table.bars tfoot { display: block; }
  .shuffledp table.bars thead { position: absolute; clip-path: inset(50%); height: 1px; width: 1px; overflow: hidden; }
  .shuffledp table.bars tr { display: flex; flex-wrap: wrap; justify-content: flex-end; column-gap: .6em;
    margin-bottom: .45em; align-items: baseline; }
  .shuffledp table.bars th:first-child { flex: 1 1 6em; max-width: none; }
  .shuffledp table.bars th, .shuffledp table.bars td { padding: 0; }
  .shuffledp table.bars td.drawn { order: 1; flex: 1 0 100%; width: auto; padding: 0; }
  .shuffledp table.bars tfoot th, .shuffledp table.bars tfoot td:empty { display: none; }
}
"""
"""What a page or a notebook needs once, inside an element of the class shuffledp."""


def html_bars(bars: Sequence[Bar], *, column: str, width: int = 60) -> str:
    """A table of all bars on one axis; labels longer than `width` are shortened."""
    scale = Scale.of(bars)
    lines = "".join(_upright(scale.place(mark), "line", top=-30) for mark in scale.marks)
    rows = "".join(
        f'<tr role="row"><th scope="row" role="rowheader"><bdi>{escape(shown(bar.label, width=width))}</bdi></th>'
        f'<td class="drawn" role="presentation"><svg class="track" aria-hidden="true">{lines}{_drawn(bar, scale)}</svg>'
        f'</td><td role="cell">{people(bar.count)}</td><td class="ends" role="cell">{interval(bar)}</td></tr>\n'
        for bar in bars
    )
    # roles are said, since some browsers forget them where a narrow screen shows the rows as lines
    return (
        '<table class="bars" role="table">\n<thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">'
        f'<bdi>{escape(shown(column))}</bdi></th><td class="drawn" role="presentation"></td>'
        '<th scope="col" role="columnheader">people</th><th scope="col" role="columnheader">interval</th></tr>'
        f'</thead>\n<tbody role="rowgroup">\n{rows}</tbody>\n<tfoot aria-hidden="true"><tr><th></th><td class="drawn">'
        f'<svg class="scale" aria-hidden="true">{_marks(scale)}</svg><div class="unit">{scale.name}</div></td><td></td>'
        "<td></td></tr></tfoot>\n</table>"
    )


def _marks(scale: Scale) -> str:
    """The numbers below the axis, without those that would touch the one before on a narrow screen."""
    found, free = [], 0.0
    for mark in scale.marks:
        text, place = f"{mark:,.10g}", 100 * scale.place(mark)
        anchor = "start" if place < _EDGE else "end" if place > 100 - _EDGE else "middle"
        width = _PERCENT_PER_DIGIT * len(text)
        begin = place - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        if begin >= free:
            found.append(f'<text x="{place:.2f}%" y="1em" text-anchor="{anchor}">{text}</text>')
            free = begin + width + _PERCENT_PER_DIGIT
    return "".join(found)


def _drawn(bar: Bar, scale: Scale) -> str:
    """The estimate as a bar, and the interval as a line with ends."""
    end, low, high = (scale.place(people) for people in (bar.count, bar.low, bar.high))
    across = f'<line class="reach" x1="{low:.2%}" y1="50%" x2="{high:.2%}" y2="50%"/>'
    bar_itself = f'<rect class="bar" x="0" y="9%" width="{end:.2%}" height="82%" rx="1.5"/>'
    return bar_itself + across + _upright(low, "reach", top=26) + _upright(high, "reach", top=26)


def _upright(place: float, kind: str, *, top: int) -> str:
    """A line from `top` to as far from the bottom, in per cent of the height, at a place from 0 to 1."""
    return f'<line class="{kind}" x1="{place:.2%}" y1="{top}%" x2="{place:.2%}" y2="{100 - top}%"/>'

"""A histogram as an HTML table with bars: real text, no scripts, readable on any background and in any width.

Numbers and labels are text of the page, so that they are as large on a telephone as anywhere else and can be read
aloud; only the lengths of the bars are drawn. Colours follow those of the text around.
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
  max-width: 18em; }
.shuffledp table.bars td.drawn, .shuffledp table.bars th.drawn { width: 55%; min-width: 6em; padding-right: .9em; }
.shuffledp table.bars thead th { opacity: .72; font-size: .85em; }
.shuffledp table.bars td.ends { opacity: .8; font-size: .88em; }
.shuffledp .track { position: relative; height: 1.15em; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.shuffledp .track i { position: absolute; display: block; }
.shuffledp .track .bar { left: 0; top: .1em; bottom: .1em; background: #5b8dc9; border-radius: 0 2px 2px 0; }
.shuffledp .track .reach { top: .3em; bottom: .3em; border: 0 solid currentColor; border-width: 0 1.5px; min-width: 3px;
  background: linear-gradient(currentColor, currentColor) center / 100% 1.5px no-repeat; }
.shuffledp .track .line { top: -.3em; bottom: -.3em; width: 1px; background: currentColor; opacity: .14; }
.shuffledp .scale { position: relative; height: 2.6em; font-size: .84em; opacity: .8; text-align: left; }
.shuffledp .scale span { position: absolute; top: 0; transform: translateX(-50%); }
.shuffledp .scale span.first { transform: none; }
.shuffledp .scale span.last { transform: translateX(-100%); }
.shuffledp .scale b { position: absolute; top: 1.3em; left: 0; right: 0; font-weight: normal; white-space: normal;
  line-height: 1.15; }
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
    places = [100 * scale.place(mark) for mark in scale.marks]
    lines = "".join(f'<i class="line" style="left:{place:.2f}%"></i>' for place in places)
    rows = "".join(
        f'<tr><th scope="row"><bdi>{escape(shown(bar.label, width=width))}</bdi></th>'
        f'<td class="drawn"><div class="track" aria-hidden="true">{lines}{_drawn(bar, scale)}</div></td>'
        f'<td>{people(bar.count)}</td><td class="ends">{interval(bar)}</td></tr>\n'
        for bar in bars
    )
    return (
        f'<table class="bars">\n<thead><tr><th scope="col"><bdi>{escape(shown(column))}</bdi></th>'
        '<th class="drawn"></th><th scope="col">people</th><th scope="col">interval</th></tr></thead>\n'
        f'<tbody>\n{rows}</tbody>\n<tfoot aria-hidden="true"><tr><th></th><td class="drawn"><div class="scale">'
        f"{_marks(scale)}<b>{scale.name}</b></div></td><td></td><td></td></tr></tfoot>\n</table>"
    )


def _marks(scale: Scale) -> str:
    """The numbers below the axis, without those that would touch the one before on a narrow screen."""
    found, free = [], 0.0
    for mark in scale.marks:
        text, place = f"{mark:,.10g}", 100 * scale.place(mark)
        kind = "first" if place < _EDGE else "last" if place > 100 - _EDGE else "middle"
        width = _PERCENT_PER_DIGIT * len(text)
        begin = place - {"first": 0.0, "middle": width / 2, "last": width}[kind]
        if begin >= free:
            found.append(f'<span class="{kind}" style="left:{place:.2f}%">{text}</span>')
            free = begin + width + _PERCENT_PER_DIGIT
    return "".join(found)


def _drawn(bar: Bar, scale: Scale) -> str:
    """The estimate as a bar, and the interval as a line with ends."""
    end, low, high = (100 * scale.place(people) for people in (bar.count, bar.low, bar.high))
    return (
        f'<i class="bar" style="width:{end:.2f}%"></i>'
        f'<i class="reach" style="left:{low:.2f}%;width:{max(high - low, 0):.2f}%"></i>'
    )

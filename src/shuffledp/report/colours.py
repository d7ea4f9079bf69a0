"""The colours of every page, by what they are for: on a light screen, on a dark one, and on paper.

All letters have a contrast of at least 4.5 with what is behind them, and all marks, edges and lines that mean something
at least 3 (WCAG 2.2, 1.4.3 and 1.4.11); a test computes it for each pair that occurs.
"""

from __future__ import annotations

from collections.abc import Mapping

LIGHT: Mapping[str, str] = {
    "ink": "#1f2933",  # letters, and the intervals on the bars
    "soft": "#55616f",  # what is said beside
    "paper": "#ffffff",
    "card": "#f3f6f9",
    "rule": "#dde3ea",  # lines that only part one thing from another
    "edge": "#74808d",  # the outlines of fields
    "accent": "#1f5fa8",  # links, buttons, and the ring around what has the focus
    "on-accent": "#ffffff",
    "bar": "#5b8dc9",
    "line-of-chart": "#2f6db3",
    "mark": "#b03a0a",  # what a reader should look at
    "caution": "#fff4ed",
    "alarm": "#fef0f0",
    "alarm-edge": "#b91c1c",
    "good": "#17734a",
}

DARK: Mapping[str, str] = {
    "ink": "#e6eaef",
    "soft": "#a3afbd",
    "paper": "#14181d",
    "card": "#1f262e",
    "rule": "#323b46",
    "edge": "#74808d",
    "accent": "#8fbcf0",
    "on-accent": "#10161d",
    "bar": "#3f6ea8",
    "line-of-chart": "#8fbcf0",
    "mark": "#ff9a62",
    "caution": "#33241a",
    "alarm": "#3a1d1f",
    "alarm-edge": "#f87171",
    "good": "#5fcf94",
}

PAPER: Mapping[str, str] = {
    **LIGHT,
    "ink": "#000000",
    "soft": "#333333",
    "card": "#ffffff",
    "rule": "#999999",
    "line-of-chart": "#1d4f8b",
    "mark": "#8a2c06",
    "caution": "#ffffff",
    "alarm": "#ffffff",
}
"""In print, backgrounds are left out by most browsers: nothing may need one."""


def variables(colours: Mapping[str, str]) -> str:
    """As what a style calls --NAME."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())

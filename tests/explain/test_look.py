"""The style of every page: enough contrast, and no external resources."""

import re

import pytest

from shuffledp.explain.html import style

LOOK = str(style())


def colours_after(text):
    """Return the variables of the first block of colours after a text."""
    block = re.search(r":root \{(.*?)\}", LOOK[LOOK.index(text) :], flags=re.DOTALL)[1]
    return dict(re.findall(r"--([\w-]+): (#\w{6});", block))


LIGHT, DARK, PAPER = map(colours_after, (":root {", "@media (prefers-color-scheme: dark)", "@media print"))

LETTERS, MARKS = 4.5, 3.0
"""What WCAG 2.2 asks for at its level AA, in 1.4.3 and 1.4.11."""

PAIRS = [
    *((words, behind, LETTERS) for words in ("ink", "soft") for behind in ("paper", "card", "caution", "alarm")),
    *(("accent", behind, LETTERS) for behind in ("paper", "card", "caution", "alarm")),
    ("on-accent", "accent", LETTERS),
    ("mark", "paper", LETTERS),  # words beside a mark of a chart
    *(("edge", behind, MARKS) for behind in ("paper", "card")),
    *(("good", behind, MARKS) for behind in ("paper", "card")),
    *(("alarm-edge", behind, MARKS) for behind in ("paper", "card", "alarm")),
    ("mark", "caution", MARKS),
    ("bar", "paper", MARKS),
    ("ink", "bar", MARKS),  # an interval on its bar
    ("line-of-chart", "paper", MARKS),
    *((f"line-{number}", "paper", MARKS) for number in range(1, 6)),
]


def parts_of(colour):
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def brightness(parts):
    """The relative luminance of WCAG."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    dark, light = sorted(map(brightness, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def mixed(colour, behind, share):
    return [share * a + (1 - share) * b for a, b in zip(parts_of(colour), parts_of(behind), strict=True)]


def test_contrast_follows_wcag():
    assert contrast(parts_of("#000000"), parts_of("#ffffff")) == pytest.approx(21)
    assert contrast(parts_of("#777777"), parts_of("#ffffff")) == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("colours", [LIGHT, DARK, PAPER], ids=["light", "dark", "paper"])
def test_text_and_marks_have_enough_contrast(colours):
    found = {(a, b): (contrast(parts_of(colours[a]), parts_of(colours[b])), least) for a, b, least in PAIRS}
    assert {pair: round(seen, 2) for pair, (seen, least) in found.items() if seen < least} == {}


@pytest.mark.parametrize("colours", [LIGHT, DARK, PAPER], ids=["light", "dark", "paper"])
def test_numbers_of_a_heat_map_can_be_read_on_every_shade(colours):
    shades = [int(share) / 100 for share in re.findall(r"shade-\d+ .*? (\d+)%, transparent", LOOK)]
    assert len(shades) > 20
    assert shades == sorted(set(shades))
    for share in shades:
        assert contrast(parts_of(colours["ink"]), mixed(colours["bar"], colours["paper"], share)) >= LETTERS


def test_every_colour_of_the_light_page_has_one_for_the_dark_page_and_for_paper():
    assert set(LIGHT) == set(DARK) == set(PAPER)
    used = set(re.findall(r"var\(--([\w-]+)", LOOK))
    assert used == set(LIGHT)


def test_the_style_has_no_fixed_colour():
    """A fixed colour would not change on a dark screen; only fallbacks of variables may be fixed."""
    rest = re.sub(r"--[\w-]+: #\w{6};|var\(--[\w-]+, #\w{6}\)", "", LOOK)
    assert re.findall(r"#[0-9a-f]{3,8}\b(?! *\{)", rest) == []


def test_nothing_is_loaded_and_nothing_can_end_the_style():
    assert not re.search(r"url\(|@import|@font-face|http|</|<!--|expression|javascript", LOOK, flags=re.IGNORECASE)
    assert LOOK.count("{") == LOOK.count("}")
    assert "svg.chart text" in LOOK


def test_it_has_what_every_page_needs():
    for needed in ("prefers-color-scheme: dark", "prefers-reduced-motion", "@media print", ":focus-visible", ".skip"):
        assert needed in LOOK

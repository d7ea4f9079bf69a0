"""Names at the ends of lines, and figures that stay readable with many lines."""

import math
from contextlib import contextmanager
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from shuffledp.explain import plots as comparison
from shuffledp.explain.figures import names_at_ends, spread
from shuffledp.protocols import CATALOGUE
from shuffledp.release.compare import Measurement


@pytest.mark.slow
@given(st.lists(st.floats(-1e3, 1e3), max_size=12), st.floats(0.1, 50))
def test_names_are_apart_in_order_and_close(wanted, apart):
    wanted = sorted(wanted)
    places = spread(wanted, apart)
    assert len(places) == len(wanted)
    assert all(above - below >= apart * (1 - 1e-9) for below, above in pairwise(places))
    if all(above - below >= apart for below, above in pairwise(wanted)):
        assert places == wanted
    if wanted:
        assert sum(places) == pytest.approx(sum(wanted), abs=1e-6)


@pytest.mark.slow
def test_every_line_has_its_name_once():
    axes = Figure(figsize=(4, 3)).subplots()
    axes.set_ylim(0, 10)
    names_at_ends(axes, [(1, 5.0, "one", "red"), (1, 5.1, "two", "blue"), (0, 2.0, "three", "green")])
    texts = [text.get_text() for text in axes.texts]
    assert sorted(texts) == ["one", "three", "two"]


def lines(names):
    return [
        Measurement(name=name, title=CATALOGUE[name].title, model=CATALOGUE[name].model, users=1000, bins=bins,
                    mean=bins * (at + 1.0))
        for at, name in enumerate(names) for bins in (10, 10**6, 2**64)
    ]  # fmt: skip


def drawn(results, tmp_path, monkeypatch):
    """Return the figure instead of saving it."""
    kept = []

    @contextmanager
    def keeping(path, width, height):
        kept.append(Figure(figsize=(width, height)))
        yield kept[-1]

    monkeypatch.setattr(comparison, "saved_figure", keeping)
    comparison.draw_comparison(results, tmp_path / "figure.svg", epsilon=1, delta=1e-6)
    return kept[0]


def test_with_all_protocols_few_lines_are_strong_and_named(tmp_path, monkeypatch):
    """Twenty-six named lines would be unreadable."""
    figure = drawn(lines(CATALOGUE), tmp_path, monkeypatch)
    assert len(figure.axes) == 3
    assert not figure.legends
    for axes in figure.axes:
        strong = [line for line in axes.lines if line.get_linewidth() > 2]
        assert 1 <= len(strong) <= 5
        assert axes.get_legend() is None
    named = {text.get_text() for axes in figure.axes for text in axes.texts}
    assert {"SparseHistogram, ours", "DummyHistogram", "unary encoding", "stability-based"} <= named


def test_with_few_protocols_every_line_is_named(tmp_path, monkeypatch):
    figure = drawn(lines(["blanket", "public-coin", "hist"]), tmp_path, monkeypatch)
    (axes,) = figure.axes
    assert {text.get_text() for text in axes.texts} == {
        CATALOGUE["blanket"].title,
        CATALOGUE["public-coin"].title,
        "Histogram, the paper's",
    }


def test_marks_of_the_axis_are_short_and_powers_are_powers():
    assert [comparison._short(number) for number in (10, 1000, 10**9, 2**200, 12_345)] == [
        "10", "$10^{3}$", "$10^{9}$", "$2^{200}$", "12,345",
    ]  # fmt: skip
    assert math.isfinite(len(comparison._short(2**65536 + 1)))


def test_a_line_that_leaves_the_picture_is_named_with_its_end(tmp_path, monkeypatch):
    results = lines(["response", "unary", "hist", "sparse", "dummy", "stability", "laplace", "blanket"])
    results = [
        Measurement(**{**vars(result), "mean": 1e9 if result.name == "response" else 50.0}) for result in results
    ]
    texts = [text.get_text() for axes in drawn(results, tmp_path, monkeypatch).axes for text in axes.texts]
    assert f"{CATALOGUE['response'].title}: up to 1,000,000,000" in texts


def test_a_comparison_in_which_nothing_could_be_measured_is_drawn_empty(tmp_path, monkeypatch):
    nothing = [Measurement(name="hist", title="t", model="shuffled", users=5, bins=10, problem="too few")]
    assert drawn(nothing, tmp_path, monkeypatch).axes

"""The figure of the planner."""

import sys

import pytest

from shuffledp import MissingExtraError, plan
from shuffledp.explain.plots import draw_trade_off
from shuffledp.release.compare import trade_off


@pytest.fixture(scope="module")
def result():
    return trade_off(plan(users=10**5, bins=10**4, epsilon=1.0, delta=1e-6))


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_figure_is_drawn(result, tmp_path, ending):
    path = tmp_path / f"plan.{ending}"
    draw_trade_off(result, path)
    assert path.stat().st_size > 10_000
    if ending == "svg":
        assert "SparseHistogram" in path.read_text() or "<path" in path.read_text()


@pytest.mark.slow
def test_the_figure_names_its_library(result, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"shuffledp\[plot\]"):
        draw_trade_off(result, tmp_path / "plan.svg")

"""Composition of many releases in Python, in Node and in a browser, against dp_accounting in the same run."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
from scripts.budget_vectors import calibrated

from benchmarks.timing import best_of, table
from shuffledp.accounting import composition, curve
from shuffledp.accounting.composition import composed
from shuffledp.collect.task.spending import Spending

_SCRIPT = Path(__file__).parents[1] / "clients" / "javascript" / "test" / "totals.mjs"
_DELTA = 1e-6
_STEP = 2e-5
"""The grid of dp_accounting: with a coarser one its bounds are more than 0.5 % apart."""

_IN_A_PAGE = """async (vectors) => {
  const { computed } = await import("/test/budgets.js");
  return vectors.map((vector) => {
    const start = performance.now();
    computed(vector);
    return performance.now() - start;
  });
}"""


def cases():
    """Return lists of spendings, each with the number of answers to tasks with these parameters."""
    return {
        "4 rounds": [(calibrated("hist", 0.5, 1e-8), 4)],
        "52 rounds": [(calibrated("hist", 0.12, 1e-8), 52)],
        "365 rounds": [(calibrated("hist", 0.05, 1e-9), 365)],
        "365 different tasks": [(calibrated("hist", 0.04 + 1e-4 * at, 1e-9), 1) for at in range(365)],
    }


def vector_of(answered):
    """Return what the JavaScript client computes: one epsilon, and nothing for noise that is chosen by results."""
    return {
        "spendings": [{"spending": spending, "times": times} for spending, times in answered],
        "delta_at": {},
        "epsilon_at": {str(_DELTA): None},
    }


def in_node(vectors, *, rounds=3):
    """Return the milliseconds of Node for each list: the least of several processes, since sums are cached."""
    node = Path(sys.executable).parent / "node"
    given, times = json.dumps(vectors), []
    for _ in range(rounds):
        found = subprocess.run([node, _SCRIPT], input=given, capture_output=True, text=True, check=True).stdout
        times.append([each["milliseconds"] for each in json.loads(found)])
    return np.min(times, axis=0)


def in_browser(vectors, *, rounds=3):
    """Return the milliseconds of Chromium for each list: the least of several pages."""
    from tests.browser import running_browser
    from tests.clients.pages import new_page, pages
    from tests.clients.running import VECTORS

    times = []
    with running_browser() as browser, pages(vectors=VECTORS) as address:
        for _ in range(rounds):
            page = new_page(browser, address)
            times.append(page.evaluate(_IN_A_PAGE, vectors))
            page.context.close()
    return np.min(times, axis=0)


def curve_of(record):
    """Return the privacy curve of an answer, computed anew."""
    return msgspec.convert(record, Spending).curve


def epsilon_of(answered):
    """Return the epsilon of all answers, computed from the parameters, windows and losses included."""
    for cached in (composition._together, curve._together, curve._shift_loss):
        cached.cache_clear()
    total = composed([curve for spending, times in answered for curve in [curve_of(spending)] * times])
    return total.epsilon(_DELTA)


def by_library(answered):
    """Return the epsilon of all answers by dp_accounting."""
    parts = [(curve_of(spending).pld(value_discretization_interval=_STEP), times) for spending, times in answered]
    total = None
    for part, times in parts:
        one = part.self_compose(times) if times > 1 else part
        total = one if total is None else total.compose(one)
    return total.get_epsilon_for_delta(_DELTA)


def rows():
    answered = cases()
    vectors = [vector_of(each) for each in answered.values()]
    for (name, each), node, chromium in zip(answered.items(), in_node(vectors), in_browser(vectors), strict=True):
        yield (
            name,
            f"{epsilon_of(each):.4f}",
            f"{by_library(each):.4f}",
            f"{1e3 * best_of(lambda each=each: epsilon_of(each), rounds=3):.0f}",
            f"{node:.0f}",
            f"{chromium:.0f}",
            f"{1e3 * best_of(lambda each=each: by_library(each), rounds=1, warm_up=0):.0f}",
        )


def main():
    table(
        f"Composition of releases of P^hist, n = 10^6: epsilon at delta = {_DELTA:g}, and milliseconds from parameters",
        ["releases", "epsilon", "dp_accounting's", "Python, ms", "Node, ms", "Chromium, ms", "dp_accounting, ms"],
        rows(),
    )

"""Random exact randomizers for hypothesis, with one message or several."""

import math
from fractions import Fraction

from hypothesis import strategies as st

from shuffledp.paper.finite_randomizer import FiniteRandomizer

HALF = Fraction(1, 2)


def distributions(outcomes, *, zeros=True):
    """Random exact distributions on the given outcomes; with `zeros`, some outcomes may be impossible."""
    weights = st.lists(st.integers(0 if zeros else 1, 9), min_size=len(outcomes), max_size=len(outcomes))
    return weights.filter(any).map(
        lambda w: {outcome: Fraction(x, sum(w)) for outcome, x in zip(outcomes, w, strict=True)}
    )


@st.composite
def single_message(draw):
    values, symbols = draw(st.integers(2, 3)), draw(st.integers(2, 4))
    zeros = draw(st.booleans())
    return FiniteRandomizer.single({v: draw(distributions(range(symbols), zeros=zeros)) for v in range(values)})


@st.composite
def multi_message(draw):
    """Up to two messages over two symbols, in any order."""
    sent = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    return FiniteRandomizer({v: draw(distributions(sent, zeros=draw(st.booleans()))) for v in range(2)})


def larger(ratio):
    """A ratio as a number: infinite where no finite one is enough."""
    return math.inf if ratio is None else ratio

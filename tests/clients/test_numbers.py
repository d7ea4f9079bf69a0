"""Numbers of the JavaScript client: the syntax, the edges and the tree of the Python package, on many random texts."""

from bisect import bisect_right

import numpy as np
import pytest

from shuffledp.errors import ParameterError
from shuffledp.estimators.tree import Tree
from shuffledp.histogram.edges import Edges, read_number
from tests.clients.scripts import run_script

PLACES = """
import { NumberPlaces } from "./src/numbers.js";
for (const [edges, texts] of asked) {
  const places = new NumberPlaces({ edges, quantiles: [] }, 2);
  const labels = Array.from({ length: Math.min(places.tree.leaves, 50) }, (_, place) => places.labelOf(place));
  results[edges] = { places: texts.map((text) => places.placeOf(text)), labels };
}
"""

SPELLED = """
import { Edges } from "./src/edges.js";
for (const text of asked) {
  try {
    results[text] = [new Edges(text).number, null];
  } catch (error) {
    results[text] = [null, error.message];
  }
}
"""

TREES = """
import { Tree } from "./src/tree.js";
results.found = asked.map(([leaves, branching, some]) => {
  const tree = new Tree(leaves, branching);
  const below = some.map((leaf) => tree.path(leaf).every((node) => {
    const [first, stop] = tree.leavesOf(node);
    return first <= leaf && leaf < stop && stop <= leaves;
  }));
  return [tree.sizes, tree.nodes, some.map((leaf) => tree.path(leaf)), below.every(Boolean)];
});
"""

EDGES = (
    "0", "-5,0", "0,18,30,65", "0:120:5", "-1:1:0.25", "0.1,0.25,0.375", "-1E-20,0,1E-20", "1000000:1000003:1",
    "0:1:0.0001", "-0.5,99999999999999999999999999", "1E-23,1", "-7,-3,-2.5,-2",
)  # fmt: skip

TEXTS = (
    "", " ", "0", "-0", "+0", "12", " 12", "12 ", "  12  ", "\t12", "12\n", "\n12", "\xa012", "+3", "-3", "--3", "+-3",
    "1e2", "1E2", "1e+2", "1e-2", "1e", "e1", ".5", "5.", ".", "-.5", "+.5e1", "1.2.3", "1,000", "1_000", "0x10",
    "0b1", "inf", "-inf", "nan", "NaN", "Infinity", "\uff11\uff12", "\u0663", "\xbd", "1 2", "- 3", "1e12345", "1e9999",
    "-1e9999", "1e-9999", "-1e-9999", "0e9999", "1e09", "12.5", "007", "0.10", "1e 2", "1d2", "12\x00", "0" * 400,
    "0" * 401, "1" * 400, "1" * 401, " " * 399 + "7", " " * 400 + "7", "." + "0" * 398 + "1", "." + "0" * 399 + "1",
    "9" * 395 + "e9999", "0." + "9" * 390 + "e-999", "-0." + "0" * 390 + "1e390", "17.9999999999999999999999999",
    "18", "18.0", "1.8e1", "180e-1", "29.999999999999999999999", "64.99", "65", "-1E-20", "-1e-21", "0.25", "0.24999",
    "0.250", "2.5e-1", "\ud800", "\U0001f4a9", "null", "true",
)  # fmt: skip


def random_texts(rng):
    """Yield texts that are nearly numbers, and numbers near edges of all sizes."""
    for _ in range(4000):
        yield "".join(rng.choice(list("0011223456789..--++eE  ,x"), size=rng.integers(1, 9)))
    for _ in range(2000):
        digits = "".join(rng.choice(list("0123456789"), size=rng.integers(1, 30)))
        yield f"{rng.choice(['', '-', '+'])}{digits[:3]}.{digits[3:]}e{rng.integers(-30, 30)}"


@pytest.mark.slow
def test_both_put_numbers_into_the_same_intervals():
    texts = [*TEXTS, *random_texts(np.random.default_rng(41))]
    found = run_script(PLACES, [[edges, texts] for edges in EDGES])
    numbers = [None if "\ud800" in text else read_number(text) for text in texts]
    assert min(sum(number is None for number in numbers), sum(number is not None for number in numbers)) > 1000
    for text in EDGES:
        edges = Edges(text)
        size = len(edges.edges) + 1
        expected = [
            size + 1 if answer == "" else size if number is None else bisect_right(edges.edges, number)
            for answer, number in zip(texts, numbers, strict=True)
        ]
        different = [
            (answer, one, other)
            for answer, one, other in zip(texts, found[text]["places"], expected, strict=True)
            if one != other
        ]
        assert different == []
        labels = [*edges.domain.decode(np.arange(size)).tolist(), "(other)", "(none)"]
        assert found[text]["labels"] == labels[:50]


FLOATS = """
import { NumberPlaces } from "./src/numbers.js";
const places = new NumberPlaces({ edges: asked.edges, quantiles: [] }, 2);
const view = new DataView(new ArrayBuffer(8));
results.places = asked.doubles.map((bits) => {
  view.setBigUint64(0, BigInt(bits));
  return places.placeOf(view.getFloat64(0));
});
"""


def test_both_read_the_same_floats():
    """A float has its shortest decimal digits, in both languages; infinities and NaN are no numbers."""
    rng = np.random.default_rng(42)
    near = np.array([0.1, 0.2, 0.3, 0.1 + 0.2, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, -0.0, 0.0, np.inf, np.nan])
    floats = np.concatenate([near, rng.normal(size=300), rng.integers(0, 2**64, size=300, dtype=np.uint64).view(float)])
    edges = Edges("-1,0,0.1,0.2,0.3,1e21")
    found = run_script(FLOATS, {"edges": str(edges), "doubles": [str(bits) for bits in floats.view(np.uint64)]})
    numbers = [read_number(repr(float(each))) for each in floats]
    assert found["places"] == [7 if number is None else bisect_right(edges.edges, number) for number in numbers]


def spellings(rng):
    """Yield edges in their one spelling, in others, and texts that are no edges."""
    yield from EDGES
    yield from (
        "", ",", "0,", "0,,1", "a", "0:1", "0:1:2:3", "0:10:3", "0:10:0", "0:10:-1", "10:0:1", "0:0:1", "1,1", "2,1",
        "0,1,2", "0:2:1", "0,1,2,3", "0:3:1", "0:3:1.0", "0:3:01", "+0:3:1", " 0:3:1", "0:3.0:1", "0:3e0:1", "00,1",
        "-0", "-0.0,1", "0.0,1", "0.10,1", "1e3", "1e21,1e22", "1e-30", "1E-30", "0.000001", "0.0000001", "1E-7",
        "1e300", "1" + "0" * 299, "1" + "0" * 300, "1E-300", "1E-301", "0:1000000:1", "0:999999:1", "0:999998:1",
        "0:1e9:1e-9", "0.000000000000000000000123", "1.23E-22", "-1.5E-25,0", "0.1:0.4:0.1", "0.1,0.2,0.3,0.4",
        "0.1,0.2,0.3", "1E+2", "0:1E2:5", "0;1", "0,1;2", "1,000", "0x1", "nan", "\ud800", "\uff11",
        "123456789012345678901234.5", "0.1234567890123456789012", "1000000000000000000000,2000000000000000000000",
    )  # fmt: skip
    for _ in range(400):
        step, number = rng.integers(1, 30), rng.integers(1, 7)
        places, start = rng.integers(0, 30), rng.integers(-50, 50)
        edges = [f"{start + at * step}e-{places}" for at in range(number)]
        yield ",".join(edges)
        yield str(Edges(",".join(edges)))


@pytest.mark.slow
def test_both_accept_one_spelling_of_edges():
    texts = list(dict.fromkeys(spellings(np.random.default_rng(43))))
    found = run_script(SPELLED, texts)
    accepted = 0
    for text in texts:
        number, why = found[text]
        try:
            edges = Edges(text)
        except ParameterError as error:
            said = str(error).split(" got ")[0]
            assert why.removeprefix("the edges of the answers cannot be used: ").startswith(said), (text, why, said)
            continue
        if str(edges) == text:
            assert number == len(edges.edges), (text, why)
            accepted += 1
        else:
            assert why.startswith(f"edges must have their one spelling '{str(edges)[:50]}"), (text, why)
    assert accepted > 200
    assert len(texts) - accepted > 200


@pytest.mark.slow
def test_both_have_the_same_trees():
    rng = np.random.default_rng(44)
    shapes = [(3, 2), (4, 2), (5, 2), (124, 5), (124, 124), (124, 123), (65_539, 41), (1_000_003, 2), (7, 2**53 - 1)]
    shapes += [(int(rng.integers(1, 5000)), int(rng.integers(2, 40))) for _ in range(50)]
    asked = [[leaves, b, [0, leaves - 1, *rng.integers(0, leaves, size=20).tolist()]] for leaves, b in shapes]
    for (leaves, branching, some), found in zip(asked, run_script(TREES, asked)["found"], strict=True):
        tree = Tree(leaves=leaves, branching=branching)
        assert found == [list(tree.sizes), tree.nodes, tree.paths(np.array(some)).tolist(), True]

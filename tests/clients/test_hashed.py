"""Hashed messages and texts of the JavaScript client: the values and distributions of the Python package.

The randomness of Node cannot be seeded, so runs differ. Each statistical comparison fails on a correct client with
probability at most 1e-6 (tests/oracles/goodness.py).
"""

import unicodedata
from collections import Counter

import numpy as np
import pytest
from scipy.stats import poisson

from shuffledp.collect.crypto.keys import info, unseal
from shuffledp.collect.task.report import open_report
from shuffledp.histogram.hash_family import HashFamily, next_prime
from shuffledp.protocols.free_text import FreeText
from tests.clients.scripts import run_script
from tests.collect.tasks import small_task, text_answers
from tests.oracles.goodness import REJECTED_UNSEEDED, distribution_p_value, p_value

HASH = """
import { HashFamily } from "./src/hash_family.js";
results.found = asked.map(({ modulus, values, pieces, levels, pairs }) => {
  const family = new HashFamily({ modulus, values: BigInt(values), pieces, levels });
  const buckets = pairs.map(([seed, value]) => family.bucket(BigInt(seed), BigInt(value)));
  return { seeds: String(family.seeds), messages: String(family.messages), buckets };
});
"""


def families():
    """Yield families of all kinds: few to many buckets, values up to 2^62, one to 64 levels."""
    rng = np.random.default_rng(24)
    for at in range(60):
        modulus = next_prime(int(2 ** rng.uniform(1, 22)))
        levels = int(rng.choice([1, 2, 8, 64])) if at % 3 else 1
        pieces = int(rng.integers(1, modulus, endpoint=True)) if levels > 1 else modulus
        values = int(2 ** rng.uniform(1, 61 if levels > 1 else 32)) + 1
        if levels * 2**36 * modulus <= 2**62:
            yield HashFamily.of(modulus=modulus, values=values, pieces=pieces, levels=levels), levels


@pytest.mark.slow
def test_both_compute_the_same_buckets():
    rng = np.random.default_rng(25)
    asked, expected = [], []
    for family, levels in families():
        seeds = np.append(rng.integers(0, family.seeds, size=30), [0, family.seeds - 1])
        values = np.append(rng.integers(0, family.values, size=30), [family.values - 1, family.values - 1])
        pairs = [[str(seed), str(value)] for seed, value in zip(seeds, values, strict=True)]
        sizes = {"modulus": family.modulus, "pieces": family.pieces, "levels": levels}
        asked.append({**sizes, "values": str(family.values), "pairs": pairs})
        buckets = family.buckets(seeds, values).tolist()
        expected.append({"seeds": str(family.seeds), "messages": str(levels * family.messages), "buckets": buckets})
    assert run_script(HASH, asked)["found"] == expected
    assert {family.expanded for family, _ in families()} == {True, False}
    assert max(family.seeds for family, _ in families()) > 2**53


NORMALISE = """
import { TextCode } from "./src/text_code.js";
const codes = asked.codes.map((answers) => new TextCode(answers));
results.normalised = asked.alone.map((text) => codes[0].normalised(text));
results.paths = asked.texts.map((text) => codes.map((code) => code.path(text)));
const valuesOf = (text) => Promise.all(codes.map(async (code) => (await code.valuesOf(text)).map(String)));
results.values = await Promise.all(asked.texts.slice(0, 200).map(valuesOf));
"""

CODES = (
    text_answers(normalisation=("trim", "lower", "query", "slash")),
    text_answers(characters="abc\u03c3\u03c2ß ?/", width=3, levels=4, longest=12, normalisation=()),
    text_answers(
        pieces=("a", "ab", "abc", "é", "\U0001f4a9", "\U0001f4a9\U0001f4a9", "\u03c2", "\u03c3\u03b1", " "), levels=3
    ),
)
CHARACTERS = (
    "aabbcABC  ??//##..éÉ\u0301\u0327\u03a3\u03a3\u03c3\u03c2\u03b1\u0391'\u2019\u00adßẞİ\u0131ŸÅ"
    "\u212b\u1100\u1161\u11a8\uac00\u2009\u200b\u2028\u3000\ufeff"
    "\U0001f4a9\U0001f4a9\U00010400\u1e9b\u0323\u0958\ufb01\u2126\x00\x1f\x85\xa0\u1680\u180e"
)


def texts():
    """Return random texts of characters that are treated in unusual ways."""
    rng = np.random.default_rng(26)
    return ["".join(rng.choice(list(CHARACTERS), size=rng.integers(0, 14))) for _ in range(3000)]


def as_code(answers):
    pieces = answers.pieces
    characters = getattr(pieces, "characters", None)
    written = {"kind": "list", "values": list(getattr(pieces, "values", []))}
    if characters is not None:
        written = {"kind": "alphabet", "characters": characters, "width": pieces.width}
    sizes = {"levels": answers.levels, "longest": answers.longest}
    return {"kind": "text", **sizes, "pieces": written, "normalisation": [str(step) for step in answers.normalisation]}


@pytest.mark.slow
def test_both_cut_texts_alike():
    """Every character, alone and after a capital sigma, whose small letter depends on it; and random texts."""
    categories = {char: unicodedata.category(char) for char in map(chr, range(0x110000))}
    alone = [char for char, category in categories.items() if category not in ("Cn", "Co", "Cs")]
    alone += [
        f"\u0391\u03a3{char}" for char in alone if categories[char] != "Lo" and char != "\u0295"
    ]  # newer: no letter case
    several = texts()
    found = run_script(NORMALISE, {"codes": [as_code(code) for code in CODES], "alone": alone, "texts": several})
    codes = [answers.code for answers in CODES]
    expected = [codes[0].normalise(text) for text in alone]
    assert [pair for pair in zip(found["normalised"], expected, strict=True) if pair[0] != pair[1]] == []
    assert found["paths"] == [[list(code.path(text)) for code in codes] for text in several]
    some = several[:200]
    assert found["values"] == [[[str(value) for value in code.values_of(text)] for code in codes] for text in some]
    counted = Counter(min(path[0], 3) for paths in found["paths"] for path in paths)
    assert min(counted[symbol] for symbol in (1, 2, 3)) > 100


DRAW = """
import { HashFamily } from "./src/hash_family.js";
import { hashedMessages } from "./src/hashed_messages.js";
import { readNumber } from "./src/exact.js";
import { SYSTEM, shuffled } from "./src/randomness.js";
const { modulus, values, levels, given, rate, users, people } = asked;
const family = new HashFamily({ modulus, values: BigInt(values), levels });
const law = { rate: readNumber(rate, "rate"), sizeWeights: [2 ** 40] };
const randomizer = hashedMessages(family, law, users);
const own = given.slice(0, levels).map(BigInt);
results.messages = Array.from({ length: people }, () => shuffled(randomizer(own, 1000, SYSTEM), SYSTEM).map(Number));
"""

PEOPLE = 60_000
SMALL = {"modulus": 3, "values": 9, "users": 10, "rate": "5"}
"""Nine seeds, 27 messages on each level, and 1.5 dummies of each person and level."""

GIVEN = (7, 2)
"""A person's values on the levels."""


def drawn(levels, *, people=PEOPLE, rate="5"):
    return run_script(DRAW, SMALL | {"levels": levels, "given": GIVEN[:levels], "people": people, "rate": rate})[
        "messages"
    ]


def own_messages(levels):
    """Return the distributions of own messages, a row for each level, by the definition of the hash functions."""
    seeds, rows = np.arange(9), np.zeros((levels, 27 * levels))
    for level, value in enumerate(GIVEN[:levels]):
        buckets = ((seeds % 3) * (value % 3) + (seeds // 3) * (value // 3)) % 3
        rows[level, 27 * level + 3 * seeds + buckets] = 1 / 9
    return rows


def pair_distribution(levels):
    """Return the distribution of the two messages of a report with two, in random order."""
    own = own_messages(levels)
    other = own[1] if levels == 2 else np.full(27, 1 / 27)
    pairs = np.outer(own[0], other)
    return (pairs + pairs.T).ravel() / 2


def pairs_of(reports, levels):
    two = np.array([report for report in reports if len(report) == 2])
    return np.bincount(two[:, 0] * 27 * levels + two[:, 1], minlength=(27 * levels) ** 2)


def numbers_p_value(reports, levels):
    numbers = np.array([len(report) for report in reports])
    return distribution_p_value(numbers, levels, poisson.pmf(np.arange(60), 1.5 * levels))


@pytest.mark.slow
@pytest.mark.parametrize("levels", [1, 2])
def test_hashed_messages_have_the_accounted_distribution(levels):
    """The number of messages, all pairs in reports of two, and the first message of reports of four."""
    reports = drawn(levels)
    assert numbers_p_value(reports, levels) > REJECTED_UNSEEDED
    assert p_value(pairs_of(reports, levels), pair_distribution(levels)) > REJECTED_UNSEEDED
    first = np.array([report[0] for report in reports if len(report) == 4])
    dummy = np.full(27 * levels, (4 - levels) / 4 / (27 * levels))
    chances = own_messages(levels).sum(axis=0) / 4 + dummy
    assert p_value(np.bincount(first, minlength=27 * levels), chances) > REJECTED_UNSEEDED


@pytest.mark.slow
@pytest.mark.parametrize("rate", ["7/2^1", "13/2^1"])
def test_other_numbers_of_dummies_are_noticed(rate):
    """The negative control: 30% too few and too many."""
    assert numbers_p_value(drawn(2, people=20_000, rate=rate), 2) < REJECTED_UNSEEDED


def test_seeds_that_are_used_twice_are_noticed():
    """The negative control of the pairs: both levels under one seed, which each level alone cannot show."""
    rng = np.random.default_rng(27)
    seeds = rng.integers(0, 9, size=2000)
    both = np.stack(
        [27 * level + 3 * seeds + ((seeds % 3) * (value % 3) + (seeds // 3) * (value // 3)) % 3
         for level, value in enumerate(GIVEN)], axis=1
    )  # fmt: skip
    reports = rng.permuted(both, axis=1).tolist()
    for level, chances in enumerate(own_messages(2)):
        assert p_value(np.bincount(both[:, level], minlength=54), chances) > REJECTED_UNSEEDED
    assert p_value(pairs_of(reports, 2), pair_distribution(2)) < REJECTED_UNSEEDED


REPORT = """
import { newReport } from "./src/making.js";
import { messagesOf } from "./src/randomizer.js";
import { toHexadecimal } from "./src/bytes.js";
import { readTask } from "./src/task.js";
const task = await readTask(asked.task);
results.reports = [];
for (const answer of asked.sealed) {
  const { messages, report } = await newReport(task, answer);
  results.reports.push({ messages: messages.map(String), report: toHexadecimal(report) });
}
results.messages = [];
for (const [answer, people] of asked.crowd) {
  const values = await task.valuesOf(answer);
  for (let person = 0; person < people; person++) results.messages.push(...messagesOf(task, values).map(String));
}
"""


def opened(kept, report):
    """Return the messages of a sealed report, as the servers find them."""
    task = kept.task
    inside = open_report(task, report, kept.keys[0])
    width, found = task.onion_length(0), []
    for at in range(inside.number):
        onion = inside.onions[at * width : (at + 1) * width]
        for position in range(1, len(task.shufflers) + 1):
            onion = unseal(onion, kept.keys[position].private, info(task.id, position))
        found.append(int.from_bytes(onion))
    return found


def of_crowd(kept, crowd):
    """Return the tally of the messages of a crowd; some of its reports are sealed and opened."""
    sealed = [answer for answer, _ in crowd]
    found = run_script(REPORT, {"task": kept.task.canonical.decode(), "sealed": sealed, "crowd": crowd})
    for each in found["reports"]:
        messages = opened(kept, bytes.fromhex(each["report"]))
        assert messages == [int(message) for message in each["messages"]]
        assert kept.task.protocol.tally(messages).total == len(messages)
    return kept.task.protocol.tally([int(message) for message in found["messages"]])


@pytest.mark.slow
def test_python_counts_hashed_messages_of_javascript():
    """All counts are within the intervals at once, which fail with probability 1e-6."""
    crowd = [("dark", 700), ("light", 250), (None, 40), ("something else", 10)]
    kept = small_task(protocol="hashed", users=1000, shufflers=2)
    estimate = kept.task.protocol.estimate(of_crowd(kept, crowd), beta=1e-6, reports=1000)
    truth = np.array([700, 250, 0, 10, 40])
    intervals = estimate.simultaneous
    assert np.all(intervals.low <= truth)
    assert np.all(truth <= intervals.high)


@pytest.mark.slow
def test_python_finds_texts_of_javascript():
    """With probability 1 - 3e-6, texts above the detection limit are found, no others, and intervals hold."""
    crowd = [("Example", 900), (" home", 700), ("zz", 500), ("far too long", 60), (None, 140)]
    kept = small_task(texts=True, users=2300, epsilon=4.0, delta=1e-4)
    search = FreeText(code=kept.task.answers.code, protocol=kept.task.protocol)
    assert search.plan(beta=1e-6, risk=1e-6).all_reported <= 500
    estimate = search.estimate(of_crowd(kept, crowd), beta=1e-6, risk=1e-6, reports=2300)
    intervals = estimate.simultaneous
    found = {str(label): at for at, label in enumerate(estimate.labels)}
    assert set(found) == {"example", "home", "zz", "(other)", "(none)"}
    for text, count in {"example": 900, "home": 700, "zz": 500, "(other)": 60, "(none)": 140}.items():
        assert intervals.low[found[text]] <= count <= intervals.high[found[text]]

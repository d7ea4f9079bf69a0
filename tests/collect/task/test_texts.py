"""Tasks whose answers are texts: every answer has values on all levels, and every report hides them.

Statistical assertions have a false failure rate of at most 1e-6 each, under fixed seeds.
"""

import json
import math
from contextlib import suppress

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.collect.client.client import Client
from shuffledp.collect.client.making import messages_of
from shuffledp.collect.task import AnswerText, Claim, Named, task_of
from shuffledp.collect.task.guarantee import CODECS
from shuffledp.errors import BrokenPromiseError, DataError, ParameterError, TaskError
from shuffledp.histogram.text_code import END, NONE, OTHER
from tests.collect.task.test_answers import ANYTHING, Hostile
from tests.collect.task.test_most_messages import number_distribution
from tests.collect.tasks import LETTERS, small_task, text_answers
from tests.oracles.goodness import assert_distribution, assert_not_distribution

KEPT = small_task(texts=True)
TASK = KEPT.task
PLAIN = json.loads(TASK.to_json())


def test_a_task_for_texts_is_read_as_it_was_written():
    read = task_of(TASK.to_json().encode())
    assert read == TASK
    assert (read.id, read.protocol, read.check()) == (TASK.id, TASK.protocol, TASK.check())
    assert read.protocol_used.name == "hashed"
    assert (read.padded, read.symbols) == (False, read.alphabet)
    code = read.answers.code
    assert (read.protocol.bins, read.protocol.levels) == (code.values, code.levels) == (29 << 48, 8)
    assert read.protocol.family.pieces == code.symbols == 29
    assert 0.99e-6 < read.check().reached <= 1e-6


@pytest.mark.parametrize(
    ("answer", "first"),
    [("dark", 6), (" DARK\u3000", 6), ("d", 6), (None, NONE), ("", NONE), (" \t", NONE), ("dark mode", OTHER),
     ("(none)", OTHER), ("abcdefgh", 3), ("abcdefghi", OTHER), ("\ud800", OTHER), ("é", OTHER), (5, OTHER),
     (math.nan, 16), (True, 22), (b"dark", OTHER), ([], OTHER), (Hostile(), OTHER), ("x" * 10**6, OTHER),
     (10**5000, OTHER)],
    ids=lambda part: type(part).__name__,
)  # fmt: skip
def test_first_symbols(answer, first):
    """What cannot be cut, or has no text, counts as (other); an object whose text fails too."""
    path = TASK.answers.path(answer)
    assert (path[0], len(path)) == (first, 8)
    assert TASK.is_other(answer) is (first == OTHER)
    assert Client(TASK).counts_as_other(answer) is (first == OTHER)
    values = TASK.values_of(answer)
    assert values[0] == first
    assert (values % 29).tolist() == list(path)
    if first in (OTHER, NONE):
        assert path[1:] == (END,) * 7


@pytest.mark.slow
@given(ANYTHING | st.text(alphabet=LETTERS, max_size=9))
def test_every_answer_has_values(answer):
    values = TASK.values_of(answer)
    assert (values.size, values.dtype) == (8, np.int64)
    assert ((values >= 0) & (values < TASK.protocol.bins)).all()


def test_texts_have_no_bins_and_labels_of_other_and_none_only():
    assert list(TASK.labels.decode(np.arange(2))) == ["(other)", "(none)"]
    assert TASK.answers.size == 0
    assert TASK.has_answers
    with pytest.raises(DataError, match="are texts, which have no bins"):
        TASK.bin_of("dark")


@pytest.mark.parametrize("name", sorted(set(CODECS) - {"hashed"}))
def test_other_protocols_do_not_count_texts(name):
    plain = {**PLAIN, "protocol": json.loads(small_task(protocol=name).task.to_json())["protocol"]}
    with pytest.raises(TaskError, match=f"answers of kind text must be hashed, got {name}"):
        task_of(json.dumps(plain).encode())


def test_claims_that_are_not_kept_are_refused():
    for claim in (("0.9", "1e-6"), ("1", "0.9e-6")):
        with pytest.raises(BrokenPromiseError, match="which is weaker"):
            msgspec.structs.replace(TASK, claim=Claim(*claim)).check()
    with pytest.raises(BrokenPromiseError, match="which is weaker"):
        msgspec.structs.replace(TASK, honest_users=190).check()
    with pytest.raises(BrokenPromiseError, match="most_messages=40 is too small"):
        msgspec.structs.replace(TASK, most_messages=40).check()
    with pytest.raises(BrokenPromiseError, match="that is allowed here"):
        TASK.check((0.5, 1e-6))


def test_the_noise_of_one_level_is_not_enough_for_several():
    """A person sends a message on every level, so the rate for one level gives far less than the guarantee."""
    one = small_task(protocol="hashed").task.protocol_used.parameters["dummies"]
    weaker = msgspec.structs.replace(
        TASK, protocol_used=Named("hashed", TASK.protocol_used.parameters | {"dummies": one})
    )
    with pytest.raises(BrokenPromiseError, match="which is weaker"):
        weaker.check()
    alone = text_answers(levels=1)
    assert msgspec.structs.replace(weaker, answers=alone).check().reached <= 1e-6


def drawn(task, answer, calls, seed):
    rng = np.random.default_rng(seed)
    return [np.array(messages_of(task, answer, rng=rng)) for _ in range(calls)]


@pytest.mark.slow
def test_the_number_of_messages_has_one_distribution_for_every_answer():
    """Negative controls: noise that is 30 % less or more."""
    distribution = number_distribution(TASK.protocol)
    for seed, answer in enumerate(("dark", None, "a text that is too long")):
        numbers = np.array([sent.size for sent in drawn(TASK, answer, 300, seed)])
        assert_distribution(numbers, 0, distribution)
        dummies = numbers - TASK.protocol.levels
        for factor in (0.7, 1.3):
            assert_not_distribution((dummies * factor).astype(int) + TASK.protocol.levels, 0, distribution)
    with_the_same_coins = {
        TASK.protocol.randomize(TASK.values_of(answer), rng=np.random.default_rng(5)).size
        for answer in ("dark", None, "?", "zz")
    }
    assert len(with_the_same_coins) == 1


@pytest.mark.slow
def test_a_report_has_the_values_of_every_level_under_seeds_of_their_own():
    protocol, values = TASK.protocol, TASK.values_of("dark")
    sent = drawn(TASK, "dark", 200, 1)
    supports = np.zeros(protocol.levels, dtype=int)
    for messages in sent:
        assert messages.max() < TASK.alphabet
        tally = protocol.tally(messages)
        for level in range(protocol.levels):
            found = protocol.family.count(protocol.level(tally, level).symbols, values[level : level + 1])
            assert found[0] >= 1
            supports[level] += found[0]
    everything = np.concatenate(sent)
    assert np.unique(everything).size > 0.999 * everything.size  # no seed is used twice
    expected = 200 * (1 + protocol.dummies.rate / protocol.users)
    assert (np.abs(supports - expected) < 6 * math.sqrt(expected)).all()  # false failure rate 2e-8


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(
    ["alphabet", "list", "text", "trim", "1/2^3", 0, 1, 2, 7, 29, 31, 64, 65, 256, 257, 2**24, 2**62, 2**64, -1]
)  # fmt: skip
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
PLACES = [
    ("answers", "longest"), ("answers", "levels"), ("answers", "pieces"), ("answers", "pieces", "kind"),
    ("answers", "pieces", "characters"), ("answers", "pieces", "width"), ("answers", "normalisation"),
    ("answers", "normalisation", 0), ("protocol", "parameters", "buckets"), ("protocol", "parameters", "dummies"),
    ("protocol", "parameters", "dummies", "rate"), ("protocol", "parameters", "dummies", "size_weights"),
]  # fmt: skip


@pytest.mark.slow
@given(st.sampled_from(PLACES), JSON)
@settings(max_examples=150)
def test_arbitrary_values_are_refused_with_a_message_or_used(path, value):
    plain = json.loads(TASK.to_json())
    inside = plain
    for name in path[:-1]:
        inside = inside[name]
    inside[path[-1]] = value
    with suppress(TaskError):
        task = task_of(json.dumps(plain).encode())
        assert isinstance(task.answers, AnswerText)
        assert 0 < task.protocol.alphabet <= 2**62
        assert task.values_of("dark").max() < task.protocol.bins


@pytest.mark.parametrize("dummies", [0, -1, math.nan, 1001, "4"])
def test_the_number_of_dummies_is_checked(dummies):
    with pytest.raises(ParameterError, match="dummies must be"):
        made(dummies=dummies)


def test_more_dummies_make_longer_reports_with_a_smaller_error():
    few, many = (made(dummies=number).protocol for number in (1, 9))
    assert many.messages_per_user.expected == pytest.approx(5 * few.messages_per_user.expected, rel=0.02)
    assert many.estimator.variance(0) < 0.65 * few.estimator.variance(0)


def made(**more):
    from shuffledp.collect.task.new_task import new_task

    return new_task(
        question="Which?", answers=text_answers(), users=10**5, epsilon=1.0, delta=1e-6, shufflers=TASK.shufflers,
        analyzer=TASK.analyzer, opens=TASK.opens, closes=TASK.closes, **more,
    )  # fmt: skip


@pytest.mark.slow
def test_a_million_combining_marks_are_normalised_at_once():
    """Sorting the marks of one character takes a time that grows with the square of their number."""
    marks = "\u0301\u0316" * 500_000
    assert TASK.answers.path("a" + marks)[0] == OTHER
    answers = text_answers(normalisation=("trim", "lower", "query"))
    assert answers.path("ab?" + marks) == answers.path("ab")
    assert answers.path("ab" + marks + "?")[0] == OTHER

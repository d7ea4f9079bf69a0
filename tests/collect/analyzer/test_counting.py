"""Counting a batch: valid messages are counted, others are refused by reason."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shuffledp.collect.analyzer import worker as counting
from shuffledp.collect.analyzer.worker import BatchCounter, check_noise, numbers_of
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.store.tallies import from_bytes, to_bytes
from shuffledp.errors import DataError, ParameterError
from shuffledp.histogram.tally import Tally
from tests.collect.analyzer.batches import batch_of, padded_batch_of, sealed, symbols_of, tiny_task
from tests.collect.tasks import small_task

CASES = [("sparse", 1), ("hist", 2), ("dummy-poisson", 1)]


def counted(kept, onions, **more):
    return BatchCounter(kept.task, kept.keys[-1], **more).count([b"".join(onions)])


def same(one, other):
    return (one.as_dict(), one.messages, one.counts.shape) == (other.as_dict(), other.messages, other.counts.shape)


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "shufflers"), CASES)
def test_the_tally_counts_the_messages(protocol, shufflers):
    kept = small_task(users=20, epsilon=4.0, delta=1e-3, protocol=protocol, shufflers=shufflers)
    symbols, onions = batch_of(kept)
    assert (len(symbols) < len(onions)) == kept.task.padded
    found = counted(kept, onions)
    assert same(found.tally, kept.task.protocol.tally(np.array(symbols)))
    assert found.tally.messages == len(symbols)
    assert found.refused == {}


@pytest.mark.parametrize("cut", [1, 48, 49, 1000, 10**6])
def test_blocks_may_be_cut_anywhere(cut):
    kept = tiny_task()
    symbols, onions = batch_of(kept)
    content = b"".join(onions)
    blocks = (content[at : at + cut] for at in range(0, len(content), cut))
    assert same(BatchCounter(kept.task, kept.keys[-1]).count(blocks).tally, kept.task.protocol.tally(np.array(symbols)))


@pytest.mark.parametrize("processes", [1, 2])
def test_the_tally_is_the_same_with_several_processes_and_as_a_sparse_list(monkeypatch, processes):
    kept = small_task()
    symbols, onions = batch_of(kept)
    monkeypatch.setattr(counting, "_FEW", 0)
    monkeypatch.setattr(counting, "MOST_LISTED", 0)
    monkeypatch.setattr(counting, "AT_ONCE", 64)
    found = counted(kept, [*onions, bytes(49), onions[0]], processes=processes)
    assert found.tally == kept.task.protocol.tally(np.array(symbols))
    assert found.refused == {Reason.CANNOT_BE_OPENED: 1, Reason.REPEATED: 1}


def test_refused_messages_are_counted_by_reason_only():
    kept, other = tiny_task(), small_task(users=20, answers=("no",), protocol="hist", epsilon=4.0, delta=0.05)
    task, (symbols, onions) = kept.task, batch_of(kept)
    flipped = bytearray(onions[0])
    flipped[40] ^= 1
    unreadable = [
        bytes(flipped),
        bytes(49),
        *sealed(kept, [0], position=0),  # for the shuffler's position
        *sealed(kept, [0], key=kept.keys[0]),  # to the shuffler's key
        *sealed(other, [0]),  # of another task
    ]
    strange = sealed(kept, [task.symbols, 255])
    found = counted(kept, [*unreadable, *onions, *strange, onions[3], onions[3], unreadable[0]])
    assert same(found.tally, task.protocol.tally(np.array(symbols)))
    assert found.refused == {Reason.CANNOT_BE_OPENED: 5, Reason.NOT_A_MESSAGE: 2, Reason.REPEATED: 3}


@pytest.mark.parametrize("most_listed", [counting.MOST_LISTED, 0])
def test_padding_is_neither_counted_nor_refused(monkeypatch, most_listed):
    monkeypatch.setattr(counting, "MOST_LISTED", most_listed)
    kept = tiny_task()
    found = counted(kept, sealed(kept, [kept.task.nothing, 1, kept.task.nothing, 2, 1]))
    assert found.tally.messages == 3
    assert {symbol: number for symbol, number in found.tally.as_dict().items() if number} == {1: 2, 2: 1}
    assert found.refused == {}


def test_unpadded_tasks_have_no_padding_message():
    kept = small_task()
    found = counted(kept, sealed(kept, [kept.task.alphabet, 1]))
    assert found.tally.messages == 1
    assert found.refused == {Reason.NOT_A_MESSAGE: 1}


def test_equal_messages_are_not_duplicates():
    """An honest client seals every message with a new key."""
    kept = tiny_task()
    found = counted(kept, sealed(kept, [1] * 50))
    assert found.tally.as_dict() == {0: 0, 1: 50, 2: 0}


def test_a_partial_onion_is_refused():
    kept = tiny_task()
    with pytest.raises(DataError, match="do not fill"):
        counted(kept, [*batch_of(kept)[1], b"x"])


def test_a_wrong_key_is_refused_before_pulling():
    kept = tiny_task()
    for key in (kept.keys[0], KeyPair.generate()):
        with pytest.raises(ParameterError, match="must be the analyzer's key"):
            BatchCounter(kept.task, key)


@pytest.mark.slow
@given(
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.binary(min_size=1, max_size=60)), max_size=8),
    cut=st.integers(0, 60),
    seed=st.integers(0, 3),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_changed_onions_are_counted_or_refused_with_a_reason(changes, cut, seed):
    kept = tiny_task()
    symbols, onions = padded_batch_of(kept, seed)
    for_nothing = {onion for symbol, onion in zip(symbols, onions, strict=True) if symbol == kept.task.nothing}
    content = bytearray(b"".join(onions))
    for at, noise in changes:
        start = at % len(content)
        content[start : start + len(noise)] = noise
    content = bytes(content[: len(content) - cut])
    width = kept.task.onion_length(1)
    if len(content) % width:
        with pytest.raises(DataError):
            counted(kept, [content])
        return
    found = counted(kept, [content])
    left = {content[at : at + width] for at in range(0, len(content), width)} & for_nothing
    assert found.tally.messages + len(left) + sum(found.refused.values()) == len(content) // width
    assert found.tally.messages <= len(onions) - len(for_nothing)


# Missing noise ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["sparse", "hist", "dummy", "dummy-poisson"])
def test_a_batch_without_all_of_its_noise_is_refused(protocol):
    """False failure rate below 1e-8: each bound is wrong with probability participation.RISK.

    In the noisiest protocol, sparse, the messages of 30% of the people are nine standard deviations below the minimum.
    Those of half of the people are only two below.
    """
    task = small_task(protocol=protocol).task
    tally = task.protocol.tally(np.array(symbols_of(task, ["dark"] * task.users)))
    check_noise(task, tally)
    for share in (0, 0.1, 0.3):
        few = symbols_of(task, ["dark"] * int(share * task.users))
        with pytest.raises(Refused) as refused:
            check_noise(task, task.protocol.tally(np.array(few, dtype=np.int64)))
        assert refused.value.reason is Reason.TOO_FEW_MESSAGES
    check_noise(task, tally + tally)


def test_dishonest_people_may_be_missing():
    task = small_task(protocol="hist", honest_users=150).task
    tally = task.protocol.tally(np.array(symbols_of(task, ["dark"] * 155)))
    check_noise(task, tally)
    with pytest.raises(Refused):
        check_noise(task, task.protocol.tally(np.array(symbols_of(task, ["dark"] * 60))))


# Tallies as bytes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", range(1, 9))
def test_numbers_of_every_width(width):
    numbers = [0, 1, 2 ** (8 * width) - 1, 2 ** (8 * width - 1) + 3]
    written = b"".join(number.to_bytes(width) for number in numbers)
    assert numbers_of(written, width).tolist() == numbers
    assert numbers_of(b"", width).size == 0


@pytest.mark.slow
@given(
    counts=st.dictionaries(st.integers(0, 2**62), st.integers(0, 2**40), max_size=40),
    kinds=st.sampled_from([0, 1, 2, 3]),
    messages=st.integers(0, 2**50),
)
def test_a_tally_is_kept_exactly(counts, kinds, messages):
    symbols = np.array(sorted(counts), dtype=np.int64)
    each = np.array([counts[symbol] for symbol in symbols.tolist()], dtype=np.int64)
    tally = Tally(symbols, np.column_stack([each] * kinds) if kinds else each, messages=messages)
    assert same(from_bytes(to_bytes(tally)), tally)


def test_a_tally_of_every_bin_takes_few_bytes():
    tally = Tally.of_bins(np.random.default_rng(1).integers(0, 10_000, 200_000), bins=10_000)
    assert len(to_bytes(tally)) < 10_000
    assert same(from_bytes(to_bytes(tally)), tally)


def test_a_damaged_tally_is_refused():
    content = to_bytes(Tally.of_bins(np.arange(100), bins=100))
    for damaged in (b"", content[:30], content[:-3], b"x" + content, content[:60] + b"xx" + content[62:]):
        with pytest.raises(DataError, match="damaged"):
            from_bytes(damaged)
    for tally in (
        Tally(np.array([2, 1]), np.array([1, 1])),
        Tally(np.array([1, 2]), np.array([1, 1]), complete=False),
        Tally(np.array([1, 2]), np.array([1, -1])),
    ):
        with pytest.raises(DataError, match="increasing order"):
            to_bytes(tally)

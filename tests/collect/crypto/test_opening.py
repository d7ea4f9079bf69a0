"""Opening many onions, in this process and in others: the same bytes in the same order."""

import random

import pytest

from shuffledp.collect.crypto import batch as opening
from shuffledp.collect.crypto.batch import Opener, in_blocks
from shuffledp.collect.task.report import seal_onion
from tests.collect.tasks import small_task

KEPT = small_task(shufflers=2)
SYMBOLS = [at % 10 for at in range(60)]
ANALYZED = [seal_onion(small_task().task, symbol) for symbol in SYMBOLS]


def opened(onions, *, layer, processes, chunk=1000):
    content = b"".join(onions)
    chunks = [content[at : at + chunk] for at in range(0, len(content), chunk)]
    with Opener(layer, processes=processes) as opener:
        pieces = list(opener.opened(chunks))
    return b"".join(inside for inside, _ in pieces), sum(lost for _, lost in pieces), len(pieces)


@pytest.mark.parametrize("chunk", [1, 49, 50, 10**6])
def test_the_order_is_kept_with_any_block_size(chunk):
    layer = small_task().layer(1)
    assert opened(ANALYZED, layer=layer, processes=1, chunk=chunk) == (bytes(SYMBOLS), 0, 1)


@pytest.mark.slow
def test_several_processes_open_the_same(monkeypatch):
    monkeypatch.setattr(opening, "AT_ONCE", 4)
    broken = [bytes(49) if at % 7 == 3 else onion for at, onion in enumerate(ANALYZED)]
    layer = small_task().layer(1)
    alone = opened(broken, layer=layer, processes=1)
    assert alone == (bytes(symbol for at, symbol in enumerate(SYMBOLS) if at % 7 != 3), 9, 15)
    assert opened(broken, layer=layer, processes=2) == alone


def test_onions_that_cannot_be_opened_are_counted():
    layer = small_task().layer(1)
    rng = random.Random(4)
    garbage = [rng.randbytes(49) for _ in range(5)]
    assert opened([*garbage, *ANALYZED[:3], *garbage], layer=layer, processes=1) == (bytes(SYMBOLS[:3]), 10, 1)
    assert opened([*ANALYZED[:3], b"half"], layer=layer, processes=1) == (bytes(SYMBOLS[:3]), 1, 1)
    assert opened([], layer=layer, processes=1) == (b"", 0, 0)


def test_a_later_shuffler_finds_onions_for_the_next_server():
    onions = [seal_onion(KEPT.task, symbol) for symbol in SYMBOLS[:5]]
    inner, lost, _ = opened(onions, layer=KEPT.layer(1), processes=1)
    assert (len(inner), lost) == (5 * KEPT.task.onion_length(2), 0)
    assert KEPT.layer(2).open_block(inner) == (bytes(SYMBOLS[:5]), 0)


def test_streams_are_cut_into_blocks():
    content = bytes(range(100))
    for size in (1, 7, 50, 100, 101):
        for chunk in (1, 3, 100):
            blocks = list(in_blocks((content[at : at + chunk] for at in range(0, 100, chunk)), size))
            assert b"".join(blocks) == content
            assert {len(block) for block in blocks[:-1]} <= {size}
            assert 0 < len(blocks[-1]) <= size
    assert list(in_blocks([], 5)) == []


def test_no_key_is_shown():
    assert small_task().keys[1].private_bytes.hex() not in repr(small_task().layer(1))
    assert str(small_task().keys[1].private_bytes) not in repr(small_task().layer(1))

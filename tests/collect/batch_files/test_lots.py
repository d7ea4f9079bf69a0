"""Lots decide which reports form a batch; each report is in one batch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.collect.batch_files.batches import batch_id_of, draw, lot_key, lot_of
from shuffledp.collect.batch_files.seen import Entries
from tests.oracles.goodness import FALSE_FAILURE_RATE, p_value

KEY = bytes(range(32))
NAMES = [bytes([number]) * 16 for number in range(8)]


def entries(pairs):
    rows = [np.frombuffer(b"".join(part), dtype=np.uint8).reshape(-1, 16) for part in zip(*pairs, strict=True)]
    return Entries(*rows) if pairs else Entries.none()


def plainly(found, taken, users):
    """A reference implementation with dictionaries: rows of batches, remaining rows, and the three counts."""
    kept = {}
    for lot, digest in found:
        kept[lot] = min(digest, kept.get(lot, digest))
    kept.update(dict(reversed(sorted(taken))))  # noqa: C413
    before = {lot for lot, _ in taken}
    used = known = other = 0
    first = set()
    for lot, digest in found:
        if digest != kept[lot]:
            other += 1
        elif lot in before:
            used += 1
        elif lot in first:
            known += 1
        else:
            first.add(lot)
    chosen = sorted(first)
    whole = len(chosen) - len(chosen) % users
    batches = [chosen[at : at + users] for at in range(0, whole, users)]
    return batches, chosen[whole:], (used, known, other)


pairs = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=30)


@pytest.mark.slow
@given(
    found=pairs,
    taken=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(NAMES), max_size=4),
    users=st.integers(1, 5),
)
def test_lots_match_a_reference_implementation(found, taken, users):
    drawn = draw(entries(found), entries(list(taken.items())), users=users, key=KEY)
    batches, rest, counts = plainly(found, list(taken.items()), users)
    assert [[found[row][0] for row in batch.rows] for batch in drawn.batches] == batches
    assert [found[row][0] for row in drawn.rest] == rest
    assert (drawn.used, drawn.known, drawn.other_bytes) == counts
    for batch in drawn.batches:
        assert batch.batch_id == batch_id_of(entries([found[row] for row in batch.rows]).lots, KEY)


@pytest.mark.slow
@given(found=pairs)
def test_used_reports_are_listed_once_in_order(found):
    distinct = entries(found).distinct()
    listed = [(bytes(lot), bytes(digest)) for lot, digest in zip(distinct.lots, distinct.digests, strict=True)]
    assert listed == sorted(set(found))


def test_lots_need_the_key_and_the_task():
    """An attacker who forges reports cannot compute their lots."""
    report = bytes(16)
    keys = {lot_key(bytes([secret]) * 32, bytes([task]) * 32) for secret in (1, 2) for task in (1, 2)}
    assert len({lot_of(report, key) for key in keys}) == 4


def positions(lots_of):
    """The batch, of ten, of a forged report with the smallest possible id."""
    rng, found = np.random.default_rng(5), np.zeros(10, dtype=np.int64)
    for _ in range(400):
        ids = [bytes(16), *(rng.bytes(16) for _ in range(99))]
        lots = [lots_of(name, rng) for name in ids]
        found[sorted(range(100), key=lots.__getitem__).index(0) // 10] += 1
    return found


@pytest.mark.slow
def test_an_id_does_not_choose_its_batch():
    """Chi-square test over new keys, false failure rate at most 1e-6. The negative control orders reports by id."""
    uniform = np.full(10, 0.1)
    key = {}

    def under_a_new_key(name, rng):
        if name == bytes(16):
            key["now"] = rng.bytes(32)
        return lot_of(name, key["now"])

    assert p_value(positions(under_a_new_key), uniform) > FALSE_FAILURE_RATE
    assert p_value(positions(lambda name, _: name), uniform) <= FALSE_FAILURE_RATE

"""Every onion belongs to one batch: the comparison of fingerprints agrees with a plain reference."""

from collections import Counter
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.collect.batch_files import batches as module
from shuffledp.collect.batch_files.batches import Claims, Fingerprints
from shuffledp.collect.batch_files.formats import ROW_NUMBER, BatchFiles
from shuffledp.collect.crypto.batch import fingerprints
from shuffledp.collect.reasons import Reason


class Group(NamedTuple):
    """Onions in memory instead of in a file."""

    content: bytes
    dropped: bytes = b""

    @property
    def rows(self):
        return len(self.content) // 4

    number = rows

    def read(self):
        return self.content


class Remembered(NamedTuple):
    batch_id: bytes
    content: bytes

    def read(self):
        return self.content


class Memory:
    """A memory of accepted sets of onions."""

    secret, task_name = bytes(range(32)), "task"

    def __init__(self, sets):
        self.batches = {name: len(onions) for name, onions in sets.items()}
        self.groups = [Remembered(name, b"".join(map(printed, sorted(onions)))) for name, onions in sets.items()]


def printed(number):
    return blake2b(number.to_bytes(4), digest_size=16, key=Memory.secret).digest()


def kept_of(batch):
    """The numbers of a compared batch's own onions, in the order of its groups."""
    found = []
    for group in batch.groups:
        numbers = [int.from_bytes(group.content[at : at + 4]) for at in range(0, len(group.content), 4)]
        rows = [
            int.from_bytes(group.dropped[at : at + 4], "little")
            for at in range(0, len(group.dropped), ROW_NUMBER.itemsize)
        ]
        found += [number for row, number in enumerate(numbers) if row not in rows]
    return found


def plainly(batches, accepted):
    """A reference implementation with dictionaries: own onions and lost ones of each batch."""
    owner = {onion: name for name, onions in accepted.items() for onion in onions}
    for name, onions in sorted(batches.items()):
        if name not in accepted:
            for onion in onions:
                owner.setdefault(onion, name)
    own = {name: [onion for onion in onions if owner.get(onion) == name] for name, onions in batches.items()}
    lost = {
        name: Counter(
            Reason.REPLAYED if onion in owner else Reason.OTHER_BYTES for onion in onions if owner.get(onion) != name
        )
        for name, onions in batches.items()
    }
    return own, lost


NAMES = [bytes([number]) * 16 for number in range(5)]
onions = st.lists(st.integers(0, 12), max_size=10)


@pytest.mark.slow
@pytest.mark.parametrize("compared", [1, 1 << 21])
@given(
    batches=st.dictionaries(st.sampled_from(NAMES), onions, min_size=1),
    before=st.dictionaries(st.sampled_from(NAMES), onions),
    cut=st.integers(0, 10),
)
@settings(max_examples=60, deadline=None)
def test_every_onion_belongs_to_one_batch(batches, before, cut, compared):
    accepted = {name: set(own) for name, own in plainly(before, {})[0].items()}
    files = [
        BatchFiles(name, tuple(Group(b"".join(n.to_bytes(4) for n in part)) for part in (given[:cut], given[cut:])))
        for name, given in sorted(batches.items())
    ]
    original, module._COMPARED = module._COMPARED, compared  # many parts, or one
    try:
        prints = Fingerprints(files, Memory(accepted))
        found = prints.compare(4)
        prints.close()
    finally:
        module._COMPARED = original
    own, lost = plainly(batches, accepted)
    for one in found:
        name = one.batch.batch_id
        assert kept_of(one.batch) == own[name]
        assert one.number == len(set(own[name]))
        assert one.refused == lost[name]
    everything = [onion for one in found for onion in set(kept_of(one.batch))]
    assert len(everything) == len(set(everything))


def test_an_onion_is_remembered_with_the_batch_it_belongs_to(tmp_path):
    batches = {NAMES[0]: [1, 2, 3, 2], NAMES[1]: [3, 4, 5], NAMES[2]: [5, 1, 6, 9]}
    files = [
        BatchFiles(name, (Group(b"".join(n.to_bytes(4) for n in given)),)) for name, given in sorted(batches.items())
    ]
    prints = Fingerprints(files, Memory({NAMES[4]: {9}}))
    prints.compare(4)
    prints.write({NAMES[0], NAMES[1], NAMES[2]}, tmp_path)
    prints.close()
    own, _ = plainly(batches, {NAMES[4]: {9}})
    for name in batches:
        (written,) = pyarrow.parquet.read_table(tmp_path / f"{name.hex()}.parquet").columns
        assert written.to_pylist() == [printed(number) for number in own[name]]


def test_claims_prefer_what_was_accepted_before():
    files = [BatchFiles(name, ()) for name in NAMES[:3]]
    claims = Claims.of(files, Memory({NAMES[1]: {1}, NAMES[4]: {2}}))
    assert claims.new.tolist() == [3, 6, 5]
    assert claims.remembered == {NAMES[1]: 1, NAMES[4]: -1}
    assert claims.nobody == 6


def test_the_reference_uses_the_fingerprint_of_the_servers():
    rows = np.frombuffer((7).to_bytes(4), dtype=np.uint8).reshape(1, 4)
    assert fingerprints(rows, Memory.secret).tobytes() == printed(7)

"""The bounded cache: each entry is computed once, one at a time, within a limit in bytes."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from shuffledp.collect.analyzer import releases as formats
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.cache import BUSY, BoundedCache, BoundedLock
from shuffledp.collect.web import caches

KB = 1_000


def made_once(most_bytes=20 * KB, **options):
    return BoundedCache(most_bytes=most_bytes, size=len, **options)


def making(made, key, size=KB):
    """A compute function that records its calls."""
    return lambda: made.append(key) or bytes(size)


def test_what_is_asked_for_again_is_not_made_again():
    kept, made = made_once(), []
    assert kept.get(1, making(made, 1)) is kept.get(1, making(made, 1))
    assert kept.get(2, making(made, 2)) is not kept.get(1, making(made, 1))
    assert made == [1, 2]


def test_nothing_is_a_thing_too():
    kept, made = BoundedCache(most_bytes=20 * KB, size=lambda _: 0), []
    assert [kept.get(1, lambda: made.append(1)) for _ in range(3)] == [None] * 3
    assert made == [1]


@pytest.mark.parametrize("size", [0, 1, KB, 7 * KB, 30 * KB])
def test_it_never_keeps_more_bytes_than_it_may(size):
    kept, made = made_once(), []
    for key in range(100):
        assert len(kept.get(key, making(made, key, size))) == size
        assert kept.bytes <= 20 * KB
        assert sum(len(content) for content, _ in kept._entries.values()) <= kept.bytes
    assert len(made) == 100
    assert len(kept._entries) <= 20


def test_what_was_asked_for_last_stays():
    kept, made = made_once(), []
    for key in range(50):
        kept.get(key, making(made, key, 3 * KB))
        kept.get(0, making(made, 0, 3 * KB))
    assert made == list(range(50))


def test_what_is_larger_than_all_drives_out_nothing():
    kept, made = made_once(), []
    kept.get("small", making(made, "small"))
    kept.get("large", making(made, "large", 21 * KB))
    kept.get("small", making(made, "small"))
    assert made == ["small", "large"]


def test_many_who_ask_for_the_same_at_once_have_it_made_once():
    kept, made = made_once(), []
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: kept.get(1, making(made, 1)), range(8)))
    assert made == [1]
    assert all(each is found[0] for each in found)


def test_more_than_so_many_at_once_are_refused_and_what_is_known_is_not():
    kept, made, begun, go = made_once(most_waiting=2), [], threading.Event(), threading.Event()
    kept.get("known", making(made, "known"))

    def slow():
        begun.set()
        assert go.wait(60)
        return b""

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(kept.get, 1, slow)
        assert begun.wait(60)
        second = pool.submit(kept.get, 2, slow)
        while kept._computing._slots._value:  # until it waits
            threading.Event().wait(0.001)
        with pytest.raises(Refused) as error:
            kept.get(3, making(made, 3))
        assert (error.value.reason, error.value.detail) == (Reason.UNAVAILABLE, BUSY)
        kept.get("known", making(made, "known"))
        go.set()
        assert first.result(60) == second.result(60) == b""
    kept.get(3, making(made, 3))
    assert made == ["known", 3]


def test_what_fails_leaves_its_place_and_is_tried_again():
    kept, made = made_once(most_waiting=1), []
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            kept.get(1, lambda: 1 // 0)
    kept.get(1, making(made, 1))
    assert made == [1]
    with BoundedLock(1).held():
        pass


def test_all_together_keep_32_megabytes():
    assert formats.MOST_BYTES + caches.MOST_BYTES <= 32 * 2**20

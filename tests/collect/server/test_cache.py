"""The bounded cache: each entry is computed once, one at a time, within a limit in bytes."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from shuffledp.collect.analyzer import shown
from shuffledp.collect.reasons import Reason, Refused
from shuffledp.collect.server.http import BUSY, BoundedCache, BoundedLock
from shuffledp.collect.web import console_context

KB = 1_000


def new_cache(most_bytes=20 * KB, **options):
    return BoundedCache(most_bytes=most_bytes, size=len, **options)


def making(made, key, size=KB):
    """A compute function that records its calls."""
    return lambda: made.append(key) or bytes(size)


def test_an_entry_is_computed_once():
    kept, made = new_cache(), []
    assert kept.get(1, making(made, 1)) is kept.get(1, making(made, 1))
    assert kept.get(2, making(made, 2)) is not kept.get(1, making(made, 1))
    assert made == [1, 2]


def test_none_is_cached():
    kept, made = BoundedCache(most_bytes=20 * KB, size=lambda _: 0), []
    assert [kept.get(1, lambda: made.append(1)) for _ in range(3)] == [None] * 3
    assert made == [1]


@pytest.mark.parametrize("size", [0, 1, KB, 7 * KB, 30 * KB])
def test_the_cache_stays_within_its_limit(size):
    kept, made = new_cache(), []
    for key in range(100):
        assert len(kept.get(key, making(made, key, size))) == size
        assert kept.bytes <= 20 * KB
        assert sum(len(content) for content, _ in kept._entries.values()) <= kept.bytes
    assert len(made) == 100
    assert len(kept._entries) <= 20


def test_the_least_recently_used_entry_is_evicted():
    kept, made = new_cache(), []
    for key in range(50):
        kept.get(key, making(made, key, 3 * KB))
        kept.get(0, making(made, 0, 3 * KB))
    assert made == list(range(50))


def test_an_entry_larger_than_the_cache_evicts_nothing():
    kept, made = new_cache(), []
    kept.get("small", making(made, "small"))
    kept.get("large", making(made, "large", 21 * KB))
    kept.get("small", making(made, "small"))
    assert made == ["small", "large"]


def test_concurrent_requests_compute_an_entry_once():
    kept, made = new_cache(), []
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: kept.get(1, making(made, 1)), range(8)))
    assert made == [1]
    assert all(each is found[0] for each in found)


def test_too_many_waiting_requests_are_refused_except_for_cached_entries():
    kept, made, begun, go = new_cache(most_waiting=2), [], threading.Event(), threading.Event()
    kept.get("known", making(made, "known"))

    def slow():
        begun.set()
        assert go.wait(60)
        return b""

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(kept.get, 1, slow)
        assert begun.wait(60)
        second = pool.submit(kept.get, 2, slow)
        while kept._computing._slots._value:  # until the thread waits
            threading.Event().wait(0.001)
        with pytest.raises(Refused) as error:
            kept.get(3, making(made, 3))
        assert (error.value.reason, error.value.detail) == (Reason.UNAVAILABLE, BUSY)
        kept.get("known", making(made, "known"))
        go.set()
        assert first.result(60) == second.result(60) == b""
    kept.get(3, making(made, 3))
    assert made == ["known", 3]


def test_a_failed_computation_releases_the_lock_and_is_retried():
    kept, made = new_cache(most_waiting=1), []
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            kept.get(1, lambda: 1 // 0)
    kept.get(1, making(made, 1))
    assert made == [1]
    with BoundedLock(1).held():
        pass


def test_all_caches_together_are_limited_to_32_megabytes():
    assert shown.MOST_BYTES + console_context.MOST_BYTES <= 32 * 2**20

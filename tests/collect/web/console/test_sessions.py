"""Sessions expire, end when idle or signed out, and are stored only as hashes."""

import pytest

from shuffledp.collect.web.sessions import IDLE, LIFETIME, MOST, Sessions


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def sessions(clock):
    return Sessions(clock=clock)


def test_a_session_is_opened_by_its_name(sessions):
    name = sessions.begin()
    assert len(name) >= 43
    assert sessions.is_open(name)
    for other in (None, "", name[:-1], name + "a", "é", "\udc80"):
        assert not sessions.is_open(other)


def test_an_idle_session_ends(sessions, clock):
    name = sessions.begin()
    clock.now += IDLE - 1
    assert sessions.is_open(name)
    clock.now += IDLE - 1
    assert sessions.is_open(name)
    clock.now += IDLE
    assert not sessions.is_open(name)
    clock.now -= IDLE
    assert not sessions.is_open(name)


def test_a_refreshing_page_does_not_prolong_a_session(sessions, clock):
    name = sessions.begin()
    for _ in range(3):
        clock.now += IDLE / 4
        assert sessions.is_open(name, active=False)
    clock.now += IDLE / 4
    assert not sessions.is_open(name, active=False)


def test_a_session_expires(sessions, clock):
    name, begun = sessions.begin(), clock.now
    while clock.now < begun + LIFETIME - IDLE:
        clock.now += IDLE / 2
        assert sessions.is_open(name)
    clock.now = begun + LIFETIME
    assert not sessions.is_open(name)


def test_a_session_expires_despite_activity(sessions, clock):
    name, begun = sessions.begin(), clock.now
    while clock.now < begun + LIFETIME - IDLE / 2:
        clock.now += IDLE / 2
        assert sessions.is_open(name)
    clock.now = begun + LIFETIME - 1
    assert sessions.is_open(name)
    clock.now += 1
    assert not sessions.is_open(name)


def test_signing_out_ends_a_session(sessions):
    name, other = sessions.begin(), sessions.begin()
    sessions.end(name)
    sessions.end(None)
    assert not sessions.is_open(name)
    assert sessions.is_open(other)


def test_only_hashes_of_names_are_kept(sessions):
    name = sessions.begin()
    assert name.encode() not in sessions._open
    assert not any(sessions.is_open(key.hex()) for key in sessions._open)


def test_the_number_of_sessions_is_limited(sessions, clock):
    first = sessions.begin()
    for _ in range(MOST):
        clock.now += 1
        last = sessions.begin()
    assert not sessions.is_open(first)
    assert sessions.is_open(last)

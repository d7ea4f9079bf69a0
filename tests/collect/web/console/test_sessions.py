"""Sessions expire, end when idle or signed out, and are stored only as hashes."""

import fcntl
import hashlib
import os
import stat
from contextlib import closing

import pytest

from shuffledp.collect.server.run import shared_folder
from shuffledp.collect.web.sessions import IDLE, LIFETIME, MOST, Sessions


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=["memory", "file"])
def file(request, tmp_path):
    return None if request.param == "memory" else tmp_path / "sessions"


@pytest.fixture
def sessions(clock, file):
    with closing(Sessions(clock=clock, file=file)) as opened:
        yield opened


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
    ((kept, *_),) = sessions._database.execute("SELECT * FROM sessions")
    assert kept == hashlib.sha256(name.encode()).digest()
    assert not sessions.is_open(kept.hex())


def test_the_number_of_sessions_is_limited(sessions, clock):
    first = sessions.begin()
    for _ in range(MOST):
        clock.now += 1
        last = sessions.begin()
    assert not sessions.is_open(first)
    assert sessions.is_open(last)


def test_sessions_in_memory_are_of_one_server():
    with closing(Sessions()) as one, closing(Sessions()) as other:
        assert one.cookie != other.cookie
        assert not other.is_open(one.begin())


def test_processes_share_a_file(clock, tmp_path):
    file = tmp_path / "sessions"
    with closing(Sessions(file=file, clock=clock)) as one, closing(Sessions(file=file, clock=clock)) as other:
        assert one.cookie == other.cookie
        name = one.begin()
        assert other.is_open(name)
        other.end(name)
        assert not one.is_open(name)


def test_the_folder_of_a_server_lasts_until_its_end():
    with shared_folder() as place:
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        folder = os.open(place, os.O_RDONLY)
        with pytest.raises(BlockingIOError):  # as systemd-tmpfiles asks before it deletes an old folder
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(folder)
    assert not place.exists()


def test_visitors_without_a_session_write_nothing(tmp_path):
    with closing(Sessions(file=tmp_path / "sessions")) as opened:
        assert not opened.is_open(None)
        opened.end(None)
        assert list(tmp_path.iterdir()) == []

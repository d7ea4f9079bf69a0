import threading

import pytest

from shuffledp.collect.server.background import Background, StoppedError, until
from shuffledp.collect.server.observability import Event


class Steps:
    """Work that records its steps and fails at first."""

    def __init__(self, failures=0):
        self.done, self.failures, self.enough = 0, failures, threading.Event()

    def step(self, stopping):
        self.done += 1
        if self.done >= 5:
            self.enough.set()
        if self.done <= self.failures:
            raise OSError("192.0.2.7 does not answer")
        return False


@pytest.mark.parametrize("failures", [0, 2])
def test_steps_are_repeated_also_after_errors(failures, capsys):
    work = Steps(failures)
    background = Background(work, every=0.001)
    background.start()
    assert work.enough.wait(20)
    assert background.alive
    background.stop()
    assert not background.alive
    assert capsys.readouterr().err.count(Event.BACKGROUND_FAILED) == min(1, failures)  # once a minute


def test_a_stop_interrupts_a_step():
    begun = threading.Event()

    class Endless:
        def step(self, stopping):
            begun.set()
            for _ in until(stopping, iter(int, 1)):
                pass

    background = Background(Endless(), every=0.001)
    background.start()
    assert begun.wait(20)
    background.stop()
    assert not background.alive


def test_an_unstarted_thread_can_be_stopped():
    Background(Steps(), every=1.0).stop()


def test_items_until_a_stop():
    stopping = threading.Event()
    items = until(stopping, [1, 2, 3])
    assert next(items) == 1
    stopping.set()
    with pytest.raises(StoppedError):
        next(items)

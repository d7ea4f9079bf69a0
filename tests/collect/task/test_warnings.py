"""Warnings about a task whose servers are on one host."""

from shuffledp.collect.web.survey import ask_page
from shuffledp.explain.task import about, details, warnings_of
from tests.collect.tasks import small_task

APART = ("https://one.example", "https://two.example:8443/x", "https://three.example")
TOGETHER = ("https://one.example", "https://ONE.example:8443/x", "http://one.example")


def test_servers_on_one_host_give_a_warning():
    """Different ports and paths are still one host."""
    apart, together = (small_task(shufflers=2, addresses=each).task for each in (APART, TOGETHER))
    assert warnings_of(apart) == []
    assert "Warning" not in details(apart)
    assert "one operator runs all servers" not in ask_page(apart)
    (warning,) = warnings_of(together)
    assert "one host, one.example: its operator has all keys" in warning
    assert warning in details(together)["Warning"]
    assert about(together)["warnings"] == [warning]
    assert "one operator runs all servers of this survey and could read every answer" in ask_page(together)


def test_one_shuffler_elsewhere_is_enough():
    same = small_task(shufflers=2, addresses=(APART[0], TOGETHER[0], TOGETHER[1])).task
    other = small_task(shufflers=2, addresses=(TOGETHER[0], APART[1], TOGETHER[1])).task
    assert len(warnings_of(same)) == 1
    assert warnings_of(other) == []

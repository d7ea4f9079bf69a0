"""A visitor in a real browser answers the open round of a series at its one address."""

import time
from datetime import UTC, datetime

import httpx
import pytest
from tests.collect.chaos import wait_until
from tests.collect.in_process import served
from tests.collect.series import small_series

from shuffledp.collect.server.auth import Accepted, hash_of, new_token
from shuffledp.collect.shuffler.app import make_app
from shuffledp.collect.shuffler.settings import Served, Settings
from shuffledp.collect.simulation.processes import free_ports
from shuffledp.collect.store import open_report_store


@pytest.mark.slow
def test_the_open_round_can_be_answered(browser, tmp_path):
    (port,) = free_ports([0])
    opens = datetime.fromtimestamp(int(time.time()) - 150_000, tz=UTC)  # round 2 of three is open for hours
    addresses = (f"http://127.0.0.1:{port}", "http://127.0.0.1:9")
    kept = small_series(rounds=3, opens=opens, period=100_000, users=500, addresses=addresses)
    settings = Settings(
        served=[Served(task=task, position=0, key=kept.keys[0][0]) for task in kept.series.tasks],
        store=open_report_store(tmp_path / "shuffler.db"),
        next_servers=Accepted((hash_of(new_token()),)),
        page=True,
        owns_store=True,
        series=[kept.series],
    )
    second = kept.series.task(2)
    with served(make_app(settings), port=port) as address:
        page = browser.new_page()
        page.goto(f"{address}/ask/series/{kept.series.name}")
        assert page.url == f"{address}/ask/{second.name}"
        page.wait_for_selector("#answers label")
        assert "Round 2 of 3" in page.inner_text("#round")
        assert "All 3 rounds together: strong protection." in page.inner_text("#all-rounds")
        page.locator("#answers label").first.click()
        page.click("#answer button")
        page.click("#send button")

        def waiting():
            found = [httpx.get(f"{address}/v1/tasks/{task.name}/status") for task in kept.series.tasks]
            return [each.json()["waiting"] for each in found]

        wait_until(lambda: waiting() == [0, 1, 0], what="the report")
        page.close()

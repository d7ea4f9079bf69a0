"""A visitor in Chromium answers the open round of a series; the device checks the guarantee of all rounds together."""

import time
from datetime import UTC, datetime

import httpx
import pytest
from msgspec.structs import replace
from tests.collect.chaos import wait_until
from tests.collect.in_process import served
from tests.collect.series import small_series
from tests.collect.web.survey.visitor import visiting

from shuffledp.collect.server.auth import Accepted, hash_of, new_token
from shuffledp.collect.shuffler.app import make_app
from shuffledp.collect.shuffler.settings import Served, Settings
from shuffledp.collect.simulation.processes import free_ports
from shuffledp.collect.store import open_report_store
from shuffledp.collect.task.guarantee import Claim
from shuffledp.explain.task_series import promise_of

pytestmark = pytest.mark.slow

FALSE = Claim("0.5", "0.000001")
"""A total that the noise for epsilon 1 does not give."""


def shuffler_of(series, kept, folder):
    """The app of a shuffler with the survey page."""
    return make_app(
        Settings(
            served=[Served(task=task, position=0, key=kept.keys[0][0]) for task in series.tasks],
            store=open_report_store(folder / "shuffler.db"),
            next_servers=Accepted((hash_of(new_token()),)),
            page=True,
            owns_store=True,
            series=[series],
        )
    )


def open_series():
    """A series whose round 2 of three is open for hours, and the port of its shuffler."""
    (port,) = free_ports([0])
    opens = datetime.fromtimestamp(int(time.time()) - 150_000, tz=UTC)
    addresses = (f"http://127.0.0.1:{port}", "http://127.0.0.1:9")
    return small_series(rounds=3, opens=opens, period=100_000, users=500, addresses=addresses), port


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A shuffler of a series, and its address."""
    kept, port = open_series()
    with served(shuffler_of(kept.series, kept, tmp_path_factory.mktemp("shuffler")), port=port) as address:
        yield kept.series, address


def served_instead(visitor, address, **answer):
    """Let an address answer something else."""
    visitor.page.unroute(address)
    visitor.page.route(address, lambda route: route.fulfill(**answer))


def refused(visitor, address):
    """The reason of a page that asks nothing."""
    notice = visitor.visit(address, shows="broken").notice("broken")
    assert not visitor.page.get_by_role("radio").count()
    assert not visitor.page.locator("#answering-title").is_visible()
    return notice


def test_the_fragment_of_an_invitation_survives_the_way_to_the_open_round(browser, running):
    """And no request has it."""
    series, address = running
    with visiting(browser) as visitor:
        asked = []
        visitor.page.on("request", lambda request: asked.append((request.url.partition("#")[0], request.headers)))
        visitor.page.add_init_script("window.arrived = location.hash")  # before any script of the page
        visitor.page.goto(f"{address}/ask/series/{series.name}#token=sesame", wait_until="commit")
        visitor.page.wait_for_url(f"{address}/ask/{series.task(2).name}*")
        assert visitor.page.evaluate("window.arrived") == "#token=sesame"
        assert "sesame" not in str(asked)


def test_the_open_round_can_be_answered(browser, running):
    series, address = running
    with visiting(browser) as visitor:
        visitor.visit(f"{address}/ask/series/{series.name}")
        assert visitor.page.url == f"{address}/ask/{series.task(2).name}"
        assert "Round 2 of 3" in visitor.page.inner_text("#round")
        assert "All 3 rounds together: strong protection." in visitor.page.inner_text("#all-rounds")
        assert visitor.page.inner_text("#checked") == "Your device has checked this promise."
        figures = visitor.page.locator("#checked-figures").text_content()
        assert "For all rounds together it gives delta at most 9.99e-07 at epsilon 1." in figures
        visitor.page.locator("#answers label").first.click()
        visitor.make().send()

        def waiting():
            found = [httpx.get(f"{address}/v1/tasks/{task.name}/status") for task in series.tasks]
            return [each.json()["waiting"] for each in found]

        wait_until(lambda: waiting() == [0, 1, 0], what="the report")
        assert visitor.complaints == []


def test_the_next_round_is_shown_where_this_one_is_over(browser, running):
    """After sending, when the round closes in an open tab, and on the page of a past round."""
    series, address = running
    with visiting(browser) as visitor:
        next_round = visitor.visit(f"{address}/ask/{series.task(2).name}").page.locator("#next-round")
        assert not next_round.is_visible()
        over = {"users": 5, "waiting": 0, "batches": 0, "short_by": 5, "closed": True}
        visitor.context.route("**/status", lambda route: route.fulfill(json=over))
        visitor.until("closed")
        assert next_round.get_by_role("link").is_visible()
        visitor.context.unroute("**/status")
        visitor.visit(f"{address}/ask/{series.task(2).name}").page.locator("#answers label").first.click()
        visitor.send()
        visitor.until("sent")
        assert "You can answer the next round from" in next_round.inner_text()
        opens = datetime.fromisoformat(next_round.locator("time").get_attribute("datetime"))
        assert opens == series.task(3).opens
        visitor.visit(f"{address}/ask/{series.task(1).name}", shows="closed")
        next_round.get_by_role("link").click()
        visitor.page.wait_for_url(f"{address}/ask/{series.task(2).name}")
        visitor.until("already")
    assert "next-round" not in httpx.get(f"{address}/ask/{series.task(3).name}").text


def test_another_file_than_that_of_the_series_is_refused(browser, running):
    series, address = running
    for other in (replace(series, question="Which editor do you use?"), series.task(2)):
        with visiting(browser) as visitor:
            served_instead(visitor, "**/v1/series/*", body=other.canonical)
            refused(visitor, f"{address}/ask/{series.task(2).name}")
            assert visitor.posted == []


def test_a_page_with_another_total_than_the_series_is_refused(browser, running):
    series, address = running
    page = f"{address}/ask/{series.task(2).name}"
    honest = httpx.get(page).text
    changes = [
        (f'data-total-epsilon="{series.total_claim.epsilon}"', 'data-total-epsilon="0.1"'),
        (f'data-total-delta="{series.total_claim.delta}"', 'data-total-delta="0.000000001"'),
        ('data-total-strength="strong"', 'data-total-strength="moderate"'),
        ('data-rounds="3"', 'data-rounds="2"'),
        ('data-round="2"', 'data-round="1"'),
    ]
    with visiting(browser) as visitor:
        for true, false in changes:
            assert true in honest
            served_instead(visitor, "**/ask/*", body=honest.replace(true, false), content_type="text/html")
            assert "other figures about all rounds than the series itself" in refused(visitor, page)


def test_without_the_file_nothing_is_asked(browser, running):
    series, address = running
    with visiting(browser) as visitor:
        served_instead(visitor, "**/v1/series/*", status=404)
        visitor.visit(f"{address}/ask/{series.task(2).name}", shows="unavailable")
        assert not visitor.page.get_by_role("radio").count()


def test_a_false_total_is_refused(browser, tmp_path, monkeypatch):
    """Also if the server states it: the browser composes the rounds itself."""
    kept, port = open_series()
    false, promise = replace(kept.series, total_claim=FALSE), promise_of(kept.series)
    monkeypatch.setattr("shuffledp.collect.web.survey.series_promise", lambda series: promise)
    with served(shuffler_of(false, kept, tmp_path), port=port) as address, visiting(browser) as visitor:
        page = f"{address}/ask/{false.task(2).name}"
        assert 'id="send"' in httpx.get(page).text
        reason = refused(visitor, page)
        assert "claims delta=1e-06 at epsilon=0.5 for all 3 rounds together, but its parameters give" in reason
        assert visitor.posted == []

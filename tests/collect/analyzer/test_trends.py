"""The rounds of a series over time: estimated from tallies with joint intervals, as pages and files."""

import csv
import io
from datetime import UTC, datetime

import numpy as np
import pytest

from shuffledp.collect.analyzer.app import make_app
from shuffledp.collect.analyzer.releases import Releasing
from shuffledp.collect.analyzer.settings import Settings
from shuffledp.collect.analyzer.shown import HidingStore, SeriesTrends
from shuffledp.collect.client.making import messages_of
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.reasons import Refused
from shuffledp.collect.store import open_tally_store
from shuffledp.collect.store.tallies import to_bytes
from shuffledp.collect.task import AnswerChoices, AnswerEdges, AnswerRange, Place, Servers
from shuffledp.collect.task.new_task import new_series
from shuffledp.release.free_text import Blocklist
from shuffledp.release.trend_changes import Measure, Verdict
from shuffledp.release.trend_rounds import Risks
from tests.collect.analyzer.rounds import COUNTS, add_batch, store_with_rounds
from tests.collect.analyzer.texts import HOSTILE, PLAIN, SCRIPT, tally_of
from tests.collect.in_process import client_in_process
from tests.collect.series import FIRST, small_series
from tests.collect.tasks import text_answers
from tests.oracles.html_pages import read_page

SERIES = small_series(epsilon=8.0, delta=1e-3, opens=datetime(2026, 1, 1, tzinfo=UTC)).series
WAIT = 60.0


@pytest.fixture
def store(tmp_path):
    with store_with_rounds(tmp_path, SERIES) as found:
        yield found


def test_all_rounds_have_their_share_of_the_risk(store):
    trend = SeriesTrends(store).trend(SERIES, [1, 2, 4])
    assert [each.number for each in trend.rounds] == [1, 2, 4]
    assert (trend.planned, trend.beta) == (4, 0.05)
    assert all(each.as_planned for each in trend.rounds)
    assert {each.estimate.beta for each in trend.rounds} == {Risks.of(0.05, 4, exact=True).each_round}
    for number, counts in COUNTS.items():
        at = [each.number for each in trend.rounds].index(number)
        for label, count in zip(("dark", "light", "system", "(other)", "(none)"), counts, strict=True):
            level = trend.levels(label)[at]
            assert level.low <= count <= level.high
    assert trend.difference("dark").verdict is Verdict.DOWN
    assert trend.difference("dark", until=2).verdict is Verdict.NO_EVIDENCE


def test_batches_that_are_not_released_are_left_out(store):
    before = SeriesTrends(store).trend(SERIES, [1, 2, 4])
    add_batch(store, SERIES.task(1), (0, 200, 0, 0, 0), number=2, release=False)
    after = SeriesTrends(store).trend(SERIES, [1, 2, 4])
    assert before.levels("dark") == after.levels("dark")


def test_several_batches_of_a_round_count_together_and_shares_are_compared(store):
    add_batch(store, SERIES.task(2), (120, 60, 20, 0, 0), number=2)
    trend = SeriesTrends(store).trend(SERIES, [1, 2, 4])
    assert [each.people for each in trend.rounds] == [200, 400, 200]
    assert trend.measure is Measure.SHARE
    assert trend.difference("dark", until=2).verdict is Verdict.NO_EVIDENCE


def test_a_trend_is_computed_once_for_each_release(store, monkeypatch):
    trends, computed = SeriesTrends(store, wait=WAIT), []
    original = SeriesTrends.trend
    monkeypatch.setattr(SeriesTrends, "trend", lambda *given: computed.append(1) or original(*given))
    first = trends.of(SERIES)
    assert trends.of(SERIES) is first
    assert len(computed) == 1
    add_batch(store, SERIES.task(3), (100, 80, 20, 0, 0))
    assert trends.of(SERIES).rounds == first.rounds + 1
    assert len(computed) == 2


def test_a_slow_trend_is_refused_until_it_is_there(store):
    trends = SeriesTrends(store, wait=0.0)
    with trends._computing, pytest.raises(Refused, match="being compared"):
        trends.of(SERIES)
    trends._wait = WAIT
    assert trends.of(SERIES).rounds == 3


def test_a_failure_keeps_the_previous_trend(store, monkeypatch):
    trends = SeriesTrends(store, wait=WAIT)
    first = trends.of(SERIES)
    add_batch(store, SERIES.task(3), (100, 80, 20, 0, 0))
    monkeypatch.setattr(SeriesTrends, "trend", lambda *given: 1 / 0)
    assert trends.of(SERIES) is first


def test_there_is_no_trend_before_the_first_release(tmp_path):
    with open_tally_store(tmp_path / "analyzer.db") as empty:
        assert SeriesTrends(empty).of(SERIES) is None


def test_as_many_of_the_latest_rounds_as_fit(store, monkeypatch):
    monkeypatch.setattr("shuffledp.collect.analyzer.shown.MOST_NUMBERS", 11)
    assert [each.number for each in SeriesTrends(store).trend(SERIES, [1, 2, 4]).rounds] == [2, 4]


def settings(store, series=(SERIES,)):
    return Settings(served=[], only_shown=SERIES.tasks, store=store, series=series)


@pytest.mark.slow
@pytest.mark.anyio
async def test_files_and_pages(store):
    async with client_in_process(make_app(settings(store))) as client:
        at = f"/v1/series/{SERIES.name}/trend"
        plain = (await client.get(f"{at}.json")).json()
        assert plain == (await client.get(at)).json()
        assert [each["number"] for each in plain["rounds"]] == [1, 2, 4]
        table = await client.get(f"{at}.csv")
        assert "attachment" in table.headers["content-disposition"]
        assert len(list(csv.DictReader(io.StringIO(table.text)))) == 15
        report = await client.get(f"{at}.html")
        assert "default-src 'none'" in report.headers["content-security-policy"]
        read_page(report.text)
        page = await client.get(f"/series/{SERIES.name}", headers={"accept": "text/html"})
        read_page(page.text)
        assert "Rounds 1 to 4 of 4 (1 without a release)" in page.text
        assert f"{at}.csv" in page.text
        assert "Changed or noise?" in page.text
        round_page = await client.get(f"/tasks/{SERIES.task(2).name}", headers={"accept": "text/html"})
        assert f'This is round 2. <a href="/series/{SERIES.name}">' in round_page.text
        listed = await client.get("/", headers={"accept": "text/html"})
        assert f'href="/series/{SERIES.name}"' in listed.text
        assert f'href="/tasks/{SERIES.task(1).name}"' not in listed.text


@pytest.mark.anyio
async def test_unknown_series_and_endings(store, tmp_path):
    async with client_in_process(make_app(settings(store))) as client:
        at = f"/v1/series/{SERIES.name}/trend"
        for wrong in (f"/v1/series/{'0' * 64}/trend.json", f"{at}.png", f"/series/{'0' * 64}"):
            assert (await client.get(wrong)).status_code == 404
    with open_tally_store(tmp_path / "empty.db") as empty:
        async with client_in_process(make_app(settings(empty))) as client:
            none = await client.get(at)
            assert none.status_code == 404
            assert none.json()["reason"] == "no-release"
            page = await client.get(f"/series/{SERIES.name}", headers={"accept": "text/html"})
            assert "There is no release yet" in page.text


def text_series():
    """Two rounds of a question about texts."""
    keys = tuple(KeyPair.generate() for _ in range(2))
    places = [Place(f"http://127.0.0.1:{9 + at}", key.public) for at, key in enumerate(keys)]
    return new_series(
        question="Your home page?",
        answers=text_answers(longest=256, levels=2, pieces=(*PLAIN, *HOSTILE)),
        users=1000,
        epsilon=8.0,
        delta=1e-4,
        rounds=2,
        period=86_400,
        servers=[Servers(places[:1], places[1])],
        opens=FIRST,
    )


@pytest.mark.slow
def test_texts_of_strangers_are_found_escaped_and_hidden(tmp_path):
    series = text_series()
    people = [{"news.test": 500, SCRIPT: 400}, {"news.test": 300, SCRIPT: 400, "mail.test": 250}]
    with open_tally_store(tmp_path / "analyzer.db") as store:
        for number, each in enumerate(people, start=1):
            task = series.task(number)
            store.prepare(task)
            store.keep_tally(task.id, bytes([number]) * 32, to_bytes(tally_of(task, each, seed=number)), 1000, {})
            Releasing(task, store).release()
        trend = SeriesTrends(store).trend(series, [1, 2])
        assert all(each.as_planned for each in trend.rounds)
        assert {"news.test", "mail.test", SCRIPT} <= set(trend.labels)
        first, second = trend.levels("mail.test")
        assert (first.count, first.low) == (None, 0)
        assert second.low <= 250 <= second.high
        shown = SeriesTrends(store, wait=WAIT).of(series)
        read_page(str(shown.part))
        assert "<script>" not in str(shown.part)
        assert SCRIPT in shown.files["json"].decode()
        hiding = HidingStore(store, Blocklist.of(["alert"]))
        hidden = SeriesTrends(hiding, wait=WAIT).of(series)
        for content in (str(hidden.part), *(each.decode() for each in hidden.files.values())):
            assert "alert(1)" not in content
            assert "news.test" in content


def series_of(answers, *, users=400, rounds=3):
    places = [Place(f"http://127.0.0.1:{9 + at}", KeyPair.generate().public) for at in range(2)]
    return new_series(
        question="How many?",
        answers=answers,
        users=users,
        epsilon=8.0,
        delta=1e-3,
        rounds=rounds,
        period=86_400,
        servers=[Servers(places[:1], places[1])],
        opens=FIRST,
    )


def add_people(store, task, answers, *, seed):
    """Keep and release the tally of a batch of people with these answers."""
    rng = np.random.default_rng(seed)
    symbols = [symbol for answer in answers for symbol in messages_of(task, answer, rng=rng) if symbol < task.alphabet]
    store.prepare(task)
    store.keep_tally(task.id, bytes([seed]) * 32, to_bytes(task.protocol.tally(np.array(symbols))), task.users, {})
    Releasing(task, store).release()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answers", "label"), [(AnswerEdges("0:10:1", ["0.5"]), "8 to below 9"), (AnswerRange(0, 10), 8)]
)
def test_numbers_have_quantiles_over_time(tmp_path, answers, label):
    series = series_of(answers)
    with open_tally_store(tmp_path / "analyzer.db") as store:
        for number, middle in enumerate((2, 2, 8), start=1):
            add_people(store, series.task(number), [middle + at % 2 for at in range(400)], seed=number)
        trend = SeriesTrends(store).trend(series, [1, 2, 3])
        assert all(each.as_planned for each in trend.rounds)
        (middle,) = [each for each in trend.quantiles if each.share == 0.5]
        assert middle.difference().verdict is Verdict.UP
        assert middle.difference(until=2).verdict is Verdict.NO_EVIDENCE
        assert [level.low <= 200 <= level.high for level in trend.levels(label)][2]
        assert "Quantiles" in str(SeriesTrends(store, wait=WAIT).of(series).part)


@pytest.mark.slow
def test_several_choices_over_time(tmp_path):
    series = series_of(AnswerChoices(["tea", "coffee", "water"], 2))
    with open_tally_store(tmp_path / "analyzer.db") as store:
        for number, second in enumerate(("coffee", "coffee", "water"), start=1):
            add_people(store, series.task(number), [["tea", second]] * 400, seed=number)
        trend = SeriesTrends(store).trend(series, [1, 2, 3])
        assert {"tea", "coffee", "water"} <= set(trend.labels)
        assert trend.difference("coffee").verdict is Verdict.DOWN
        assert trend.difference("water").verdict is Verdict.UP
        assert trend.difference("tea").verdict is Verdict.NO_EVIDENCE
        for label, counts in {"tea": (400, 400, 400), "coffee": (400, 400, 0), "water": (0, 0, 400)}.items():
            for level, count in zip(trend.levels(label), counts, strict=True):
                assert level.low <= count <= level.high

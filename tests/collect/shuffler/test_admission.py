"""Admission: open, with a shared secret, or with an unspent one-time token."""

import asyncio

import pytest

from shuffledp.collect.reasons import Reason
from shuffledp.collect.server.auth import Accepted, hash_of, new_token
from shuffledp.collect.shuffler.ingest import OneTimeTokens, SharedSecret
from tests.collect.shuffler.running import Asked, running, sealed, settings_for
from tests.collect.tasks import small_task

KEPT = small_task(users=5, epsilon=8.0, delta=1e-2)
TASK = KEPT.task
SECRET = "correct horse"


def sent(settings, *reports, together=False):
    """Send reports, each with a token or None, in turn or all at once; return the responses and the status."""

    async def one(asked, body, token):
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        return await asked.report(body, **headers)

    async def run():
        async with running(settings) as client:
            asked = Asked(client, TASK)
            asking = [one(asked, body, token) for body, token in reports]
            answers = await asyncio.gather(*asking) if together else [await each for each in asking]
            return [answer.status_code for answer in answers], answers, await asked.status()

    return asyncio.run(run())


def with_tokens(path, tokens, **changes):
    settings = settings_for(path, admission=OneTimeTokens(), **changes)
    settings.store.prepare(TASK)
    settings.store.add_admissions(TASK.id, [hash_of(token) for token in tokens])
    return settings


def test_open_admission_accepts_reports_with_or_without_a_token(tmp_path):
    codes, _, _ = sent(settings_for(tmp_path), (sealed(TASK), None), (sealed(TASK), "anything"))
    assert codes == [201, 201]


@pytest.mark.parametrize("token", [None, "correct hors", "correct horse x", "Correct horse", hash_of(SECRET).hex()])
def test_without_the_secret_reports_are_refused(token, tmp_path):
    settings = settings_for(tmp_path, admission=SharedSecret(Accepted((hash_of(SECRET),))))
    codes, answers, status = sent(settings, (sealed(TASK), token))
    assert codes == [403]
    assert answers[0].json()["reason"] == Reason.NOT_ADMITTED
    assert status["waiting"] == 0
    assert status["refused"] == {"not-admitted": 1}


def test_with_the_secret_reports_are_accepted(tmp_path):
    settings = settings_for(tmp_path, admission=SharedSecret(Accepted((hash_of(SECRET),))))
    codes, _, status = sent(settings, (sealed(TASK), SECRET), (sealed(TASK), SECRET))
    assert codes == [201, 201]
    assert status["waiting"] == 2


def test_a_token_is_spent_once(tmp_path):
    token = new_token()
    codes, answers, status = sent(with_tokens(tmp_path, [token]), (sealed(TASK), token), (sealed(TASK), token))
    assert codes == [201, 403]
    assert answers[1].json()["reason"] == Reason.NOT_ADMITTED
    assert status["waiting"] == 1


@pytest.mark.parametrize("token", [None, "a token of somebody else"])
def test_without_a_valid_token_reports_are_refused(token, tmp_path):
    codes, _, status = sent(with_tokens(tmp_path, [new_token()]), (sealed(TASK), token))
    assert codes == [403]
    assert status["waiting"] == 0


def test_a_report_sent_again_is_acknowledged_again_though_its_token_is_spent(tmp_path):
    token, body = new_token(), sealed(TASK)
    codes, _, status = sent(with_tokens(tmp_path, [token]), (body, token), (body, token), (body, None))
    assert codes == [201, 201, 403]  # as the wire format says: a token is needed, and may be spent
    assert status["waiting"] == 1


def test_a_refused_report_spends_no_token(tmp_path):
    token = new_token()
    codes, _, _ = sent(with_tokens(tmp_path, [token]), (b"x" * 100, token), (sealed(TASK), token))
    assert codes == [400, 201]


def test_a_token_is_spent_once_by_reports_at_the_same_time(tmp_path):
    token = new_token()
    reports = [(sealed(TASK), token) for _ in range(20)]
    codes, _, status = sent(with_tokens(tmp_path, [token]), *reports, together=True)
    assert sorted(codes) == [201] + [403] * 19
    assert status["waiting"] == 1


def test_a_token_is_spent_once_at_two_shufflers_of_one_store(tmp_path):
    """As with two processes: each has its own connection and commits."""
    token = new_token()
    first = with_tokens(tmp_path, [token])
    second = settings_for(tmp_path, admission=OneTimeTokens())

    async def run():
        async with running(first) as one, running(second) as other:
            headers = {"authorization": f"Bearer {token}"}
            asked = [Asked(client, TASK) for client in (one, other)]
            answers = await asyncio.gather(*(asked[at % 2].report(sealed(TASK), **headers) for at in range(10)))
            return [answer.status_code for answer in answers]

    assert sorted(asyncio.run(run())) == [201] + [403] * 9
    assert first.store.standing(TASK.id).waiting == 1


def test_a_token_stays_spent_when_the_operator_gives_the_same_list_again(tmp_path):
    token = new_token()
    sent(with_tokens(tmp_path, [token]), (sealed(TASK), token))
    codes, _, _ = sent(with_tokens(tmp_path, [token]), (sealed(TASK), token))
    assert codes == [403]


def test_neither_tokens_nor_the_order_of_spending_are_on_the_disk(tmp_path):
    """Only hashes are stored, apart from every report."""
    tokens = [new_token() for _ in range(4)]
    settings = with_tokens(tmp_path, tokens, background=False)
    seen = []
    add = settings.store.add

    def watched(arrivals):
        seen.extend(arrivals)
        return add(arrivals)

    settings.store.add = watched
    sent(settings, *((sealed(TASK), token) for token in tokens))
    settings.store.close()
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert not [token for token in tokens if token.encode() in written]
    for arrival in seen:  # the hash is not stored near the report's id or onions
        for there in (arrival.report_id, arrival.digest, arrival.onions[:16]):
            place = written.find(there)
            assert place >= 0
            assert arrival.admission_hash not in written[max(0, place - 100) : place + len(arrival.onions) + 100]

"""Two shufflers on one PostgreSQL, as on two machines behind a load balancer."""

import asyncio

from shuffledp.collect.crypto.batch import HEAD_BYTES
from shuffledp.collect.server.auth import hash_of, new_token
from shuffledp.collect.shuffler.ingest import OneTimeTokens
from shuffledp.collect.store import open_report_store
from tests.collect.databases import ON_POSTGRES
from tests.collect.shuffler.running import Asked, running, sealed, settings_for
from tests.collect.tasks import small_task

pytestmark = list(ON_POSTGRES)

KEPT = small_task(users=5, epsilon=8.0, delta=1e-2)
TASK = KEPT.task


def test_two_machines_make_exact_batches_of_the_same_reports(postgres_url, tmp_path):
    """Every report goes to both at once with one token, and counts once in a complete batch."""
    tokens = [new_token() for _ in range(23)]
    bodies = [sealed(TASK, [at % TASK.alphabet]) for at in range(23)]
    first, second = (
        settings_for(tmp_path, store=open_report_store(postgres_url), admission=OneTimeTokens()) for _ in range(2)
    )
    first.store.prepare(TASK)
    first.store.add_admissions(TASK.id, [hash_of(token) for token in tokens])

    async def run():
        async with running(first) as one, running(second) as other:
            asked = [Asked(client, TASK) for client in (one, other)]
            answers = await asyncio.gather(
                *(
                    each.report(body, authorization=f"Bearer {token}")
                    for body, token in zip(bodies, tokens, strict=True)
                    for each in asked
                )
            )
            batches = await asked[0].batches(4)
            return answers, [(await asked[1].pulled(batch)).content for batch in batches], await asked[1].status()

    answers, batches, status = asyncio.run(run())
    assert {answer.status_code for answer in answers} == {201}
    assert (status["batches"], status["waiting"], status["refused"]) == (4, 3, {})
    onions = b"".join(content[HEAD_BYTES:] for content in batches)
    assert len(onions) == 20 * TASK.onion_length(1)
    opened, refused = KEPT.layer(1).open_block(onions)
    assert (len(opened), refused) == (20, 0)
    for settings in (first, second):
        settings.store.close()

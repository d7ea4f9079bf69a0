"""Invalid data from the last shuffler is refused with a reason and delays no other batch."""

import threading
from dataclasses import replace

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shuffledp.collect.analyzer.worker import BATCH, BatchAnalyzer
from shuffledp.collect.crypto.batch import HEAD_BYTES, BatchHead
from shuffledp.collect.server.upstream import NO_BATCHES, Upstream
from tests.collect.analyzer.batches import batch_of, tiny_task
from tests.collect.analyzer.running import settings_for

GOOD, BAD = bytes([1]) * 16, bytes([2]) * 16


class Shuffler:
    """A last shuffler that serves any bytes as batches."""

    def __init__(self, kept, token="token"):
        self.kept, self.token, self.bodies, self.deleted = kept, token, {}, []

    def answer(self, request):
        if request.headers["authorization"] != f"Bearer {self.token}":
            return httpx.Response(401)
        name = request.url.path.rpartition("/")[2]
        if name == "batches":
            return httpx.Response(200, json={"batches": [{"id": each.hex(), "number": 1} for each in self.bodies]})
        if request.method == "DELETE":
            self.deleted.append(bytes.fromhex(name))
            self.bodies.pop(bytes.fromhex(name), None)
            return httpx.Response(204)
        return httpx.Response(200, stream=httpx.ByteStream(self.bodies[bytes.fromhex(name)]))

    @property
    def upstream(self):
        client = httpx.Client(transport=httpx.MockTransport(self.answer))
        return Upstream("http://127.0.0.1:9", "token", client=client, pause=0)


def body_of(kept, own_id, *, seed=0, **changes):
    onions = batch_of(kept, seed)[1]
    head = BatchHead(kept.task.id, own_id, len(kept.task.shufflers), len(onions))
    return replace(head, **changes).to_bytes() + b"".join(onions)


def collected(path, shuffler):
    """Return the problem of each stored batch after one round, and the public problems."""
    path.mkdir(exist_ok=True)
    kept = shuffler.kept
    chosen = settings_for(path, kept, shuffler.upstream)
    with chosen.store as store:
        store.prepare(kept.task)
        work = BatchAnalyzer(chosen.served[0], chosen)
        work.step(threading.Event())
        return {each.batch_id: each.problem for each in store.tallies(kept.task.id)}, work.health.problems


ANOTHER = "the previous server sends another batch than the requested one, or one for another server"
LONGER = "a batch is longer than its head says"


def because(words, why):
    """The public problem for a batch that fails for this reason."""
    return f"{words} Cause: {why}."


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"task_id": bytes(32)}, ANOTHER),
        ({"batch_id": GOOD}, ANOTHER),
        ({"position": 0}, ANOTHER),
        ({"position": 2}, ANOTHER),
        ({"number": 0}, LONGER),
        ({"number": 10}, LONGER),
        ({"number": 2**60}, "a batch has more messages than its number of reports allows"),
        ("truncated", "a batch ended 49 bytes too early"),
        ("longer", LONGER),
        ("not whole", "a batch ended 1 bytes too early"),
        ("no batch", "the previous server sends something that is not a batch"),
        ("nothing", "a batch ended within its head"),
    ],
)
def test_invalid_batches_stay_upstream(tmp_path, wrong, why):
    shuffler = Shuffler(tiny_task())
    whole = body_of(shuffler.kept, BAD, seed=1)
    made = {
        "truncated": whole[:-49],
        "longer": whole + bytes(49),
        "not whole": whole[:-1],
        "no batch": b"<html>" + whole,
        "nothing": b"",
    }
    content = made[wrong] if isinstance(wrong, str) else body_of(shuffler.kept, BAD, seed=1, **wrong)
    shuffler.bodies = {BAD: content, GOOD: body_of(shuffler.kept, GOOD)}
    assert collected(tmp_path, shuffler) == ({GOOD: None}, [because(BATCH, why)])
    assert shuffler.deleted == [GOOD]


def test_a_flipped_bit_costs_one_message(tmp_path):
    shuffler = Shuffler(tiny_task())
    content = bytearray(body_of(shuffler.kept, BAD))
    content[HEAD_BYTES + 100] ^= 4
    shuffler.bodies = {BAD: bytes(content)}
    assert collected(tmp_path, shuffler) == ({BAD: None}, [])


def test_without_the_token_nothing_arrives(tmp_path):
    shuffler = Shuffler(tiny_task(), token="another")
    shuffler.bodies = {GOOD: body_of(shuffler.kept, GOOD)}
    assert collected(tmp_path, shuffler) == (
        {},
        [because(NO_BATCHES, "the previous server does not know this token: start it with the hash of this token")],
    )


@pytest.mark.slow
@given(
    changes=st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 200), st.binary(max_size=120)), max_size=4),
    at_head=st.booleans(),
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
def test_an_invalid_batch_delays_no_other(tmp_path_factory, changes, at_head):
    shuffler = Shuffler(tiny_task())
    content = bytearray(body_of(shuffler.kept, BAD, seed=1))
    for at, removed, added in changes:
        start = at % (HEAD_BYTES if at_head else len(content) or 1)
        content[start : start + removed] = added
    shuffler.bodies = {BAD: bytes(content), GOOD: body_of(shuffler.kept, GOOD)}
    found, reported = collected(tmp_path_factory.mktemp("fuzzed"), shuffler)
    assert found[GOOD] is None
    if BAD in found:
        assert found[BAD] in (None, "too-few-messages")
        assert (set(shuffler.deleted), reported) == ({GOOD, BAD}, [])
    else:
        assert shuffler.deleted == [GOOD]
        (problem,) = reported
        assert problem.startswith(because(BATCH, "")[:-1])

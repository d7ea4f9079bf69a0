"""Storing reports: each is stored once, with the right outcome."""

import secrets
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.collect.store import Arrival, Outcome, open_report_store
from shuffledp.collect.store.reports import decide
from shuffledp.errors import DataError, ParameterError
from tests.collect.store.made_up import MadeUpTask, arrival, arrivals, every_row, task_of

TASK = task_of(10)
STORED, KNOWN, OTHER_BYTES = Outcome.STORED, Outcome.KNOWN, Outcome.OTHER_BYTES
NOT_ADMITTED, CLOSED = Outcome.NOT_ADMITTED, Outcome.CLOSED


def test_a_report_is_stored_once(reports):
    reports.prepare(TASK)
    new = arrivals(TASK, 5)
    assert reports.add(new) == [STORED] * 5
    assert reports.add(new) == [KNOWN] * 5
    assert reports.standing(TASK.id).waiting == 5
    assert len(every_row(reports)["onions"]) == 5


def test_the_same_id_with_other_bytes_is_refused(reports):
    reports.prepare(TASK)
    first = arrival(TASK)
    assert reports.add([first]) == [STORED]
    assert reports.add([arrival(TASK, report_id=first.report_id)]) == [OTHER_BYTES]
    assert [row[1] for row in every_row(reports)["onions"]] == [first.onions]


def test_arrivals_of_one_call_are_decided_separately(reports):
    reports.prepare(TASK)
    first, other = arrival(TASK), arrival(TASK)
    forged = arrival(TASK, report_id=first.report_id)
    assert reports.add([first, other, first, forged]) == [STORED, STORED, KNOWN, OTHER_BYTES]
    assert sorted(row[1] for row in every_row(reports)["onions"]) == sorted([first.onions, other.onions])


def test_adding_no_reports(reports):
    assert reports.add([]) == []


def test_ids_belong_to_a_task(reports):
    """One call has reports of several tasks; an id known in one task is new in another."""
    other = task_of(10, "another")
    reports.prepare(TASK)
    reports.prepare(other)
    here, there = arrival(TASK, report_id=b"i" * 16), arrival(other, report_id=b"i" * 16)
    assert reports.add([here, there, here]) == [STORED, STORED, KNOWN]
    assert (reports.standing(TASK.id).waiting, reports.standing(other.id).waiting) == (1, 1)


def test_a_report_may_hold_no_message(reports):
    reports.prepare(task := task_of(1))
    assert reports.add([arrival(task, number=0)]) == [STORED]
    assert b"".join(reports.onions(reports.close_batch(task.id, 1))) == b""


def test_a_token_admits_once(reports):
    reports.prepare(TASK)
    assert reports.add_admissions(TASK.id, [b"a" * 32, b"b" * 32, b"a" * 32]) == 2
    first, second = (arrival(TASK, admission_hash=b"a" * 32) for _ in range(2))
    assert reports.add([first]) == [STORED]
    assert reports.add([second]) == [NOT_ADMITTED]
    assert reports.add([first]) == [KNOWN]  # sent again: the report itself has spent the token
    assert reports.add([arrival(TASK, admission_hash=b"c" * 32)]) == [NOT_ADMITTED]
    assert reports.standing(TASK.id).waiting == 1


def test_a_token_admits_one_of_a_call(reports):
    reports.prepare(TASK)
    reports.add_admissions(TASK.id, [b"a" * 32])
    stored, late = (arrival(TASK, admission_hash=b"a" * 32) for _ in range(2))
    refused = arrival(TASK, report_id=b"r" * 16, admission_hash=b"x" * 32)
    assert reports.add([refused, stored, late]) == [NOT_ADMITTED, STORED, NOT_ADMITTED]
    # refused reports are not remembered: with a token it is accepted
    reports.add_admissions(TASK.id, [b"y" * 32])
    assert reports.add([arrival(TASK, report_id=b"r" * 16, admission_hash=b"y" * 32)]) == [STORED]


def test_a_spent_token_stays_spent_when_the_list_is_read_again(reports):
    reports.prepare(TASK)
    reports.add_admissions(TASK.id, [b"a" * 32])
    assert reports.add([arrival(TASK, admission_hash=b"a" * 32)]) == [STORED]
    assert reports.add_admissions(TASK.id, [b"a" * 32]) == 0
    assert reports.add([arrival(TASK, admission_hash=b"a" * 32)]) == [NOT_ADMITTED]


def test_tokens_belong_to_a_task(reports):
    other = task_of(10, "another")
    reports.prepare(TASK)
    reports.prepare(other)
    reports.add_admissions(other.id, [b"a" * 32])
    assert reports.add([arrival(TASK, admission_hash=b"a" * 32)]) == [NOT_ADMITTED]
    assert reports.add([arrival(other, admission_hash=b"a" * 32)]) == [STORED]


A_FEW = st.lists(
    st.builds(
        Arrival,
        task_id=st.just(TASK.id),
        report_id=st.sampled_from([b"1" * 16, b"2" * 16, b"3" * 16]),
        digest=st.sampled_from([b"d" * 16, b"e" * 16]),
        onions=st.just(b"o"),
        number=st.just(1),
        admission_hash=st.sampled_from([None, b"a" * 32, b"b" * 32]),
    ),
    max_size=8,
)


@pytest.mark.slow
@given(A_FEW, st.sets(st.sampled_from([b"a" * 32, b"b" * 32])))
def test_one_call_equals_several(few, tokens):
    """One call with several arrivals decides like one call per arrival."""
    together = decide(few, {}, tokens)
    seen, unspent, outcomes = {}, set(tokens), []
    for one in few:
        alone = decide([one], seen, unspent)
        outcomes += alone.outcomes
        seen |= {kept.report_id: kept.digest for kept in alone.kept}
        unspent -= set(alone.spent)
    assert together.outcomes == outcomes
    assert {kept.report_id: kept.digest for kept in together.kept} == seen
    assert len(together.kept) == outcomes.count(STORED) == len(seen)


def test_threads_store_each_report_once(reports):
    """Eight threads add the same reports and tokens in different orders and groups."""
    reports.prepare(TASK)
    tokens = [secrets.token_bytes(32) for _ in range(30)]
    reports.add_admissions(TASK.id, tokens)
    admitted = [arrival(TASK, admission_hash=token) for token in tokens]
    doubles = [arrival(TASK, admission_hash=token) for token in tokens]
    free = arrivals(TASK, 30)

    def add(thread):
        order = secrets.SystemRandom().sample([*admitted, *doubles, *free], 90)
        return [
            (one, outcome)
            for at in range(0, 90, 9 + thread)
            for one, outcome in zip(order[at : at + 9 + thread], reports.add(order[at : at + 9 + thread]), strict=True)
        ]

    with ThreadPoolExecutor(8) as pool:
        reported = [each for thread in pool.map(add, range(8)) for each in thread]
    stored = [one.report_id for one, outcome in reported if outcome == STORED]
    assert len(stored) == len(set(stored)) == 60  # one for each token, and all that need no token
    assert {one.report_id for one in free} <= set(stored)
    assert reports.standing(TASK.id).waiting == reports.standing(TASK.id).reports == 60
    known = {one.report_id for one, outcome in reported if outcome == KNOWN}
    assert known <= set(stored)


def test_a_reopened_store_has_all_data(address):
    with open_report_store(address) as store:
        store.prepare(TASK)
        new = arrivals(TASK, 3)
        store.add(new)
    with open_report_store(address) as store:
        store.prepare(TASK)
        assert store.add(new) == [KNOWN] * 3
        assert store.standing(TASK.id).waiting == 3
    with pytest.raises(ParameterError, match="the store is closed"):
        store.standing(TASK.id)


def test_a_task_must_be_prepared_and_keeps_its_size(reports):
    with pytest.raises(ParameterError, match="prepare"):
        reports.add(arrivals(TASK, 1))
    reports.prepare(TASK)
    reports.prepare(TASK)
    with pytest.raises(DataError, match=r"users must be 10, .* got 11"):
        reports.prepare(MadeUpTask(id=TASK.id, users=11))


def test_counters(reports):
    reports.prepare(TASK)
    reports.add([*arrivals(TASK, 12, number=2), arrival(TASK, number=5)])
    reports.count_refusals(TASK.id, {"malformed": 2, "wrong time": 1})
    reports.count_refusals(TASK.id, {"malformed": 3})
    standing = reports.standing(TASK.id)
    assert (standing.reports, standing.messages, standing.waiting) == (13, 29, 13)
    assert standing.refused == {"malformed": 5, "wrong time": 1}
    assert (standing.batches, standing.short_by) == (0, None)
    reports.close_batch(TASK.id, 10)
    standing = reports.standing(TASK.id)
    assert (standing.reports, standing.waiting, standing.batches, standing.closing) == (13, 3, 1, 1)

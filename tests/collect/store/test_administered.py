"""Files of tasks that operators add, close early and remove."""

from types import SimpleNamespace

import pytest

from shuffledp.collect.store import FileState, open_report_store, open_tally_store
from shuffledp.errors import DataError

ID, OTHER = b"i" * 32, b"o" * 32
CONTENT = b'{"a":1}' * 1000


@pytest.fixture(params=[open_report_store, open_tally_store], ids=["reports", "tallies"])
def opened(request, address):
    return lambda: request.param(address)


def test_a_file_is_added_closed_and_removed(opened):
    with opened() as store:
        files = store.files
        assert files.states() == {}
        for _ in range(2):  # idempotent
            files.add(ID, CONTENT)
            assert files.states() == {ID: FileState.SERVED}
        assert files.close(ID, CONTENT)
        assert not files.close(ID, CONTENT)
        files.add(ID, CONTENT)  # does not open it again
        assert files.states() == {ID: FileState.CLOSED}
        assert files.remove(ID, CONTENT)
        assert not files.remove(ID, CONTENT)
        assert not files.close(ID, CONTENT)
        assert files.states() == {ID: FileState.REMOVED}
    with opened() as store:  # also for the next process
        assert store.files.states() == {ID: FileState.REMOVED}
        assert store.files.content(ID) == CONTENT
        store.files.add(ID, CONTENT)
        assert store.files.states() == {ID: FileState.CLOSED}


def test_tasks_are_prepared_together(opened):
    tasks = [SimpleNamespace(id=bytes([number]) * 32, users=number + 2) for number in range(5)]
    with opened() as store:
        store.prepare(tasks[3])
        store.prepare(*tasks, tasks[0])
        store.prepare(*tasks)
        store.prepare()
        for task in tasks:
            assert store.standing(task.id).batches == 0
        with store.database.reading() as transaction:
            found = transaction.rows("SELECT task_id, users FROM tasks ORDER BY task_id")
        assert [(bytes(task_id), users) for task_id, users in found] == [(task.id, task.users) for task in tasks]
        with pytest.raises(DataError, match="users must be 3"):
            store.prepare(tasks[0], SimpleNamespace(id=tasks[1].id, users=9))


def test_files_of_the_start_are_closed_and_removed_without_being_added(opened):
    with opened() as store:
        assert store.files.close(ID, CONTENT)
        assert store.files.remove(OTHER, CONTENT)
        assert store.files.states() == {ID: FileState.CLOSED, OTHER: FileState.REMOVED}

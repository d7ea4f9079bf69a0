"""What a store keeps of a report, also on the disk after deletion."""

import secrets
import stat

import pytest

from shuffledp.collect.store import open_report_store
from tests.collect.store.made_up import arrival, every_row, task_of

TASK = task_of(40)


def secret_reports():
    """Reports of random bytes that can be searched for, and the tokens that admit them."""
    return [arrival(TASK, admission_hash=secrets.token_bytes(32)) for _ in range(TASK.users)]


def on_disk(folder):
    """Every byte of the store's files."""
    files = sorted(folder.iterdir())
    assert [file.name for file in files if not file.name.startswith("store.db")] == []
    return b"".join(file.read_bytes() for file in files)


def found(parts, content):
    """Count these byte strings, also by 16 bytes from their beginning, middle or end."""
    return sum(any(part[at : at + 16] in content for at in (0, len(part) // 2 - 8, len(part) - 16)) for part in parts)


def test_deleted_data_is_gone_from_the_disk(tmp_path):
    """The file, its log and the log's index are searched after every step."""
    reports = secret_reports()
    onions, ids = [report.onions for report in reports], [report.report_id for report in reports]
    mixed = [secrets.token_bytes(4096) for _ in range(40)]
    with open_report_store(tmp_path / "store.db") as store:
        store.prepare(TASK)
        store.add_admissions(TASK.id, [report.admission_hash for report in reports])
        store.add(reports)
        assert found(onions, on_disk(tmp_path)) == 40  # the search finds stored data
        batch = store.close_batch(TASK.id, 40)
        store.keep_mixed(TASK.id, batch, 120, mixed, {})
        assert found(onions, on_disk(tmp_path)) == 0
        assert found(mixed, on_disk(tmp_path)) == 40
        store.acknowledge(batch)
        content = on_disk(tmp_path)
        assert found(onions, content) == found(mixed, content) == 0
        assert found(ids, content) == 40
        # reports in no batch when the task expires
        late = secret_reports()[:39]
        store.add_admissions(TASK.id, [report.admission_hash for report in late])
        store.add(late)
        assert found([report.onions for report in late], on_disk(tmp_path)) == 39
        store.expire(TASK.id)
        content = on_disk(tmp_path)
        assert found([report.onions for report in late], content) == 0
        assert found([report.admission_hash for report in (*reports, *late)], content) == 0
    assert found(onions, on_disk(tmp_path)) == 0


@pytest.mark.slow
def test_deleted_data_is_gone_after_a_concurrent_read(tmp_path):
    """The log cannot be emptied while a reader is open; the next change empties it."""
    reports = secret_reports()
    with open_report_store(tmp_path / "store.db") as store:
        store.prepare(TASK)
        store.add_admissions(TASK.id, [report.admission_hash for report in reports])
        store.add(reports)
        with open_report_store(tmp_path / "store.db") as reader:
            with reader._database.reading() as transaction:
                transaction.rows("SELECT 1 FROM tasks")
                batch = store.close_batch(TASK.id, 40)
                store.keep_mixed(TASK.id, batch, 120, [b"mixed"], {})
            store.count_refusals(TASK.id, {})
            assert found([report.onions for report in reports], on_disk(tmp_path)) == 0


def test_data_deleted_by_a_killed_process_is_gone_after_opening(tmp_path, monkeypatch):
    reports = secret_reports()
    store = open_report_store(tmp_path / "store.db")
    store.prepare(TASK)
    store.add_admissions(TASK.id, [report.admission_hash for report in reports])
    store.add(reports)
    batch = store.close_batch(TASK.id, 40)
    monkeypatch.setattr(store._database, "forget", lambda *_: None)  # killed before it could empty the log
    store.keep_mixed(TASK.id, batch, 120, [b"mixed"], {})
    assert found([report.onions for report in reports], on_disk(tmp_path)) == 40
    with open_report_store(tmp_path / "store.db"):
        assert found([report.onions for report in reports], on_disk(tmp_path)) == 0
    store.close()


def test_no_row_links_onions_or_tokens_to_ids(reports):
    people = secret_reports()
    reports.prepare(TASK)
    reports.add_admissions(TASK.id, [person.admission_hash for person in people])
    reports.add(people)
    batch = reports.close_batch(TASK.id, 40)
    rows = every_row(reports)
    ids = {person.report_id for person in people}
    onions = {person.onions for person in people}
    tokens = {person.admission_hash for person in people}
    places = {place for place, _ in rows["onions"]}
    holders = {"seen": ids, "onions": onions, "admissions": tokens}
    for table, content in rows.items():
        for row in content:
            values = {value for value in row if isinstance(value, bytes)}
            kinds = [kind for kind in (ids, onions, tokens) if values & kind]
            assert kinds == ([holders[table]] if table in holders else []), table
    assert {place for _, place in rows["members"]} == places
    assert {batch_id for batch_id, _ in rows["members"]} == {batch}
    assert all(len(row) == 3 for row in rows["seen"])  # the task, the id, the digest
    assert len({spent for _, _, spent in rows["admissions"]}) == 1


def test_rows_are_not_in_the_order_of_arrival(reports):
    """Neither table is in the order of arrival, which has probability 1 / 40!."""
    people = secret_reports()
    reports.prepare(TASK)
    reports.add_admissions(TASK.id, [person.admission_hash for person in people])
    reports.add(people)
    rows = every_row(reports)
    assert [row[1] for row in rows["seen"]] != [person.report_id for person in people]
    by_place = [content for _, content in sorted(rows["onions"])]
    assert by_place != [person.onions for person in people]
    assert by_place != [person.onions for person in sorted(people, key=lambda person: person.report_id)]
    assert [content for _, content in rows["onions"]] != [person.onions for person in people]


def test_no_table_has_a_column_for_times_or_addresses(reports):
    names = {"time", "date", "made", "address", "agent", "host", "port", "created", "stamp", "rowid", "serial"}
    schema = reports._database._schema
    words = {word.strip("(),").lower() for table in (*schema.tables, *schema.wide_tables) for word in table.split()}
    assert words & names == set()


def test_the_file_is_private(tmp_path):
    with open_report_store(tmp_path / "store.db") as store:
        store.prepare(TASK)
        store.add(secret_reports()[:1])
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("store.db", "store.db-wal", "store.db-shm"), 0o600)


@pytest.mark.parametrize(
    "pragma", [("synchronous", 2), ("secure_delete", 1), ("journal_mode", "wal"), ("temp_store", 2)]
)
def test_the_sqlite_settings(tmp_path, pragma):
    """synchronous=2 is FULL: a commit is on the disk when it returns. Temporary tables stay in memory."""
    name, value = pragma
    with open_report_store(tmp_path / "store.db") as store, store._database.writing() as transaction:
        assert transaction.rows(f"PRAGMA {name}") == [(value,)]

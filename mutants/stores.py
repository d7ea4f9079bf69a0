"""Faults of the stores: what a shuffler keeps of reports and batches, and an analyzer of tallies."""

from mutants.fault import Fault

_TESTS = "tests/collect/store"
_ARRIVALS = f"{_TESTS}/test_arrivals.py"
_BATCHES = f"{_TESTS}/test_batches.py"
_TALLIES = f"{_TESTS}/test_tallies.py"
_PRIVACY = f"{_TESTS}/test_privacy.py"
_RACES = f"{_TESTS}/test_races.py"
_ERRORS = f"{_TESTS}/test_errors.py"
_STORES = "collection/stores"

ARRIVALS = (
    Fault(
        name="told-before-it-is-kept",
        harm="People are told that their report is stored, and it is not.",
        file=f"{_STORES}/sqlite.py",
        old='connection.execute("COMMIT")',
        new='connection.execute("ROLLBACK")',
        tests=(f"{_ARRIVALS}::test_a_report_is_stored_once[sqlite]",),
    ),
    Fault(
        name="same-id-with-other-bytes-is-taken",
        harm="Somebody who knows a report's id is told that another report is stored, which is not.",
        file=f"{_STORES}/arriving.py",
        old="Outcome.KNOWN if known == arrival.digest else Outcome.OTHER_BYTES",
        new="Outcome.KNOWN",
        tests=(f"{_ARRIVALS}::test_the_same_id_with_other_bytes_is_refused[sqlite]",),
    ),
    Fault(
        name="a-report-sent-twice-in-one-call-is-two",
        harm="A report that arrives twice at the same moment is not taken as one.",
        file=f"{_STORES}/arriving.py",
        old="        digests[arrival.report_id] = arrival.digest\n",
        new="",
        tests=(
            f"{_ARRIVALS}::test_arrivals_of_one_call_are_told_apart[sqlite]",
            f"{_ARRIVALS}::test_one_call_is_as_many",
        ),
    ),
    Fault(
        name="tokens-are-not-spent",
        harm="With one token somebody can fill a batch and be left with one person's messages.",
        file=f"{_STORES}/arriving.py",
        old="UPDATE admissions SET spent = 1",
        new="UPDATE admissions SET spent = 0",
        tests=(f"{_ARRIVALS}::test_a_token_admits_once[sqlite]",),
    ),
    Fault(
        name="tokens-admit-all-of-a-call",
        harm="A token admits as many reports as arrive with it at the same moment.",
        file=f"{_STORES}/arriving.py",
        old="            unspent.remove(arrival.admission_hash)\n",
        new="",
        tests=(f"{_ARRIVALS}::test_a_token_admits_one_of_a_call[sqlite]",),
    ),
    Fault(
        name="spent-tokens-are-looked-at-last",
        harm="A person whose report is sent again while another process stores it is told that it was refused.",
        file=f"{_STORES}/arriving.py",
        old="""    admissible = transaction.rows_among(
        "SELECT hash FROM admissions WHERE task = ? AND spent = 0 AND hash {keys}", hashes, task
    )
    seen = transaction.rows_among("SELECT report_id, digest FROM seen WHERE task = ? AND report_id {keys}", ids, task)
""",
        new="""\
    seen = transaction.rows_among("SELECT report_id, digest FROM seen WHERE task = ? AND report_id {keys}", ids, task)
    admissible = transaction.rows_among(
        "SELECT hash FROM admissions WHERE task = ? AND spent = 0 AND hash {keys}", hashes, task
    )
""",
        tests=(f"{_RACES}::test_a_report_that_is_sent_again_while_it_is_taken_in_elsewhere",),
    ),
    Fault(
        name="a-token-used-elsewhere-meanwhile-admits",
        harm="A token admits one report at each of several machines.",
        file=f"{_STORES}/arriving.py",
        old="    if spent != len(decision.spent):\n",
        new="    if False:\n",
        tests=(f"{_RACES}::test_a_token_that_is_used_twice_at_the_same_moment",),
    ),
    Fault(
        name="reports-come-in-after-the-end",
        harm="A report is stored while its task expires; it is in no batch, and nobody deletes it.",
        file=f"{_STORES}/arriving.py",
        old='    transaction.lock(f"arrivals {task}", shared=True)  # until then the task does not expire\n',
        new="",
        tests=(f"{_RACES}::test_a_report_that_comes_while_the_task_expires_is_refused_or_counted",),
    ),
)

BATCHES = (
    Fault(
        name="batches-of-too-few",
        harm="A batch is made of the reports that are there, with less noise than promised.",
        file=f"{_STORES}/batching.py",
        old="    if waiting(transaction, task) < users:\n        return None\n",
        new="    users = min(users, waiting(transaction, task))\n",
        tests=(f"{_RACES}::test_of_two_that_close_at_the_same_moment_one_waits",),
    ),
    Fault(
        name="a-batch-of-one-report-too-many",
        harm="A batch has other people than its number says; the store must not make it.",
        file=f"{_STORES}/batching.py",
        old="*(batch_id, task, users),",
        new="*(batch_id, task, users + 1),",
        tests=(f"{_BATCHES}::test_a_batch_is_exactly_as_many[sqlite]",),
    ),
    Fault(
        name="a-batch-of-one-report-too-few",
        harm="A batch has fewer people than its number says; the store must not make it.",
        file=f"{_STORES}/batching.py",
        old="    if not chosen == moved == users:\n",
        new="    if not chosen == moved == users - 1:\n",
        tests=(f"{_BATCHES}::test_a_batch_is_exactly_as_many[sqlite]",),
    ),
    Fault(
        name="two-may-close-at-once",
        harm="Two processes choose the same reports for their batches.",
        file=f"{_STORES}/batching.py",
        old='    transaction.lock(f"batches {task}")\n',
        new="",
        tests=(f"{_RACES}::test_of_two_that_close_at_the_same_moment_one_waits",),
    ),
    Fault(
        name="who-comes-while-a-batch-is-closed-is-lost",
        harm="Reports that were acknowledged while a batch was closed are in none.",
        file=f"{_STORES}/batching.py",
        old="place IN (SELECT place FROM members WHERE batch_id = ?)",
        new="place <= (SELECT MAX(place) FROM members WHERE batch_id = ?)",
        tests=(f"{_RACES}::test_reports_that_come_while_a_batch_is_closed_wait_for_the_next",),
    ),
    Fault(
        name="senders-choose-their-batch",
        harm="Who is in a batch is decided by ids that the senders choose.",
        file=f"{_STORES}/arriving.py",
        old="region = secrets.randbelow(_REGIONS) * _PLACES",
        new="region = kept[0].report_id[0] * _PLACES",
        tests=(f"{_BATCHES}::test_who_is_in_a_batch_is_chosen_at_random[sqlite]",),
    ),
    Fault(
        name="an-incomplete-reading-looks-complete",
        harm="A batch that another process deletes while it is read is mixed without some of its people.",
        file=f"{_STORES}/batching.py",
        old="    if people:\n",
        new="    if False:\n",
        tests=(f"{_BATCHES}::test_a_batch_that_another_mixes_meanwhile_does_not_look_complete[sqlite]",),
    ),
    Fault(
        name="a-mixed-batch-is-mixed-again",
        harm="The next hop gets the same batch in two orders, from which more can be learnt than from one.",
        file=f"{_STORES}/handing_on.py",
        old="""    if state not in (None, CLOSED):
        return False
    ((written,),)""",
        new="""    ((written,),)""",
        tests=(f"{_BATCHES}::test_of_two_that_mix_at_the_same_time_one_is_kept[sqlite]",),
    ),
    Fault(
        name="keeping-a-batch-again-replaces-it",
        harm="A batch that is mixed again after a crash is handed on in another order.",
        file=f"{_STORES}/handing_on.py",
        old="not in (None, CLOSED):\n            return None\n",
        new='== "dropped":\n            return None\n',
        tests=(f"{_BATCHES}::test_keeping_twice_is_once[sqlite]",),
    ),
    Fault(
        name="half-a-batch-is-handed-on",
        harm="The next hop takes the pieces of a batch that is being deleted for the whole.",
        file=f"{_STORES}/handing_on.py",
        old='        if not found:\n            raise DataError("a batch was acknowledged while',
        new='        if not found:\n            return\n            raise DataError("a batch was acknowledged while',
        tests=(f"{_BATCHES}::test_a_batch_that_is_acknowledged_while_it_is_read_does_not_look_whole[sqlite]",),
    ),
    Fault(
        name="expired-tasks-lose-complete-batches",
        harm="Batches that were complete when the task closed are deleted.",
        file=f"{_STORES}/report_store.py",
        old="while batching.close(transaction, task, users):",
        new="while False:",
        tests=(f"{_BATCHES}::test_a_task_that_expires_hands_on_what_is_complete_and_deletes_the_rest[sqlite]",),
    ),
)

DELETION = (
    Fault(
        name="a-kept-batch-is-deleted-as-abandoned",
        harm="After several crashes a batch is deleted that the next hop does not have.",
        file=f"{_STORES}/tidying.py",
        old="done = bool(kept) or _delete_some",
        new="done = _delete_some",
        tests=(f"{_BATCHES}::test_of_abandoned_drafts_the_one_that_was_kept_stays[sqlite]",),
    ),
    Fault(
        name="onions-stay-after-mixing",
        harm="The disk says which messages came together long after they were mixed.",
        file=f"{_STORES}/tidying.py",
        old='        transaction.run_among("DELETE FROM onions WHERE place {keys}", places)\n',
        new="",
        tests=(f"{_BATCHES}::test_what_is_mixed_has_no_more_onions_of_reports[sqlite]",),
    ),
    Fault(
        name="acknowledged-batches-stay",
        harm="A shuffler keeps what the next hop has.",
        file=f"{_STORES}/tidying.py",
        old="if not (state == MIXED and draft == kept)",
        new="if not (draft == kept)",
        tests=(f"{_BATCHES}::test_acknowledging_deletes_all_but_the_ids[sqlite]",),
    ),
    Fault(
        name="incomplete-batches-stay",
        harm="Reports that are in no batch when their task closes are kept for ever.",
        file=f"{_STORES}/report_store.py",
        old="                if left:\n",
        new="                if False:\n",
        tests=(f"{_BATCHES}::test_a_task_that_expires_hands_on_what_is_complete_and_deletes_the_rest[sqlite]",),
    ),
    Fault(
        name="the-log-keeps-what-was-deleted",
        harm="What was deleted can be read in the file beside the store.",
        file=f"{_STORES}/tidying.py",
        old='    database.forget("onions", "waiting", "members", "drafts", "pieces")\n',
        new="",
        tests=(f"{_PRIVACY}::test_deleted_is_gone_from_the_disk",),
    ),
    Fault(
        name="deleted-rows-are-not-overwritten",
        harm="What was deleted can be read in the store's file.",
        file=f"{_STORES}/sqlite.py",
        old="PRAGMA secure_delete = ON",
        new="PRAGMA secure_delete = OFF",
        tests=(f"{_PRIVACY}::test_deleted_is_gone_from_the_disk",),
    ),
    Fault(
        name="a-log-that-is-read-is-never-emptied",
        harm="What was deleted while somebody read stays in the file beside the store.",
        file=f"{_STORES}/sqlite.py",
        old="            self._forgets = bool(busy)\n",
        new="",
        tests=(f"{_PRIVACY}::test_deleted_is_gone_though_somebody_was_reading",),
    ),
    Fault(
        name="a-store-that-everybody-can-read",
        harm="Everybody on the machine can read the reports.",
        file=f"{_STORES}/sqlite.py",
        old="0o600",
        new="0o644",
        tests=(f"{_PRIVACY}::test_the_file_is_its_owners",),
    ),
    Fault(
        name="passwords-in-errors",
        harm="The password of the database is in logs.",
        file=f"{_STORES}/postgres.py",
        old="return f\"PostgreSQL (database {parts.get('dbname', 'of the same name as the user')})\"",
        new="return url",
        tests=(f"{_ERRORS}::test_postgres_that_cannot_be_reached",),
    ),
    Fault(
        name="shufflers-and-analyzers-share-a-store",
        harm="One who must not see both sees reports and tallies.",
        file=f"{_STORES}/sqlite.py",
        old="if application != self._schema.application:",
        new="if application == 0:",
        tests=(f"{_ERRORS}::test_a_shuffler_and_an_analyzer_do_not_share_a_store[sqlite]",),
    ),
)

TALLIES = (
    Fault(
        name="tallies-are-counted-twice",
        harm="A batch that is pulled twice is in every total twice.",
        file=f"{_STORES}/tally_store.py",
        old="refused TEXT NOT NULL, problem TEXT, PRIMARY KEY (batch_id))",
        new="refused TEXT NOT NULL, problem TEXT, PRIMARY KEY (batch_id, tally))",
        tests=(f"{_TALLIES}::test_a_tally_is_kept_once[sqlite]",),
    ),
    Fault(
        name="a-tally-that-was-there-looks-new",
        harm="Who keeps a tally a second time is told that it is new, and spends for it again.",
        file=f"{_STORES}/tally_store.py",
        old='transaction.insert("tallies", columns, [row]) == 1',
        new='transaction.insert("tallies", columns, [row]) >= 0',
        tests=(f"{_TALLIES}::test_a_tally_is_kept_once[sqlite]",),
    ),
    Fault(
        name="batches-with-a-problem-are-released",
        harm="A batch with too little noise is published.",
        file=f"{_STORES}/tally_store.py",
        old="AND problem IS NULL ",
        new="",
        tests=(f"{_TALLIES}::test_what_must_not_be_released",),
    ),
    Fault(
        name="the-same-release-has-two-numbers",
        harm="The same batches are published again as if they were new.",
        file=f"{_STORES}/tally_store.py",
        old="            if known:\n",
        new="            if False:\n",
        tests=(f"{_TALLIES}::test_a_release_of_the_same_batches_is_the_same[sqlite]",),
    ),
)

FAULTS = (*ARRIVALS, *BATCHES, *DELETION, *TALLIES)

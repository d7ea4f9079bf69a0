"""Logs, metrics and keys of running servers."""

from mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        name="log-times-precise",
        harm="The log line of a complete batch says when its last person reported.",
        target="shuffledp.collect.server.observability:rounded_time",
        pattern="seconds - seconds % precision",
        replacement="seconds",
        tests=("tests/collect/server/test_observability.py::test_times_are_rounded_down_to_the_hour",),
    ),
    Mutant(
        name="log-lines-unlimited",
        harm="While the store fails, there is a log line for every report, at its arrival.",
        target="shuffledp.collect.server.observability:RateLimit.filter",
        pattern="not over and lines >= most",
        replacement="False",
        tests=(
            "tests/collect/server/test_observability.py::"
            "test_the_same_error_is_written_once_a_minute_with_the_number_left_out",
        ),
    ),
    Mutant(
        name="probes-commit",
        harm="A commit every ten seconds, between those of reports, says in a stolen store when each report arrived.",
        target="shuffledp.collect.server.storage:StoreHealth.step",
        pattern="self._database.check_usable()",
        replacement="self._database.check_writable()",
        tests=("tests/collect/server/test_storage.py::test_probes_commit_only_to_end_a_failure",),
    ),
    Mutant(
        name="free-space-precise",
        harm="Free space, polled after every report, shows its length, and so its number of messages.",
        target="shuffledp.collect.server.storage:rounded_space",
        pattern="free - free % SPACE_STEP",
        replacement="free",
        tests=("tests/collect/server/test_storage.py::test_disk_space_does_not_show_the_length_of_a_report",),
    ),
    Mutant(
        name="disk-size-precise",
        harm="Where file systems share a disk, the size of one shrinks by the length of each report in another.",
        target="shuffledp.collect.server.storage:rounded_size",
        pattern="size + -size % SPACE_STEP",
        replacement="size",
        tests=("tests/collect/server/test_storage.py::test_disk_space_does_not_show_the_length_of_a_report",),
    ),
    Mutant(
        name="cause-names-files",
        harm="The public status shows the message of an error, which names files of the server.",
        target="shuffledp.collect.server.background:_public_cause",
        pattern="os.strerror(error.errno)",
        replacement="str(error)",
        tests=("tests/collect/test_failures.py::test_an_error_of_the_system_during_a_release_is_named",),
    ),
    Mutant(
        name="destroyed-key-kept-in-memory",
        harm="A server opens reports with a key whose file was destroyed.",
        target="shuffledp.collect.server.storage:KeyWatch.step",
        pattern="key.destroy()",
        replacement="pass",
        tests=("tests/collect/server/test_key_watch.py::test_a_key_is_dropped_when_its_file_is_destroyed",),
    ),
    Mutant(
        name="key-of-removed-task-kept",
        harm="A key that is destroyed after its task was removed stays in memory until the next restart.",
        target="shuffledp.collect.server.storage:KeyWatch.step",
        pattern="list(self._seen.items())",
        replacement="[(key, self._seen[key]) for _, key in self._keys()]",
        tests=("tests/collect/server/test_key_watch.py::test_a_key_is_watched_after_its_task_was_removed",),
    ),
    Mutant(
        name="unmounted-key-dropped",
        harm="Where the volume of the keys is away for a moment, everybody who reports then is locked out for good.",
        target="shuffledp.collect.server.storage:KeyWatch._gone",
        pattern="seen.folder in (None, folder)",
        replacement="True",
        tests=(
            "tests/collect/server/test_key_watch.py::test_an_empty_folder_in_place_of_that_of_the_keys_destroys_none",
        ),
    ),
    Mutant(
        name="key-of-second-task-kept",
        harm="Of two tasks that share a key file, one is still opened after the file was overwritten.",
        target="shuffledp.collect.server.storage:KeyWatch._learn",
        pattern="_Seen(task.id)",
        replacement="next(iter(self._seen.values()), None) or _Seen(task.id)",
        tests=("tests/collect/server/test_key_watch.py::test_every_pair_of_an_overwritten_file_is_dropped",),
    ),
    Mutant(
        name="lost-key-ends-reports",
        harm="Clients drop their reports for good while the key file of a shuffler is away.",
        target="shuffledp.collect.shuffler.ingest:Ingestion.check_open",
        pattern="Refused(Reason.UNAVAILABLE, KEY_GONE)",
        replacement="Refused(Reason.CLOSED, KEY_GONE)",
        tests=("tests/collect/shuffler/test_reports.py::test_a_lost_key_ends_no_report",),
    ),
    Mutant(
        name="reports-kept-without-key",
        harm="Reports in no batch stay in the store for ever if the key is gone when their task closes.",
        target="shuffledp.collect.shuffler.tasks:ServedTasks.close_unserved",
        pattern="self._store.is_unexpired(task.id)",
        replacement="False",
        tests=(
            "tests/collect/server/test_admin_removal.py::test_the_reports_of_a_closed_round_are_deleted_without_its_key",
        ),
    ),
    Mutant(
        name="unforwarded-batch-forgotten",
        harm="A task is removed at a machine without its key while a batch waits, whose reports then count nowhere.",
        target="shuffledp.collect.shuffler.tasks:ServedTasks.unfinished",
        pattern="self._store.unacknowledged(task.id) if ask_others else 0",
        replacement="0",
        tests=(
            "tests/collect/server/test_admin_removal.py::test_a_machine_without_the_key_keeps_a_task_whose_batch_waits",
        ),
    ),
    Mutant(
        name="token-shown-to-author-of-task",
        harm="After its tasks were removed, a server sends its token to any address that the next task names.",
        target="shuffledp.collect.server.settings:check_known_upstream",
        pattern="known and address not in known",
        replacement="False",
        tests=(
            "tests/collect/server/test_admin.py::"
            "test_the_token_is_not_shown_to_another_shuffler_after_a_task_was_removed",
        ),
    ),
    Mutant(
        name="secret-of-another-task-admits",
        harm="People of another task answer one that has a secret of its own, if the server was started with theirs.",
        target="shuffledp.collect.shuffler.tasks:ServedTasks.refresh_admission",
        pattern="own and served.admission.until_own",
        replacement="False",
        tests=(
            "tests/collect/server/test_admin_tokens.py::test_the_secret_of_the_server_ends_for_an_added_task_with_its_own",
        ),
    ),
    Mutant(
        name="round-of-closed-series-opened",
        harm="A round is asked after an operator has closed its series.",
        target="shuffledp.collect.server.registry:_was_closed_with_series",
        pattern="(FileState.CLOSED, FileState.REMOVED)",
        replacement="()",
        tests=("tests/collect/server/test_admin.py::test_a_round_does_not_open_again_after_its_series_was_closed",),
    ),
)

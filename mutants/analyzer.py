"""Faults of the analyzer: what is counted, what is refused, what is joined, and what comes before a release."""

from mutants.fault import Fault

_COUNTING = "tests/collect/analyzer/test_counting.py"
_COLLECTING = "tests/collect/analyzer/test_collecting.py"
_RELEASING = "tests/collect/analyzer/test_releasing.py"
_REPORTS = "tests/collect/shuffler/test_reports.py"
_JOINED = "tests/protocols/test_joined_batches.py"
_KEEP = (
    "        number = self._store.keep_release(self._task.id, release=text, batches=[kept.batch_id for kept in "
    "batches])\n"
)

FAULTS = (
    Fault(
        name="pulled-twice-is-counted-twice",
        harm="A batch whose acknowledgement was lost is pulled and opened again, with nothing but a key to stop it.",
        file="collect/analyzer/worker.py",
        old="            if not self._store.has_batch(batch_id):\n                self._count(batch_id, stopping)",
        new="            self._count(batch_id, stopping)",
        tests=(f"{_COLLECTING}::test_pulled_twice_is_counted_once",),
    ),
    Fault(
        name="new-batches-are-joined-twice",
        harm="A joined release counts everybody in the newest batches twice.",
        file="collect/analyzer/releases.py",
        old="batches = [good] if self._joined else",
        new="batches = [[*good, *new]] if self._joined else",
        tests=(f"{_RELEASING}::test_joined_releases_count_all_batches_so_far",),
    ),
    Fault(
        name="acknowledged-before-it-is-kept",
        harm="The shuffler deletes a batch whose tally is not on the analyzer's disk: a crash loses everybody in it.",
        file="collect/analyzer/worker.py",
        old="            if not self._store.has_batch(batch_id):\n                self._count(batch_id, stopping)\n"
        "            self._upstream.acknowledge(self._task, batch_id)",
        new="            self._upstream.acknowledge(self._task, batch_id)\n"
        "            if not self._store.has_batch(batch_id):\n                self._count(batch_id, stopping)",
        tests=(f"{_COLLECTING}::test_killed_between_tally_and_acknowledgement",),
    ),
    Fault(
        name="missing-noise-is-released",
        harm="A batch with too few messages is published, although people's noise is missing from it.",
        file="collect/analyzer/worker.py",
        old="if task.protocol.most_reports(tally) < task.honest_users:",
        new="if task.protocol.most_reports(tally) < 1:",
        tests=(
            f"{_COUNTING}::test_a_batch_without_all_of_its_noise_is_refused",
            f"{_COLLECTING}::test_too_few_messages_are_refused_for_good_and_nothing_is_kept_of_them",
        ),
    ),
    Fault(
        name="missing-noise-is-estimated",
        harm="A tally without enough noise is read with the whole promise once messages may be forged.",
        file="protocols/shuffled_histogram.py",
        old="if not tally.complete or self.most_reports(tally) < honest:",
        new="if not tally.complete:",
        tests=(f"{_JOINED}::test_missing_noise_is_refused_also_where_messages_may_be_forged",),
    ),
    Fault(
        name="tally-without-noise-is-kept",
        harm="The counts of a batch whose noise is missing stay on the analyzer's disk.",
        file="collect/analyzer/worker.py",
        old='tally, problem = b"", short.reason.value',
        new="problem = short.reason.value",
        tests=(f"{_COLLECTING}::test_too_few_messages_are_refused_for_good_and_nothing_is_kept_of_them",),
    ),
    Fault(
        name="repeated-messages-are-counted",
        harm="Somebody who copies a ciphertext a thousand times counts a thousand times.",
        file="collect/analyzer/worker.py",
        old="kept = first_copies(onions)",
        new="kept = np.arange(len(onions))",
        tests=(f"{_COUNTING}::test_every_reason_is_counted_and_nothing_refused_is",),
    ),
    Fault(
        name="alphabet-is-not-checked",
        harm="A number that is no message is counted for some value, or stops the whole batch.",
        file="collect/analyzer/worker.py",
        old="messages = found[found < self._task.alphabet]",
        new="messages = found[found <= self._task.alphabet]",
        tests=(f"{_COUNTING}::test_every_reason_is_counted_and_nothing_refused_is",),
    ),
    Fault(
        name="what-fills-reports-up-is-called-forged",
        harm="Every release of padded reports warns of messages that were refused.",
        file="collect/analyzer/worker.py",
        old="np.count_nonzero(found >= self._task.symbols)",
        new="np.count_nonzero(found >= self._task.alphabet)",
        tests=(f"{_COUNTING}::test_messages_that_fill_reports_up_count_for_nothing_and_are_not_refused",),
    ),
    Fault(
        name="padded-reports-may-be-shorter",
        harm="Clients that do not pad are taken, and how much noise they made is seen by whoever watches the network.",
        file="collect/task/report.py",
        old="    if task.padded and number != task.most_messages:\n        raise Refused(Reason.MALFORMED)\n",
        new="",
        tests=(f"{_REPORTS}::test_a_padded_report_with_fewer_messages_is_refused",),
    ),
    Fault(
        name="ledger-after-publishing",
        harm="A release is visible before it is entered: who is stopped in between has published without a budget.",
        file="collect/analyzer/releases.py",
        old="        entry = self._enter()\n" + _KEEP,
        new=_KEEP + "        entry = self._enter()\n",
        tests=(
            f"{_RELEASING}::test_it_is_entered_when_it_becomes_visible",
            f"{_RELEASING}::test_over_the_limit_nothing_is_published",
        ),
    ),
    Fault(
        name="a-task-is-spent-twice",
        harm="Every release of a task is entered again, so that a budget is used up by batches of different people.",
        file="collect/analyzer/releases.py",
        old="entry=catalogued, once=True)",
        new="entry=catalogued)",
        tests=(f"{_RELEASING}::test_every_batch_is_released_once",),
    ),
    Fault(
        name="another-task-counts-as-entered",
        harm="A task with a question that was entered before is published without being entered.",
        file="ledger/ledger.py",
        old="if entry.what == what and entry.curve == curve)",
        new="if entry.curve == curve)",
        tests=("tests/ledger/test_ledger.py::test_what_is_entered_once_is_found_again",),
    ),
    Fault(
        name="a-weaker-task-counts-as-entered",
        harm="A release that spends more than the one entered under its name is published without being entered.",
        file="ledger/ledger.py",
        old="if entry.what == what and entry.curve == curve)",
        new="if entry.what == what)",
        tests=("tests/ledger/test_ledger.py::test_what_is_entered_once_is_found_again",),
    ),
    Fault(
        name="spent-before-it-can-be-made",
        harm="A budget is spent for a release that then cannot be made.",
        file="collect/analyzer/releases.py",
        old="        made = release_of(",
        new="        self._enter()\n        made = release_of(",
        tests=(f"{_RELEASING}::test_nothing_is_spent_when_something_fails_before",),
    ),
    Fault(
        name="joined-noise-of-one-batch",
        harm="Joined batches are read as if they had the noise of one: every estimate and interval is wrong.",
        file="protocols/shuffled_histogram.py",
        old="honest_users=self.honest, batch=self, **self._noise_of(people))",
        new="honest_users=self.honest, batch=None, **self._noise_of(self.users))",
        tests=(f"{_JOINED}::test_the_noise_of_joined_batches_is_the_sum_of_theirs",),
    ),
    Fault(
        name="joined-batches-promise-more",
        harm="Joined batches promise what all their noise together would give, though each batch is seen by itself.",
        file="protocols/shuffled_histogram.py",
        old="honest_users=self.honest, batch=self, **self._noise_of(people))",
        new="honest_users=number * self.honest, batch=None, **self._noise_of(people))",
        tests=(f"{_JOINED}::test_the_promise_of_joined_batches_is_that_of_one",),
    ),
    Fault(
        name="any-batch-beside-joined-noise",
        harm="A stored release can name a protocol with more noise as its batch, and so promise what nobody gave.",
        file="protocols/shuffled_histogram.py",
        old="return all(getattr(self, name) == added.get(name, getattr(batch, name)) for name in same)",
        new="return True",
        tests=(f"{_JOINED}::test_a_joined_protocol_has_no_other_noise_and_people_than_its_batches",),
    ),
    Fault(
        name="forged-messages-stop-a-release",
        harm="One forged report with many messages for one value makes every release fail.",
        file="protocols/shuffled/histogram.py",
        old="return np.minimum(counts, 2 * self.users)",
        new="return counts",
        tests=(f"{_JOINED}::test_a_surplus_is_read_only_if_asked_for",),
    ),
    Fault(
        name="forged-reports-are-not-told",
        harm="A release with far more messages than people send comes without a warning.",
        file="collect/analyzer/releases.py",
        old="surplus=any(task.protocol.fewest_reports(tally) > task.users for tally in tallies),",
        new="surplus=False,",
        tests=(f"{_RELEASING}::test_what_is_refused_or_forged_is_told_and_warned_about",),
    ),
    Fault(
        name="broken-batch-holds-up-all-others",
        harm="One batch that cannot be read stops every later one.",
        file="collect/analyzer/worker.py",
        old="            self._troubles.fails(batch_id, error, BATCH)\n            return False",
        new="            self._troubles.fails(batch_id, error, BATCH)\n            raise",
        tests=(f"{_COLLECTING}::test_a_batch_that_cannot_be_read_is_left_where_it_is_and_holds_up_no_other",),
    ),
    Fault(
        name="a-problem-is-forgotten-while-it-waits",
        harm="A shuffler that is away or refuses is hardly ever told, and asked again every second.",
        file="collect/server/pull.py",
        old='        if not self.is_time("upstream"):\n            return []\n',
        new='        if not self.is_time("upstream"):\n            self.works("upstream")\n            return []\n',
        tests=(f"{_COLLECTING}::test_an_upstream_that_is_away_is_told_until_it_is_back_and_asked_less_and_less_often",),
    ),
)

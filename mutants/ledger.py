"""Faults of compositions of any curves, and of the ledger that keeps a budget."""

from mutants.fault import Fault

_ANY = "tests/accounting/test_compositions_of_any_curve.py"
_MOMENTS = "tests/accounting/test_moments.py"
_LEDGER = "tests/ledger/test_ledger.py"
_RELEASE = "tests/ledger/test_release.py"
_PROCESSES = "tests/ledger/test_processes.py"
_COMMAND = "tests/cli/test_ledger.py"

COMPOSITION = (
    Fault(
        name="numbers-below-zero-are-forgotten",
        harm="Of a release known by its numbers, what the other order of two datasets tells is left out.",
        file="accounting/composition.py",
        old="1 - below + below * deltas[mirrored]",
        new="1 - below",
        tests=(f"{_ANY}::test_counts_known_by_their_numbers_bound_every_decision_tree",),
    ),
    Fault(
        name="numbers-above-the-last-are-forgotten",
        harm="What a release reveals outright is left out of every composition with others.",
        file="accounting/composition.py",
        old="float(deltas[-1]) * (1 + PRIVACY_LOSS)",
        new="0.0",
        tests=(f"{_ANY}::test_stated_guarantees_compose_as_the_worst_releases",),
    ),
    Fault(
        name="what-a-curve-never-falls-below-is-taken-off",
        harm="A release known by its numbers is accounted without what it always reveals.",
        file="accounting/composition.py",
        old="deltas = np.minimum.accumulate(deltas)",
        new="deltas = deltas - deltas.min()",
        tests=(f"{_ANY}::test_stated_guarantees_compose_as_the_worst_releases",),
    ),
    Fault(
        name="equal-releases-count-once",
        harm="Releases of the same protocol are accounted as one.",
        file="accounting/composition.py",
        old="parts[part] += times",
        new="parts[part] = times",
        tests=(f"{_ANY}::test_curves_of_shifts_are_composed_as_before", f"{_LEDGER}::test_exactly_as_many_as_fit"),
    ),
    Fault(
        name="other-kinds-are-left-out-of-the-total",
        harm="Releases that are known by numbers only are not accounted beside others.",
        file="accounting/composition.py",
        old="        if not others:\n            return shifts\n",
        new="        if shifts is not None:\n            return shifts\n",
        tests=(f"{_ANY}::test_thresholds_and_counts_bound_every_decision_tree",),
    ),
    Fault(
        name="curves-for-different-neighbours-add-up",
        harm="A guarantee for one kind of neighbours is counted as one for another.",
        file="accounting/composition.py",
        old="if curve.neighbours != neighbours:",
        new="if False:",
        tests=(f"{_ANY}::test_curves_for_other_neighbours_are_refused",),
    ),
    Fault(
        name="a-stated-guarantee-without-its-delta",
        harm="What was spent elsewhere counts without its delta.",
        file="accounting/closed_form_curves.py",
        old="(self.stated_delta + (1 - self.stated_delta) * response)",
        new="response",
        tests=(f"{_ANY}::test_stated_guarantees_compose_as_the_worst_releases",),
    ),
    Fault(
        name="moments-without-what-is-revealed",
        harm="Where noise is chosen by results, what is revealed outright is not counted.",
        file="accounting/composition.py",
        old="revealed += times * share",
        new="revealed += 0.0",
        tests=(f"{_MOMENTS}::test_no_choice_by_results_beats_the_bound",),
    ),
    Fault(
        name="moments-of-one-release-each",
        harm="Where noise is chosen by results, equal releases count once.",
        file="accounting/composition.py",
        old="log_moment += times * moment",
        new="log_moment += moment",
        tests=(f"{_MOMENTS}::test_the_numbers_of_releases_that_fit_are_those_of_the_page",),
    ),
    Fault(
        name="moments-traded-for-what-is-revealed",
        harm="Whoever reveals where little is known, and adds to the loss where much is, spends more than the limit.",
        file="accounting/composition.py",
        old="max(revealed / _REVEALED, tail / (1 - _REVEALED))",
        new="revealed + tail",
        tests=(f"{_MOMENTS}::test_no_choice_by_results_beats_the_bound",),
    ),
)

BUDGET = (
    Fault(
        name="no-limit-is-kept",
        harm="A ledger lets every release through.",
        file="ledger/budget.py",
        old="return self.reached(total) <= self.delta",
        new="return True",
        tests=(f"{_LEDGER}::test_exactly_as_many_as_fit", f"{_COMMAND}::test_a_release_over_the_limit_is_refused"),
    ),
    Fault(
        name="a-limit-without-the-new-release",
        harm="A release is let through if those before it are within the limit.",
        file="ledger/ledger.py",
        old="if self._budget.allows(composed([before, curve])):",
        new="if self._budget.allows(before):",
        tests=(f"{_LEDGER}::test_exactly_as_many_as_fit",),
    ),
    Fault(
        name="a-limit-on-the-new-release-only",
        harm="A release is let through if it is within the limit by itself.",
        file="ledger/ledger.py",
        old="if self._budget.allows(composed([before, curve])):",
        new="if self._budget.allows(composed([curve])):",
        tests=(f"{_LEDGER}::test_exactly_as_many_as_fit",),
    ),
    Fault(
        name="decisions-by-results-are-taken-for-composed",
        harm="A limit that should hold whatever is decided by results is kept for settled releases only.",
        file="ledger/budget.py",
        old="return self._moments.reached(total) if self.by_results else total.delta(self.epsilon)",
        new="return total.delta(self.epsilon)",
        tests=(f"{_LEDGER}::test_a_limit_that_holds_whatever_is_decided_by_results_allows_less",),
    ),
    Fault(
        name="spent-elsewhere-is-free",
        harm="What other programs released is entered but does not count.",
        file="ledger/entry.py",
        old="return StatedCurve(stated_epsilon=self.epsilon, stated_delta=self.delta)",
        new="return StatedCurve(stated_epsilon=0.0, stated_delta=0.0)",
        tests=(f"{_LEDGER}::test_what_was_spent_elsewhere_is_a_fact",),
    ),
    Fault(
        name="entered-after-the-noise",
        harm="A release that is stopped after its noise was drawn is not accounted for.",
        file="data/people.py",
        old="            before()\n            return protocol.sample_tally(counts)",
        new="            tally = protocol.sample_tally(counts)\n            before()\n            return tally",
        tests=(f"{_RELEASE}::test_a_failure_while_noise_is_drawn_counts_as_spent",),
    ),
    Fault(
        name="entered-after-the-noise-of-any-value",
        harm="The same where any value is possible.",
        file="data/people.py",
        old="        before()\n        seen, done = [], 0\n",
        new="        seen, done = [], 0\n",
        tests=(
            f"{_RELEASE}::test_a_failure_while_noise_is_drawn_counts_as_spent",
            f"{_RELEASE}::test_the_entry_is_there_when_noise_is_drawn",
        ),
    ),
    Fault(
        name="messages-are-not-entered",
        harm="A release whose messages are really made is not accounted for.",
        file="data/people.py",
        old="        before()\n        return self._engine.tally(protocol, self._encoder)",
        new="        return self._engine.tally(protocol, self._encoder)",
        tests=(f"{_RELEASE}::test_a_release_is_entered_and_says_so",),
    ),
    Fault(
        name="entered-before-values-are-looked-up",
        harm="A release that fails before any noise is drawn spends the budget.",
        file="data/people.py",
        old="            counts = self._dense(self._encoder)\n            before()\n",
        new="            before()\n            counts = self._dense(self._encoder)\n",
        tests=(f"{_RELEASE}::test_a_failure_before_noise_is_drawn_spends_nothing",),
    ),
    Fault(
        name="an-entry-that-is-not-kept",
        harm="An entry is gone when the transaction ends.",
        file="ledger/store.py",
        old='connection.execute("COMMIT")',
        new='connection.execute("ROLLBACK")',
        tests=(f"{_LEDGER}::test_an_entry_holds_the_exact_parameters",),
    ),
    Fault(
        name="two-check-at-once",
        harm="Two processes check the same total at the same time, and fail or wait for each other in vain.",
        file="ledger/store.py",
        old='connection.execute("BEGIN IMMEDIATE")',
        new='connection.execute("BEGIN")',
        tests=(f"{_PROCESSES}::test_nobody_is_let_in_between_the_check_and_the_entry",),
    ),
    Fault(
        name="a-total-from-before-the-lock",
        harm="Two processes read the same total, and both take what is left.",
        file="ledger/ledger.py",
        old="""        with store.changing(self._path, patience=self._patience) as change:
            if change.budget != self._budget:
                raise DataError(f"the ledger {self._path} is another file than when it was opened: open it anew")
            if once and (known := _entered(change.entries, what, curve)) is not None:
                return known
            before = _composed(change.entries)
""",
        new="""        before = self.total
        with store.changing(self._path, patience=self._patience) as change:
""",
        tests=(f"{_PROCESSES}::test_what_another_process_spends_just_before_counts",),
    ),
    Fault(
        name="entries-can-be-deleted",
        harm="What was spent can be taken back with any program that opens the file.",
        file="ledger/store.py",
        old="CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, ",
        new="CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT upper(",
        tests=(f"{_LEDGER}::test_what_is_entered_cannot_be_changed",),
    ),
    Fault(
        name="what-is-left-is-that-of-one-kind",
        harm="A figure of what is left goes over the limit if it is spent elsewhere.",
        file="ledger/budget.py",
        old="left_epsilon=largest_guarantee(",
        new="left_epsilon=largest_histogram(",
        tests=(f"{_LEDGER}::test_what_is_left_fits_whatever_the_kind",),
    ),
    Fault(
        name="a-limit-can-be-raised",
        harm="The limit of a ledger can be raised when it is in the way.",
        file="ledger/store.py",
        old="CREATE TRIGGER the_limit_stays BEFORE UPDATE ON budget BEGIN SELECT RAISE(ABORT, 'a limit stays'); END;\n",
        new="",
        tests=(f"{_LEDGER}::test_what_is_entered_cannot_be_changed",),
    ),
    Fault(
        name="a-limit-can-be-replaced",
        harm="The limit of a ledger can be raised by putting another line in its place.",
        file="ledger/store.py",
        old="BEFORE INSERT ON budget WHEN EXISTS (SELECT 1 FROM budget)",
        new="BEFORE INSERT ON budget WHEN FALSE",
        tests=(f"{_LEDGER}::test_what_is_entered_cannot_be_changed",),
    ),
    Fault(
        name="entries-can-be-replaced",
        harm="What was spent can be made less by putting another line in its place.",
        file="ledger/store.py",
        old="WHEN EXISTS (SELECT 1 FROM entries WHERE number = NEW.number)",
        new="WHEN FALSE",
        tests=(f"{_LEDGER}::test_what_is_entered_cannot_be_changed",),
    ),
    Fault(
        name="missing-entries-are-not-noticed",
        harm="A ledger from which an entry was removed counts less than was spent.",
        file="ledger/store.py",
        old="if [row[0] for row in rows] != list(range(1, len(rows) + 1)):",
        new="if False:",
        tests=(f"{_LEDGER}::test_damaged_files_are_refused",),
    ),
    Fault(
        name="newer-ledgers-are-read-as-old-ones",
        harm="What a newer version wrote is taken for less than it is.",
        file="ledger/store.py",
        old="if schema > SCHEMA:",
        new="if False:",
        tests=(f"{_LEDGER}::test_newer_files_are_refused",),
    ),
    Fault(
        name="a-ledger-that-everybody-reads",
        harm="The file can be read by everybody on the machine.",
        file="ledger/store.py",
        old="os.link(name, path)",
        new="os.chmod(name, 0o644)\n        os.link(name, path)",
        tests=(f"{_LEDGER}::test_a_new_ledger_is_empty_private_and_keeps_its_limit",),
    ),
    Fault(
        name="another-ledger-in-its-place",
        harm="Making a ledger twice forgets all that was spent.",
        file="cli/ledger.py",
        old="        if file.exists():\n",
        new="        file.unlink(missing_ok=True)\n        if file.exists():\n",
        tests=(f"{_COMMAND}::test_a_limit_cannot_be_changed",),
    ),
    Fault(
        name="nobody-is-told-that-a-stopped-release-counts",
        harm="Who interrupts a release takes its privacy for unspent.",
        file="ledger/ledger.py",
        old="if error is not None and self._ledger is not None and self._number:",
        new="if False:",
        tests=(f"{_RELEASE}::test_a_failure_while_noise_is_drawn_counts_as_spent",),
    ),
    Fault(
        name="where-a-ledger-is-goes-public",
        harm="A published release names a file of whoever made it.",
        file="release/private_histogram.py",
        old='_UNSAID = ("data", "domain", "master", "ledger", "progress")',
        new='_UNSAID = ("data", "domain", "master", "progress")',
        tests=(f"{_RELEASE}::test_a_release_is_entered_and_says_so",),
    ),
    Fault(
        name="the-limit-of-another-file",
        harm="A release is entered in a ledger whose limit it breaks, by that of a file that is no longer there.",
        file="ledger/ledger.py",
        old="if change.budget != self._budget:",
        new="if False:",
        tests=("tests/ledger/test_ledger.py::test_another_file_in_the_place_of_a_ledger_is_noticed",),
    ),
)

FAULTS = (*COMPOSITION, *BUDGET)

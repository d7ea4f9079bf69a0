"""The budget of a person who answers, and the journal that keeps it."""

from mutants.mutant import Mutant

_TESTS = "tests/collect/client/test_budget.py"

MUTANTS = (
    Mutant(
        name="claim-after-the-check",
        harm="Two clients that answer at once exceed the person's limit together.",
        target="shuffledp.collect.client.budget:_claim_within",
        pattern="_use(journal.spendings(), task, limit)",
        replacement="(journal.withdraw(claim), _use(journal.spendings(), task, limit), journal.claim(task))[1]",
        tests=(f"{_TESTS}::test_a_client_that_looks_while_another_answers_does_not_overspend",),
    ),
    Mutant(
        name="claims-not-counted",
        harm="An answer of a client that was killed is free.",
        target="shuffledp.collect.client.journal:_NAME",
        pattern="'(\\\\.json|'",
        replacement="'(\\\\.json|x'",
        tests=(f"{_TESTS}::test_a_claim_counts_until_its_task_is_answered",),
    ),
    Mutant(
        name="names-listed-once",
        harm="An answer that another client finishes meanwhile is not counted.",
        target="shuffledp.collect.client.journal:Journal.spendings",
        pattern="self._names() | self._names()",
        replacement="self._names()",
        tests=(f"{_TESTS}::test_a_claim_that_becomes_an_entry_while_names_are_listed_counts",),
    ),
    Mutant(
        name="entries-count-when-sent",
        harm="A report that left the device without an acknowledgement is free.",
        target="shuffledp.collect.client.budget:_use",
        pattern="spendings_by_task(spent)",
        replacement="spendings_by_task([one for one in spent if one.state == 'sent'])",
        tests=(f"{_TESTS}::test_reports_count_in_every_state",),
    ),
    Mutant(
        name="ready-reports-are-past",
        harm="A report that was made before is sent although all answers together are over the limit.",
        target="shuffledp.collect.client.budget:_use",
        pattern="state in ('sent', 'refused')",
        replacement="made",
        tests=(f"{_TESTS}::test_a_report_made_before_is_not_sent_over_the_limit",),
    ),
    Mutant(
        name="stored-limit-read-once",
        harm="A limit that a person stores while a client is open does not hold.",
        target="shuffledp.collect.client.client:Client._entered",
        pattern="lambda : self.limit",
        replacement="lambda : None",
        tests=(f"{_TESTS}::test_a_limit_that_is_stored_meanwhile_holds",),
    ),
    Mutant(
        name="javascript-ready-reports-are-past",
        harm="In JavaScript a report that was made before is sent although all answers are over the limit.",
        target="clients/javascript/src/budget.js:useOf",
        pattern="within: past ||",
        replacement="within: made ||",
        tests=("tests/clients/test_budget.py::test_budgets_in_node",),
    ),
    Mutant(
        name="budget-without-redraws",
        harm="The cost of sampling messages again is left out of a person's total.",
        target="shuffledp.collect.client.budget:Total.__init__",
        pattern="LimitCost.of_all(record.limit_cost for record in records)",
        replacement="LimitCost()",
        tests=(f"{_TESTS}::test_sampling_again_costs_delta_for_every_answer",),
    ),
    Mutant(
        name="budget-of-one-answer",
        harm="Each answer alone is compared with the person's limit.",
        target="shuffledp.collect.client.budget:_use",
        pattern="total.within(limit)",
        replacement="Total([Spending.of(task)]).within(limit)",
        tests=(f"{_TESTS}::test_exactly_the_answers_that_fit",),
    ),
    Mutant(
        name="older-answers-are-free",
        harm="Answers whose privacy is unknown do not count.",
        target="shuffledp.collect.client.budget:spendings_by_task",
        pattern="missing.append(one.task)",
        replacement="pass",
        tests=(f"{_TESTS}::test_entries_of_the_first_version_are_readable_but_count_only_when_described",),
    ),
    Mutant(
        name="javascript-claims-not-counted",
        harm="In JavaScript an answer of a client that was killed is free.",
        target="clients/javascript/src/journal.js:spentTasks",
        pattern="for (const { task, spending } of claims) found",
        replacement="for (const { task, spending } of []) found",
        tests=("tests/clients/test_budget.py::test_budgets_in_node",),
    ),
    Mutant(
        name="javascript-budget-without-new-answer",
        harm="In browsers an answer is allowed if those before it are within the limit.",
        target="clients/javascript/src/budget.js:useOf",
        pattern="isWithin(others, one, limit)",
        replacement="isWithin(others, [], limit)",
        tests=("tests/clients/test_budget.py::test_budgets_in_node",),
    ),
)

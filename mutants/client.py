"""Faults of people's side of a collection: what is checked, journaled and sent."""

from mutants.fault import Fault

_CLIENT = "tests/collect/client/test_client.py"
_JOURNAL = "tests/collect/client/test_journal.py"
_SENDING = "tests/collect/client/test_sending.py"
_PERSON = "tests/collect/client/test_one_person.py"
_CROWD = "tests/collect/client/test_crowd.py"

_CHECKED = (
    Fault(
        name="a-client-takes-the-claim-for-the-truth",
        harm="People answer tasks whose noise gives less privacy than they claim.",
        file="collect/client/client.py",
        old="known = _checked[task.id, at_most] = task.check(at_most)",
        new="known = Promise(epsilon=task.guarantee.epsilon, delta=task.guarantee.delta, reached=0.0, exact=True)",
        tests=(f"{_CLIENT}::test_a_task_that_gives_less_than_it_claims_is_refused",),
    ),
    Fault(
        name="a-client-forgets-what-its-person-allows",
        harm="People answer tasks that promise less than they allow.",
        file="collect/client/client.py",
        old="allowed(self.task, at_most)",
        new="allowed(self.task, None)",
        tests=(f"{_CLIENT}::test_a_person_may_allow_less_than_the_task_claims",),
    ),
    Fault(
        name="a-client-allows-anything-unless-told",
        harm="People answer tasks whose promise says next to nothing, and are not asked.",
        file="collect/client/client.py",
        old="return checked(task, AT_MOST)",
        new="return checked(task)",
        tests=(f"{_CLIENT}::test_who_says_nothing_does_not_allow_everything",),
    ),
    Fault(
        name="a-promise-of-others-counts-for-everybody",
        harm="Once a task was checked for somebody, what others allow is no longer looked at.",
        file="collect/client/client.py",
        old="_checked.get((task.id, at_most))",
        new="_checked.get((task.id, None))",
        tests=(f"{_CLIENT}::test_a_person_may_allow_less_than_the_task_claims",),
    ),
    Fault(
        name="a-pin-may-be-another-task",
        harm="Somebody who was told of one task answers another.",
        file="collect/client/client.py",
        old="if text.lower() != task.name:",
        new="if text.lower()[:0] != task.name[:0]:",
        tests=(f"{_CLIENT}::test_a_pinned_task_is_the_only_one_that_is_answered",),
    ),
    Fault(
        name="a-list-of-answers-is-not-checked",
        harm="Whoever keeps the list chooses how each person is counted.",
        file="collect/task/schema.py",
        old="if hashlib.sha256(content).hexdigest() != self.sha256:",
        new="if False:",
        tests=(f"{_CLIENT}::test_a_list_at_an_address_is_fetched_and_checked",),
    ),
)

_ONCE = (
    Fault(
        name="a-retry-randomizes-again",
        harm="Whoever sends twice gives two draws of one answer.",
        file="collect/client/client.py",
        old="report = _ready(entry)\n",
        new="report = new_report(self.task, answer)\n",
        tests=(f"{_CLIENT}::test_a_retry_sends_the_same_bytes",),
    ),
    Fault(
        name="nobody-is-told-that-an-answer-was-not-used",
        harm="Whoever corrects an answer believes that the correction was sent.",
        file="collect/client/client.py",
        old="            return entry, True\n",
        new="            return entry, False\n",
        tests=(f"{_CLIENT}::test_a_retry_sends_the_same_bytes",),
    ),
    Fault(
        name="the-journal-is-written-after-sending",
        harm="Whoever is interrupted while sending answers twice.",
        file="collect/client/client.py",
        old="        entry, made_before = self._entered(answer)\n        if",
        new="        if self.journal.read(self.task) is None:\n            report = new_report(self.task, answer)\n"
        "            post(self.task, report, admission=self._admission, timeout=self._timeout)\n"
        "            self.journal.keep(self.task, report)\n"
        "        entry, made_before = self._entered(answer)\n        if",
        tests=(f"{_CLIENT}::test_the_journal_is_written_before_the_first_byte_is_sent",),
    ),
    Fault(
        name="of-two-at-once-both-enter-a-report",
        harm="Two programs of one person send two draws of one answer.",
        file="collect/client/journal.py",
        old="os.link(whole, self.path(task))",
        new="whole.replace(self.path(task))",
        tests=(f"{_CLIENT}::test_of_two_at_once_one_makes_the_report",),
    ),
    Fault(
        name="a-report-is-handed-out-before-it-is-durable",
        harm="After a loss of power a person answers twice.",
        file="collect/client/journal.py",
        old="            sync_folder(self.folder)  # whoever entered it: what is handed out here is durable\n",
        new="",
        tests=(f"{_JOURNAL}::test_a_report_is_durable_before_it_has_its_name_and_the_name_before_it_is_handed_out",),
    ),
    Fault(
        name="a-broken-journal-is-begun-anew",
        harm="Whose journal is damaged answers twice.",
        file="collect/client/journal.py",
        old="        if entry is None or entry.task != task.name or not entry.whole:\n",
        new="        if entry is None:\n            path.unlink()\n            return None\n"
        "        if entry.task != task.name or not entry.whole:\n",
        tests=(f"{_JOURNAL}::test_a_broken_journal_is_an_error_and_stays_as_it_is",),
    ),
    Fault(
        name="a-sent-report-stays-in-the-journal",
        harm="Whoever takes a person's disk and the servers' keys reads their messages.",
        file="collect/client/journal.py",
        old="Entry(task=task.name, state=state, reason=reason)",
        new="Entry(task=task.name, state=state, reason=before.report.hex())",
        tests=(f"{_JOURNAL}::test_after_the_acknowledgement_only_the_state_is_kept",),
    ),
    Fault(
        name="everybody-may-look-into-a-journal",
        harm="Others on the machine see in which tasks somebody took part.",
        file="collect/client/journal.py",
        old="folder.mkdir(mode=0o700, exist_ok=True)",
        new="folder.mkdir(exist_ok=True)\n                folder.chmod(0o711)",
        tests=(f"{_JOURNAL}::test_only_its_owner_may_look",),
    ),
)

_SENT = (
    Fault(
        name="messages-are-sent-in-their-order",
        harm="The first message of everybody's report is their answer.",
        file="collect/client/client.py",
        old="[int(message) for message in shuffle(_padded(task, messages), rng=source)]",
        new="[int(message) for message in _padded(task, messages)]",
        tests=(f"{_PERSON}::test_messages_are_in_no_telling_order",),
    ),
    Fault(
        name="nobody-draws-again",
        harm="Whoever draws more messages than a report may hold cannot report, and their noise is missing.",
        file="collect/client/client.py",
        old="        if messages.size <= task.most_messages:\n",
        new="        if messages.size:\n",
        tests=(f"{_PERSON}::test_who_draws_too_many_messages_draws_again",),
    ),
    Fault(
        name="a-person-makes-less-noise-than-the-task-says",
        harm="The deployed path gives less privacy than what was computed.",
        file="collect/client/client.py",
        old="        messages = task.protocol.randomize(place, rng=source).astype(np.int64)\n",
        new="        messages = shuffle(task.protocol.randomize(place, rng=source).astype(np.int64), rng=source)\n"
        "        messages = messages[: -(-2 * messages.size // 3)]\n",
        tests=(f"{_PERSON}::test_reports_of_single_people_follow_the_law_of_the_tally",),
    ),
    Fault(
        name="what-fills-reports-up-comes-last",
        harm="The place of the first message that counts for nothing tells how much noise somebody made.",
        file="collect/client/client.py",
        old="for message in shuffle(_padded(task, messages), rng=source)]",
        new="for message in _padded(task, shuffle(messages, rng=source))]",
        tests=(f"{_PERSON}::test_what_counts_for_nothing_is_anywhere_in_a_report",),
    ),
    Fault(
        name="reports-are-filled-up-with-a-value",
        harm="What fills reports up is counted for the first value, whatever people answer.",
        file="collect/client/client.py",
        old="np.full(missing, task.nothing)",
        new="np.full(missing, 0)",
        tests=(f"{_PERSON}::test_reports_are_filled_up_with_what_counts_for_nothing",),
    ),
    Fault(
        name="an-answer-outside-the-list-is-refused",
        harm="That somebody does not report tells that they hold something else.",
        file="collect/client/client.py",
        old="        report = new_report(self.task, answer)\n",
        new="        if self.task.bin_of(answer) == self.task.answers.size:\n"
        "            raise DataError('no such answer')\n"
        "        report = new_report(self.task, answer)\n",
        tests=(f"{_CLIENT}::test_every_answer_has_a_place",),
    ),
    Fault(
        name="a-report-tells-the-second-it-was-made",
        harm="The shuffler matches reports with what it knows of people's habits.",
        file="collect/client/client.py",
        old="time=now - now % task.time_precision",
        new="time=now",
        tests=(f"{_CLIENT}::test_a_report_holds_what_the_task_says",),
    ),
    Fault(
        name="any-answer-of-a-server-is-an-acknowledgement",
        harm="A page to log in to a network takes people's reports, and they are lost.",
        file="collect/client/transport.py",
        old="if status == HTTPStatus.CREATED:",
        new="if status < HTTPStatus.MULTIPLE_CHOICES:",
        tests=(f"{_SENDING}::test_whatever_is_no_answer_of_a_shuffler_loses_nothing",),
    ),
    Fault(
        name="a-server-in-trouble-refuses-for-good",
        harm="A server that fails for a moment loses everybody's reports.",
        file="collect/client/transport.py",
        old="if reason is None or status >= HTTPStatus.INTERNAL_SERVER_ERROR:",
        new="if reason is None:",
        tests=(f"{_SENDING}::test_a_server_in_trouble_refuses_nothing",),
    ),
    Fault(
        name="reports-follow-redirects",
        harm="Whoever answers for the shuffler sends people's reports elsewhere.",
        file="collect/client/transport.py",
        old='"follow_redirects": False',
        new='"follow_redirects": True',
        tests=(f"{_SENDING}::test_redirects_are_not_followed",),
    ),
    Fault(
        name="nobody-checks-who-the-server-is",
        harm="Whoever stands between takes people's reports and their admissions for the shuffler's.",
        file="collect/client/transport.py",
        old="httpx.create_ssl_context()",
        new="httpx.create_ssl_context(verify=False)",
        tests=(f"{_SENDING}::test_a_server_that_nobody_vouches_for_gets_nothing",),
    ),
    Fault(
        name="clients-keep-cookies",
        harm="A server tells who sent which reports.",
        file="collect/client/transport.py",
        old='"cookies": nothing, ',
        new="",
        tests=(f"{_SENDING}::test_cookies_are_forgotten",),
    ),
    Fault(
        name="requests-tell-the-program-and-its-version",
        harm="A server tells people apart by what they have installed.",
        file="collect/client/transport.py",
        old='"headers": _HEADERS, ',
        new="",
        tests=(f"{_SENDING}::test_requests_of_everybody_have_the_same_headers",),
    ),
    Fault(
        name="an-admission-is-shown-to-whoever-does-not-ask",
        harm="A token that somebody was given tells who they are.",
        file="collect/client/transport.py",
        old='    if task.admission == "anybody":\n        return None\n',
        new='    if task.admission == "anybody":\n        return admission\n',
        tests=(f"{_SENDING}::test_where_everybody_is_admitted_nothing_is_shown",),
    ),
    Fault(
        name="a-crowd-makes-new-reports-for-retries",
        harm="In a trial of a collection people are counted twice after failures.",
        file="collect/simulation/crowd.py",
        old="            self.tried_again += 1\n",
        new="            self.tried_again += 1\n            sealed = _Sealed(sealed.report + b'x', sealed.admission)\n",
        tests=(f"{_CROWD}::test_retries_are_the_same_bytes",),
    ),
)

FAULTS: tuple[Fault, ...] = (*_CHECKED, *_ONCE, *_SENT)

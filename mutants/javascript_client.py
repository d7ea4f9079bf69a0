"""Faults of the client in JavaScript: what it checks, that it answers once, what it sends; and what pages may read."""

from mutants.fault import Fault

_NODE = "tests/clients/test_client.py::test_a_client_answers_once_in_node"
_BROWSER = "tests/clients/test_client.py::test_a_client_answers_once_in_a_browser"
_NETWORK = "tests/clients/test_client_network.py"
_ORIGINS = "tests/collect/shuffler/test_cross_origin.py"
_SOURCE = "clients/javascript/src"

_CHECKED = (
    Fault(
        name="a-page-answers-another-task-than-is-pinned",
        harm="Somebody who was told of one task answers another.",
        file=f"{_SOURCE}/checking.js",
        old="pin !== undefined && pin !== task.name",
        new="pin !== undefined && pin.length !== task.name.length",
        tests=(_NODE,),
    ),
    Fault(
        name="a-page-fetches-a-task-without-a-pin",
        harm="Whoever answers at the address shows each person another task, with keys of their own.",
        file=f"{_SOURCE}/opening.js",
        old="if (pin === undefined) {",
        new="if (pin === null) {",
        tests=(_NODE,),
    ),
    Fault(
        name="a-misspelt-pin-is-not-noticed",
        harm="A page that misspells an option answers whatever task it is given.",
        file=f"{_SOURCE}/opening.js",
        old="filter((name) => !OPTIONS.includes(name))",
        new="filter(() => false)",
        tests=(_NODE,),
    ),
    Fault(
        name="a-page-believes-what-a-task-claims",
        harm="People answer tasks that give less privacy than they claim.",
        file=f"{_SOURCE}/checking.js",
        old="known = checkPromise(task, atMost);",
        new="known = { ...task.guarantee, reached: task.guarantee.delta, exact: true };",
        tests=(_NODE,),
    ),
    Fault(
        name="a-page-forgets-what-its-person-allows",
        harm="Once a task was checked for somebody, what others allow is no longer looked at.",
        file=f"{_SOURCE}/checking.js",
        old="const key = `${task.name} ${atMost}`;",
        new="const key = task.name;",
        tests=(_NODE,),
    ),
    Fault(
        name="a-page-allows-anything-unless-told",
        harm="People answer tasks whose promise says next to nothing, and are not asked.",
        file=f"{_SOURCE}/checking.js",
        old="return computed(task, AT_MOST);",
        new="return computed(task, undefined);",
        tests=(_NODE,),
    ),
)

_ONCE = (
    Fault(
        name="a-page-writes-its-journal-after-sending",
        harm="Whoever closes a page while it sends answers twice.",
        file=f"{_SOURCE}/client.js",
        old="const entry = await this.journal.keep(this.task.name, report);",
        new="await post(this.task, report, { admission: this.#admission, timeout: this.#timeout });\n"
        "    const entry = await this.journal.keep(this.task.name, report);",
        tests=(_NODE,),
    ),
    Fault(
        name="a-page-randomizes-again-for-a-retry",
        harm="Whoever sends twice gives two draws of one answer.",
        file=f"{_SOURCE}/client.js",
        old='      return this.#handedOver(entry, { madeBefore, started, note: madeBefore ? NOT_USED : "" });',
        new='      if (madeBefore && entry.state === "ready")\n'
        "        entry.report = (await newReport(this.task, value)).report;\n"
        '      return this.#handedOver(entry, { madeBefore, started, note: madeBefore ? NOT_USED : "" });',
        tests=(_NODE,),
    ),
    Fault(
        name="two-calls-at-once-send-two-reports",
        harm="Somebody who presses a button twice gives two draws of one answer.",
        file=f"{_SOURCE}/client.js",
        old="    const entry = await this.journal.keep(this.task.name, report);\n",
        new="    await this.journal.keep(this.task.name, report);\n"
        '    const entry = { state: "ready", report, reason: null };\n',
        tests=(_NODE,),
    ),
    Fault(
        name="two-tabs-make-two-reports",
        harm="Two pages of one person send two draws of one answer.",
        file=f"{_SOURCE}/journal_browser.js",
        old="store.add(entry, task)",
        new="store.put(entry, task)",
        tests=(_BROWSER, f"{_NETWORK}::test_two_tabs_make_one_report"),
    ),
    Fault(
        name="two-programs-of-node-make-two-reports",
        harm="Two programs of one person send two draws of one answer.",
        file=f"{_SOURCE}/journal_node.js",
        old="await link(whole, path);",
        new='await (await import("node:fs/promises")).rename(whole, path);',
        tests=(_NODE,),
    ),
    Fault(
        name="a-page-drops-a-report-after-a-timeout",
        harm="Whose connection is slow is never counted, or answers twice.",
        file=f"{_SOURCE}/client.js",
        old="if (error instanceof RefusedError && endsReport(error.reason)) {",
        new="if (!error.reason || endsReport(error.reason)) {",
        tests=(_NODE,),
    ),
    Fault(
        name="a-page-drops-what-can-be-put-right",
        harm="Whoever shows a wrong token once can never answer.",
        file=f"{_SOURCE}/reasons.js",
        old='REASONS[reason].again === "no"',
        new='REASONS[reason].again !== "yes"',
        tests=(_NODE,),
    ),
    Fault(
        name="a-page-believes-a-broken-journal",
        harm="Bytes that were changed on the disk are sent, or a report is made anew.",
        file=f"{_SOURCE}/journal.js",
        old="(await fingerprint(entry.report)) === entry.sha256;",
        new="entry.sha256.length === 64;",
        tests=(_NODE,),
    ),
    Fault(
        name="a-sent-report-stays-in-a-browser",
        harm="Whoever takes a person's device and the servers' keys reads their messages.",
        file=f"{_SOURCE}/journal_browser.js",
        old="store.put(settledEntry(task, state, reason), task)",
        new="store.put({ ...reading.result, reason }, task)",
        tests=(_BROWSER,),
    ),
    Fault(
        name="everybody-may-look-into-a-journal-of-node",
        harm="Others on the machine see in which tasks somebody took part.",
        file=f"{_SOURCE}/journal_node.js",
        old="{ recursive: true, mode: 0o700 }",
        new="{ recursive: true, mode: 0o755 }",
        tests=(f"{_NETWORK}::test_only_its_owner_may_look_into_a_folder_of_node",),
    ),
    Fault(
        name="node-has-a-journal-of-its-own",
        harm="Whoever has the clients in Python and in JavaScript answers twice.",
        file=f"{_SOURCE}/journal_node.js",
        old="return join(this.folder, `${task}.json`);",
        new="return join(this.folder, `${task}.js.json`);",
        tests=(f"{_NETWORK}::test_what_python_has_sent_node_does_not_send_again",),
    ),
)

_SENT = (
    Fault(
        name="a-page-takes-any-answer-for-an-acknowledgement",
        harm="A page to log in to a network takes people's reports, and they are lost.",
        file=f"{_SOURCE}/sending.js",
        old="if (status === CREATED) return;",
        new="if (status >= 200 && status <= CREATED) return;",
        tests=(_NODE,),
    ),
    Fault(
        name="a-page-lets-a-server-in-trouble-refuse-for-good",
        harm="A server that fails for a moment loses everybody's reports.",
        file=f"{_SOURCE}/sending.js",
        old="if (reason === null || status >= SERVER_ERROR) {",
        new="if (reason === null) {",
        tests=(_NODE,),
    ),
    Fault(
        name="reports-of-node-follow-redirects",
        harm="Whoever answers for the shuffler sends people's reports elsewhere.",
        file=f"{_SOURCE}/requests.js",
        old='redirect: "manual"',
        new='redirect: "follow"',
        tests=(_NODE,),
    ),
    Fault(
        name="a-page-sends-cookies-with-reports",
        harm="A server tells who sent which report.",
        file=f"{_SOURCE}/requests.js",
        old='credentials: "omit"',
        new='credentials: "include"',
        tests=(_NODE,),
    ),
    Fault(
        name="a-page-shows-an-admission-to-whoever-does-not-ask",
        harm="A token that somebody was given tells who they are.",
        file=f"{_SOURCE}/sending.js",
        old='if (task.admission === "anybody") return null;',
        new='if (task.admission === "anybody") return /** @type {any} */ (admission) ?? null;',
        tests=(_NODE,),
    ),
    Fault(
        name="a-report-of-a-page-tells-the-second-it-was-made",
        harm="The shuffler matches reports with what it knows of people's habits.",
        file=f"{_SOURCE}/making.js",
        old="const time = now - (now % task.timePrecision);",
        new="const time = now - (now % 2) + 1;",
        tests=(_NODE,),
    ),
)

_PAGES_OF_OTHERS = (
    Fault(
        name="every-page-may-read-batches",
        harm="A page that gets hold of a next hop's token reads and deletes batches from a visitor's browser.",
        file="collect/shuffler/app.py",
        old="(?:/(status|reports))?",
        new="(?:/(status|reports)|/batches.*)?",
        tests=(f"{_ORIGINS}::test_nothing_else_is_for_pages_of_others",),
    ),
    Fault(
        name="pages-cannot-read-why-a-report-was-refused",
        harm="A browser takes every refusal for a broken connection, and sends what is refused again and again.",
        file="collect/server/http.py",
        old="[*around, Middleware(Unexpected)]",
        new="[Middleware(Unexpected), *around]",
        tests=(f"{_ORIGINS}::test_a_page_may_read_that_a_server_is_in_trouble",),
    ),
)

FAULTS: tuple[Fault, ...] = (*_CHECKED, *_ONCE, *_SENT, *_PAGES_OF_OTHERS)

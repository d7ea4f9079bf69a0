"""Faults of the page that asks: what it promises, what it keeps of an answer, and when it sends."""

from mutants.fault import Fault

_ASKING = "collection/asking"
_STATIC = f"{_ASKING}/static"
_PAGE = "tests/collect/web/survey/test_page.py"
_BROWSER = "tests/collect/web/survey/test_in_browser.py"
_ONCE = "tests/collect/web/survey/test_one_report.py"
_CHECKED = "tests/collect/web/survey/test_what_is_promised.py"
_ANSWERED = f"{_BROWSER}::test_somebody_answers_and_what_they_answered_is_nowhere"
_ONE_REPORT = f"{_ONCE}::test_there_is_one_report_for_a_device"
_KEPT_AND_SENT_LATER = f"{_ONCE}::test_while_the_shuffler_is_down_the_answer_is_kept_and_sent_later"
_HOSTILE = f"{_BROWSER}::test_hostile_words_are_only_words"

_PROMISED = (
    Fault(
        name="the-page-says-what-it-likes-of-epsilon",
        harm="People agree to figures on a page, and the task that they answer has others.",
        file=f"{_STATIC}/claims.js",
        old="Number(main.dataset.epsilon) !== epsilon || ",
        new="",
        tests=(f"{_CHECKED}::test_a_page_that_says_other_figures_than_the_task_is_refused",),
    ),
    Fault(
        name="the-page-says-what-it-likes-of-delta",
        harm="The same, of the chance that nothing bounds.",
        file=f"{_STATIC}/claims.js",
        old=" || Number(main.dataset.delta) !== delta",
        new="",
        tests=(f"{_CHECKED}::test_a_page_that_says_another_delta_than_the_task_is_refused",),
    ),
    Fault(
        name="the-page-asks-another-question",
        harm="People answer a question that is not the one of the task whose id they compared.",
        file=f"{_STATIC}/claims.js",
        old="  question.textContent = printable(task.question);\n",
        new="  question.dir = task.question ? question.dir : question.dir;\n",
        tests=(f"{_CHECKED}::test_the_question_is_that_of_the_task_whatever_the_page_says",),
    ),
    Fault(
        name="the-page-agrees-to-anything",
        harm="People who only look at a page answer tasks whose promise says next to nothing.",
        file=f"{_STATIC}/ask.js",
        old="{ pin: name, admission: NOTHING_TO_SHOW, journal }",
        new="{ pin: name, admission: NOTHING_TO_SHOW, journal, atMost: [10, 0.9] }",
        tests=(f"{_CHECKED}::test_a_promise_of_next_to_nothing_is_not_agreed_to",),
    ),
    Fault(
        name="a-checked-delta-is-rounded-down",
        harm="The page says that a device computed a bound that is below the one that it computed.",
        file=f"{_STATIC}/claims.js",
        old="shareAtMost(reached, DIGITS)",
        new="shareAtMost(reached, DIGITS) && reached.toPrecision(DIGITS)",
        tests=(f"{_CHECKED}::test_a_bound_that_the_page_shows_is_never_below_it",),
    ),
    Fault(
        name="a-broken-promise-still-says-hidden",
        harm="People read that answers are hidden where the server itself knows that they are not.",
        file=f"{_ASKING}/page.py",
        old='"" if broken else words.EYEBROW',
        new="words.EYEBROW",
        tests=(f"{_PAGE}::test_what_is_not_protected_is_not_called_hidden",),
    ),
    Fault(
        name="a-broken-promise-still-has-a-form",
        harm="People fill in what the server itself knows not to be protected.",
        file=f"{_ASKING}/page.py",
        old="NOTHING if broken else sections.ANSWERING",
        new="sections.ANSWERING",
        tests=(f"{_PAGE}::test_every_word_of_a_task_is_escaped",),
    ),
)

_KEPT = (
    Fault(
        name="the-page-notes-the-answer",
        harm="Whoever uses the device next finds what was answered on it.",
        file=f"{_STATIC}/ask.js",
        old="    const prepared = await client.prepare(chosen.value);\n",
        new="    const prepared = await client.prepare(chosen.value);\n"
        '    sessionStorage.setItem("chosen", String(chosen.value));\n',
        tests=(_ANSWERED,),
    ),
    Fault(
        name="messages-stay-on-the-page",
        harm="Whoever uses the device next sees the messages of a report, one of which is the answer.",
        file=f"{_STATIC}/ask.js",
        old="    forgetReport(); // it may be a while until it can be sent\n",
        new="",
        tests=(_ANSWERED, _KEPT_AND_SENT_LATER),
    ),
    Fault(
        name="a-choice-stays-in-the-form",
        harm="Whoever uses the device next sees what was chosen, behind the page or when the browser restores it.",
        file=f"{_STATIC}/ask.js",
        old="    answers.forget();\n    await showMade(",
        new="    await showMade(",
        tests=(f"{_BROWSER}::test_a_number_is_written",),
    ),
    Fault(
        name="a-secret-stays-on-the-page",
        harm="Whoever uses the device next reads the token that let somebody in.",
        file=f"{_STATIC}/ask.js",
        old='    if (admission !== null) admission.value = "";\n',
        new="",
        tests=(f"{_ONCE}::test_a_secret_is_not_left_on_the_page",),
    ),
    Fault(
        name="an-answer-is-chosen-already",
        harm="People who press the button too early have answered what they did not choose.",
        file=f"{_STATIC}/answers.js",
        old='{ type: "radio", name: "choice" }',
        new='{ type: "radio", name: "choice", checked: true }',
        tests=(f"{_BROWSER}::test_nothing_is_made_of_no_choice",),
    ),
)

_SENDS = (
    Fault(
        name="a-report-is-sent-as-soon-as-it-is-made",
        harm="What would leave a device is shown to people after it has left.",
        file=f"{_STATIC}/states.js",
        old="  main.dataset.shows = state;\n",
        new="  main.dataset.shows = state;\n"
        '  if (state === "made") document.querySelector("form#send")?.requestSubmit();\n',
        tests=(_ANSWERED,),
    ),
    Fault(
        name="every-visit-has-a-journal-of-its-own",
        harm="Whoever opens the page again gives two draws of one answer.",
        file=f"{_STATIC}/ask.js",
        old="{ pin: name, admission: NOTHING_TO_SHOW, journal }",
        new="{ pin: name, admission: NOTHING_TO_SHOW, journal: new IndexedDBJournal(`${Date.now()}`) }",
        tests=(_ONE_REPORT,),
    ),
    Fault(
        name="what-could-not-be-sent-is-lost",
        harm="Whoever answers while the shuffler is away is never counted, and believes that they are.",
        file=f"{_STATIC}/ask.js",
        old="    const when = retrying.later();\n",
        new='    const when = "soon";\n',
        tests=(_KEPT_AND_SENT_LATER,),
    ),
    Fault(
        name="whoever-comes-by-another-name-answers-twice",
        harm="A browser that knows the server by two names gives two draws of one answer.",
        file=f"{_STATIC}/ask.js",
        old='    if (originOf(found.task) !== location.origin) return show("elsewhere");\n',
        new="",
        tests=(f"{_ONCE}::test_by_another_name_of_its_server_nobody_is_asked_a_second_time",),
    ),
    Fault(
        name="people-are-told-that-they-are-not-counted",
        harm="Somebody whose report is in a release believes that it is not, and answers elsewhere.",
        file=f"{_STATIC}/ask.js",
        old='if (entry === null) return "closed";',
        new='if (entry?.state !== "sent") return "closed";',
        tests=(f"{_ONCE}::test_when_the_time_is_over_nobody_is_told_that_a_report_does_not_count_which_may",),
    ),
    Fault(
        name="a-report-is-sent-that-nobody-looked-at",
        harm="Somebody agrees to one report, and another one is sent.",
        file=f"{_STATIC}/ask.js",
        old="![looked, agreed(name)].includes(entry.sha256)",
        new="false",
        tests=(f"{_ONCE}::test_a_report_that_was_not_looked_at_is_not_sent",),
    ),
    Fault(
        name="agreeing-lasts-for-reports-to-come",
        harm="Whoever once pressed send has later reports sent before they have decided.",
        file=f"{_STATIC}/agreement.js",
        old="attempt(() => localStorage.removeItem(key(name)));",
        new="void name;",
        tests=(f"{_ONCE}::test_what_is_agreed_to_is_one_report_and_no_other", _ANSWERED),
    ),
    Fault(
        name="pressing-twice-hides-what-would-be-sent",
        harm="People cannot see what leaves their device, and are told that another answer was used.",
        file=f"{_STATIC}/ask.js",
        old="chosen === null || making",
        new="chosen === null",
        tests=(f"{_ONCE}::test_pressing_twice_still_shows_what_is_inside",),
    ),
    Fault(
        name="messages-stay-on-a-page-that-is-left",
        harm="Whoever uses the device next goes back, and reads the messages of an answer.",
        file=f"{_STATIC}/ask.js",
        old='window.addEventListener("pagehide", forgetReport);',
        new="",
        tests=(f"{_ONCE}::test_messages_are_gone_from_the_page_when_it_is_left_or_over",),
    ),
)

_SERVED = (
    Fault(
        name="answers-can-be-sent-as-a-form",
        harm="A browser whose script fails sends what was chosen to the server, as it is.",
        file=f"{_ASKING}/routes.py",
        old="policy(connects=_connects(task), forms=False)",
        new="policy(connects=_connects(task))",
        tests=(f"{_PAGE}::test_nothing_but_the_page_itself_may_run_or_be_asked",),
    ),
    Fault(
        name="the-page-may-talk-to-anybody",
        harm="A script that got into the page that asks sends what was chosen to its author.",
        file=f"{_ASKING}/routes.py",
        old="""return ["'self'", *(""",
        new="""return ["'self'", "https:", *(""",
        tests=(f"{_PAGE}::test_nothing_but_the_page_itself_may_run_or_be_asked",),
    ),
    Fault(
        name="the-page-depends-on-who-asks",
        harm="The server gives some people another page, and what others compared says nothing about theirs.",
        file=f"{_ASKING}/routes.py",
        old="        return page_response(html, security",
        new="        html += f\"<!-- {request.headers.get('accept-language')} -->\"\n"
        "        return page_response(html, security",
        tests=(f"{_PAGE}::test_the_page_is_the_same_for_everybody",),
    ),
    Fault(
        name="the-question-runs",
        harm="A question that is a program runs on the page on which people answer.",
        file=f"{_ASKING}/page.py",
        old="{html(shown(task.question, width=LONGEST_QUESTION))}",
        new="{shown(task.question, width=LONGEST_QUESTION)}",
        tests=(f"{_PAGE}::test_every_word_of_a_task_is_escaped",),
    ),
    Fault(
        name="a-choice-is-html",
        harm="An answer of a task changes the page on which people choose, and loads pictures that tell who looks.",
        file=f"{_STATIC}/answers.js",
        old="{ textContent: printable(text), dir",
        new="{ innerHTML: text, dir",
        tests=(_HOSTILE,),
    ),
    Fault(
        name="an-answer-is-shown-backwards",
        harm="People choose an answer, and another one is published.",
        file=f"{_STATIC}/printable.js",
        old='text.replace(UNSEEN, "\\ufffd")',
        new="text",
        tests=(_HOSTILE,),
    ),
    Fault(
        name="a-message-is-html",
        harm="An answer of a task changes the page that shows what would be sent.",
        file=f"{_STATIC}/showing.js",
        old="  words.textContent = text;",
        new="  words.innerHTML = text;",
        tests=(_HOSTILE,),
    ),
)

FAULTS: tuple[Fault, ...] = (*_PROMISED, *_KEPT, *_SENDS, *_SERVED)

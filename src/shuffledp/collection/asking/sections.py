"""The parts of a task's page that are not states: the promise, the form, the report, whom to trust, how many."""

from __future__ import annotations

from shuffledp.collection.asking import words
from shuffledp.collection.pages.markup import NOTHING, Html, cards, html, joined, tag
from shuffledp.collection.task import Task
from shuffledp.collection.task.words import in_words
from shuffledp.words import readable, share_at_most, shown


def promise(task: Task, broken: str | None) -> Html:
    """What is promised, with its figures; `broken` says why it is not kept."""
    figures = [
        (share_at_most(task.guarantee.epsilon, digits=3), "epsilon: how far your answer may shift any chance"),
        (words.one_in(task.claim.delta), "delta: what may come on top of that"),
        (readable(task.users), "people in the group that you hide in"),
    ]
    if broken is None:
        said = [
            tag("p", words.how_it_is_hidden(task)),
            cards(figures),
            tag("p", words.what_the_figures_mean(task)),
            tag("p", _UNCHECKED, id="checked", class_="soft"),
        ]
    else:
        said = [cards(figures), tag("p", tag("strong", "Not kept:") + f" {broken}.", class_="open")]
    return Html(f"""<section id="promise" aria-labelledby="promise-title">
<h2 id="promise-title">What is promised to you</h2>
{joined(said)}
</section>""")


_UNCHECKED = "Computed by the server; not checked on this device yet."

ANSWERING = Html("""<section data-shown="new" aria-labelledby="answering-title" hidden>
<h2 id="answering-title" tabindex="-1">Your answer</h2>
<form id="answer" autocomplete="off" novalidate>
<fieldset id="answers" class="choices"><legend class="visually-hidden" dir="auto"></legend></fieldset>
<p id="missing" class="warning" role="alert" hidden></p>
<p class="soft">Every choice makes a report of the same form, so that nobody can tell who gave no answer. Nothing is
sent yet: first you see what would leave your device. <strong>Your answer cannot be changed after this step</strong>,
only sent or not: to draw again would take away the noise that protects you.</p>
<p class="buttons"><button type="submit">Make my report and show it to me</button></p>
</form>
</section>""")
"""The client puts in the answers of the task whose id it has checked. What is filled in has no name and no address to
go to, and the policy of the page lets no form be sent."""

REPORT = Html(f"""<section data-shown="made" aria-labelledby="report-title" hidden>
<h2 id="report-title" tabindex="-1">What would leave your device</h2>
<div id="inside" translate="no">
<h3>Before encryption</h3>
<p id="inside-words"></p>
<ul id="messages" class="messages"></ul>
</div>
<p id="inside-gone" class="note" hidden>This report was made before, and what is inside can no longer be shown: it is
sealed, and this device kept nothing else of it. No other answer is used.</p>
<h3>After encryption</h3>
<p id="sealed-words"></p>
<p>It begins with</p>
<pre class="sealed" id="sealed-start"></pre>
<p>and its SHA-256 is</p>
<pre class="sealed" id="sealed-hash"></pre>
<p>{html(words.FIXED)}</p>
</section>""")


def trust(task: Task) -> Html:
    """Who would have to work together, and what whoever serves the page could do."""
    rows = joined(
        tag("li", joined([tag("strong", role), tag("code", address), sees], ", "))
        for role, address, sees in words.what_each_sees(task)
    )
    said = in_words(task)
    warning = tag("p", f"Beware: {said['Warning']}", class_="warning") if "Warning" in said else NOTHING
    return Html(f"""<section id="trust" aria-labelledby="trust-title">
<h2 id="trust-title">Who would have to work together</h2>
<p>{html(words.who_would_have_to(task))}</p>
<ul class="roles">{rows}</ul>
{warning}
<details><summary>What whoever serves this page could do</summary>
<p>{html(words.WHO_SERVES_THIS)}</p></details>
<details><summary>Who may answer, and how sure the result is</summary>
<p>{html(said["Who may answer"])}</p><p>{html(said["How sure"])}</p></details>
</section>""")


def sending(task: Task) -> Html:
    """The last step."""
    return Html(f"""<section data-shown="made not-admitted" aria-labelledby="sending-title" hidden>
<h2 id="sending-title">Send it</h2>
<form id="send" autocomplete="off" novalidate>
{_admission(task)}<p class="soft">It counts once, and cannot be taken back.</p>
<p class="buttons"><button type="submit">Send my report</button></p>
</form>
</section>""")


def _admission(task: Task) -> Html:
    if task.admission == "anybody":
        return NOTHING
    name = "The secret of this task" if task.admission == "secret" else "Your one-time token"
    return Html(f"""<label class="field">{name}<input id="admission" type="text" autocomplete="off"
autocapitalize="none" spellcheck="false" aria-describedby="admission-why"></label>
<p id="admission-why" class="soft">It goes to the first shuffler with your report, and is not kept beside it.</p>
""")


def standing(task: Task) -> Html:
    """How many are missing, which the client follows, and where results will be."""
    results = f"{task.analyzer.address.rstrip('/')}/tasks/{task.name}"
    return Html(f"""<section id="standing" aria-labelledby="standing-title">
<h2 id="standing-title">How many are still missing</h2>
<p id="standing-words">A result needs the answers of {readable(task.users)} people.</p>
<progress id="standing-bar" max="{task.users}" value="0" aria-labelledby="standing-title" hidden></progress>
<p>Results appear for everybody to see, with how sure they are: <a rel="noopener"
href="{html(results)}">{html(shown(results, width=60))}</a></p>
<p class="soft">{html(words.WHO_SHOWS_RESULTS)}</p>
</section>""")


def without_this_page(task: Task) -> Html:
    """The id to compare, and how to answer with a client of one's own."""
    file = f"{task.name[:8]}.task.json"
    admission = "" if task.admission == "anybody" else " --admission FILE"
    return Html(f"""<footer>
<h2>Without this page</h2>
<p>The id of this task, for you to compare:</p>
<pre class="sealed" id="task-id">{task.name}</pre>
<div data-unless="sent already kept closed-sent">
<p>Save <a href="/v1/tasks/{task.name}" download="{file}">the task</a> and answer it with your own copy of the client,
which checks the id and the promise, and reads your answer from its standard input:</p>
<pre class="sealed">shuffledp send --task {file} --pin {task.name}{admission} --value -</pre>
<p class="soft">Do that instead of answering here, not as well: each further answer tells more about you.</p>
</div>
</footer>""")

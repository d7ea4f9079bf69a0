"""The operator's pages: everything that goes on, for whoever is signed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from shuffledp.collection.console import released
from shuffledp.collection.console.budget import Budget
from shuffledp.collection.console.frame import page, titled
from shuffledp.collection.console.happened import batches_section, refusals_section
from shuffledp.collection.console.health import (
    STORE_AWAY,
    WORK_ENDED,
    health_section,
    problems_of,
    problems_section,
)
from shuffledp.collection.console.histories import Histories
from shuffledp.collection.console.hops import Hops
from shuffledp.collection.console.people import bar, missing, people_section, told
from shuffledp.collection.console.signing_in import HOME
from shuffledp.collection.console.task_words import TaskWords, question, state
from shuffledp.collection.pages.markup import NOTHING, Html, facts, joined, label, link, live, tag
from shuffledp.collection.stores import CountedBatch, KeptRelease, ListedRelease, TallyStanding, TallyStore
from shuffledp.collection.task import Task
from shuffledp.errors import DataError
from shuffledp.words import counted, readable


@dataclass(frozen=True)
class _Kept:
    """What the store holds of a task; of one that does not answer, nothing."""

    standing: TallyStanding | None = None
    latest: KeptRelease | None = None
    listed: Sequence[ListedRelease] = ()
    batches: Sequence[CountedBatch] = ()
    history: Html = NOTHING


class OperatorPages:
    """What the operator sees; `problems` are those of the analyzer's work on a task, `working` whether it goes on."""

    def __init__(
        self,
        store: TallyStore,
        words: TaskWords,
        histories: Histories,
        budget: Budget,
        hops: Mapping[str, Hops],
        *,
        joined_releases: bool,
        problems: Callable[[Task], Sequence[str]],
        working: Callable[[], bool],
    ) -> None:
        self._store, self._words, self._histories, self._budget, self._hops = store, words, histories, budget, hops
        self._joined, self._problems, self._working = joined_releases, problems, working

    def tasks(self, tasks: Sequence[Task], now: datetime) -> str:
        """All tasks with the batch that each fills, and the ledger of all of them."""
        parts = [
            titled("Operator", "What goes on, live: only whoever has the operator's token sees this page."),
            live("tasks", joined(self._in_list(task, now) for task in tasks)),
            live("ledger", tag("h2", "Ledger") + self._budget.section()),
        ]
        return page("Operator", joined(parts), here=HOME, signed_in=True)

    def task(self, task: Task, now: datetime) -> str:
        """Everything about one task."""
        kept, hops = self._kept(task), self._hops[task.name].latest()
        own = self._own_problems(task, kept)
        problems = problems_of(hops, own)
        health = health_section(
            hops, address=task.analyzer.address, store=kept.standing is not None, working=self._working(), own=own
        )
        public = Html(f"{state(task, now)} {link(f'/tasks/{task.name}', 'What everybody sees')}")
        parts = [
            titled(question(task)),
            live("state", tag("p", public, class_="under")),
            live("problems", problems_section(problems), says=_told_problems(problems)),
            live("people", people_section(task, hops[0], kept.standing), says=told(task, hops[0])),
            live(
                "release",
                _latest(task, kept, now),
                says=f"Release {kept.latest.number} is there." if kept.latest else "",
            ),
            live("history", kept.history),
            live(
                "batches",
                batches_section(task, kept.batches, kept.listed, joined_releases=self._joined),
            ),
            live("refused", refusals_section(hops, kept.standing)),
            live("servers", health),
            live("ledger", tag("h2", "Ledger") + self._budget.section()),
            tag("h2", "Who may answer, and what follows"),
            tag("p", label(self._words.one(task, "Who may answer"))),
            tag("h2", "The task"),
            self._words.told(task),
            _details(task),
        ]
        return page(f"{question(task, width=60)}: operator", joined(parts), signed_in=True)

    def _in_list(self, task: Task, now: datetime) -> Html:
        kept, hops = self._kept(task), self._hops[task.name].latest()
        lacking, problems = missing(task, hops[0]), problems_of(hops, self._own_problems(task, kept))
        said = [state(task, now)]
        if kept.standing is not None:
            people = counted(kept.standing.people, "person", things="people")
            said.append(f"{counted(kept.standing.releases, 'release')}; {people} counted.")
        if lacking is not None:
            said.append(f"{counted(lacking, 'person', things='people')} missing for the next batch.")
        amiss = f"{counted(len(problems), 'problem')}: {problems[0][0]}. {problems[0][1]}" if problems else ""
        return tag(
            "div",
            joined(
                [
                    tag("h2", link(f"{HOME}/tasks/{task.name}", label(question(task, width=200)))),
                    bar(task, hops[0]),
                    tag("p", " ".join(said), class_="soft"),
                    tag("p", tag("span", amiss, class_="status bad")) if amiss else NOTHING,
                ]
            ),
            class_="panel",
        )

    def _kept(self, task: Task) -> _Kept:
        try:
            return _Kept(
                self._store.standing(task.id),
                self._store.release(task.id),
                self._store.listed(task.id),
                self._store.batches(task.id),
                self._histories.of(task),
            )
        except DataError:
            return _Kept()

    def _own_problems(self, task: Task, kept: _Kept) -> list[str]:
        away = [] if kept.standing is not None else [STORE_AWAY]
        ended = [] if self._working() else [WORK_ENDED]
        return [*away, *ended, *self._problems(task)]


def _latest(task: Task, kept: _Kept, now: datetime) -> Html:
    if kept.latest is None:
        none = "There is no release yet." if now < task.closes else "There is no release."
        return tag("h2", "Releases") + tag("p", none)
    return released.result(task, kept.latest)


def _told_problems(problems: Sequence[tuple[str, str]]) -> str:
    if not problems:
        return "Everything works."
    return " ".join(f"{who}: {what}" for who, what in problems)


def _details(task: Task) -> Html:
    """What the task file says, for comparing."""
    keys = {f"Key of shuffler {at}": tag("code", place.key) for at, place in enumerate(task.shufflers, 1)}
    file = link(
        f"/v1/tasks/{task.name}", "its one spelling, whose SHA-256 is the id", download=f"{task.name[:12]}.task.json"
    )
    return facts(
        {
            "Id": tag("code", task.name),
            "File": file,
            "Opens": f"{task.opens:%Y-%m-%d %H:%M:%S} UTC",
            "Closes": f"{task.closes:%Y-%m-%d %H:%M:%S} UTC",
            "People in a batch": f"{readable(task.users)}, of whom {readable(task.honest_users)} are counted on",
            "Protocol": tag("code", task.protocol_used.name),
            **keys,
            "Key of the analyzer": tag("code", task.analyzer.key),
        }
    )

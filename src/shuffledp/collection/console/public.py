"""The pages for everybody: tasks, and of each its releases. Nothing of what goes on before a release."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from shuffledp.collection.console import released
from shuffledp.collection.console.frame import page, titled
from shuffledp.collection.console.histories import Histories
from shuffledp.collection.console.task_words import TaskWords, identity, question, state
from shuffledp.collection.pages.markup import NOTHING, Html, joined, label, link, live, tag
from shuffledp.collection.stores import KeptRelease, TallyStore
from shuffledp.collection.task import Task
from shuffledp.collection.task.task import BETA
from shuffledp.words import counted, moment, sure_percent


class PublicPages:
    """What anybody may see."""

    def __init__(self, store: TallyStore, words: TaskWords, histories: Histories) -> None:
        self._store, self._words, self._histories = store, words, histories

    def tasks(self, tasks: Iterable[Task], now: datetime) -> str:
        """All tasks, each with how many releases there are."""
        listed = [self._in_list(task, now) for task in tasks]
        content = joined(listed) if listed else tag("p", "This analyzer serves no task.")
        under = "Questions that people answer privately, and what is published of their answers."
        return page("Results", titled("Results", under) + live("tasks", content), here="/")

    def task(self, task: Task, now: datetime) -> str:
        """The latest release of a task in whole, and those before it."""
        latest = self._store.release(task.id)
        content = self._nothing_yet(task, now) if latest is None else released.result(task, latest)
        says = "" if latest is None else f"Release {latest.number} is there."
        parts = [
            titled(question(task)),
            live("state", tag("p", state(task, now), class_="under")),
            live("release", content, says=says),
            live("history", self._histories.of(task)),
            live("conditions", NOTHING if latest is None else released.conditions(latest)),
            identity(task),
        ]
        return page(f"{question(task, width=60)}: results", joined(parts))

    def release(self, task: Task, kept: KeptRelease) -> str:
        """One release of a task."""
        back = link(f"/tasks/{task.name}", "The latest release, and all others")
        parts = [titled(question(task), back), released.result(task, kept), released.conditions(kept), identity(task)]
        return page(f"{question(task, width=60)}: release {kept.number}", joined(parts))

    def _in_list(self, task: Task, now: datetime) -> Html:
        listed = self._store.listed(task.id)
        there = "No release yet." if now < task.closes else "No release."
        if listed:
            there = f"{counted(len(listed), 'release')}, the latest of {moment(listed[-1].made)}."
        return tag(
            "div",
            tag("h2", link(f"/tasks/{task.name}", label(question(task, width=200))))
            + tag("p", f"{there} {state(task, now)}", class_="soft"),
            class_="panel",
        )

    def _nothing_yet(self, task: Task, now: datetime) -> Html:
        """What will be there; or that nothing will."""
        people = counted(task.users, "person", things="people")
        if now < task.closes:
            title = "There is no release yet"
            will_be = (
                f"Once {people} have answered, their messages are mixed and counted together. Then this page shows how "
                "many of them gave each answer: as bars with intervals, which hold all true numbers with a chance of "
                f"at least {sure_percent(BETA)} %, as a table, and as files to download. It appears by itself."
            )
        else:
            title = "There is no release"
            will_be = (
                f"A release needs the answers of {people}. If as many have answered, theirs are still on their way and "
                "appear here by themselves; otherwise nothing is published, and what was sent is deleted unread."
            )
        return joined(
            [
                tag("h2", title),
                tag("p", will_be),
                tag("h2", "What is promised"),
                self._words.told(task),
            ]
        )

"""A shuffler that serves the survey page in a thread; it can be stopped and started again."""

import threading
from contextlib import ExitStack
from datetime import UTC, datetime

import httpx
from msgspec.structs import replace
from tests.collect.chaos import free_port
from tests.collect.tasks import Kept

from shuffledp.collect.client.making import new_report
from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.server.auth import Accepted, hash_of, new_token
from shuffledp.collect.server.run import Server, config_of, listening
from shuffledp.collect.shuffler.app import make_app
from shuffledp.collect.shuffler.settings import Served, Settings
from shuffledp.collect.store import open_report_store
from shuffledp.collect.task import AnswerList, Place
from shuffledp.collect.task.guarantee import Claim
from shuffledp.collect.task.new_task import new_task

QUESTION = "Which theme do you use?"
RARE = "an-answer-that-nobody-else-gives"
THEMES = (RARE, "light", "system")
MANY = [f"{kind} number {at}" for kind in ("apple", "pear", "Äpfel") for at in range(30)]
MAIN, CLOSED, LATER, BROKEN, ODD, LONG, NUMBERS, TEXTS = range(8)
"""The tasks of the fixture `asking`."""
HOSTILE = "<img src=x onerror=alert(1)> & \"quoted\" 'so' </script>\u202eabc"
OPENS, CLOSES = datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
TOKEN = new_token()


def asked_task(
    port, *, question=QUESTION, answers=THEMES, shufflers=1, opens=OPENS, closes=CLOSES, claims=None, **more
):
    """A task of five people with little noise; its first shuffler is at this port, and the other ports are closed."""
    keys = tuple(KeyPair.generate() for _ in range(shufflers + 1))
    addresses = [f"http://127.0.0.1:{port}", *(f"http://127.0.0.1:{9 + at}" for at in range(shufflers))]
    places = [Place(address, key.public) for address, key in zip(addresses, keys, strict=True)]
    listed = AnswerList(list(answers)) if isinstance(answers, (list, tuple)) else answers
    settings = {"users": 5, "epsilon": 8.0, "delta": 1e-2, "protocol": "dummy-poisson"} | more
    task = new_task(
        question=question,
        answers=listed,
        shufflers=places[:-1],
        analyzer=places[-1],
        opens=opens,
        closes=closes,
        **settings,
    )
    return Kept(task if claims is None else replace(task, claim=Claim(*claims)), keys)


class Asking:
    """A running shuffler of some tasks, each made for its port."""

    def __init__(self, folder, *made, admission=None):
        self.port = free_port()
        self.kept = [asked_task(self.port, **each) for each in made or ({},)]
        self._folder, self._admission, self._running = folder, admission, None

    @property
    def task(self):
        return self.kept[0].task

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.port}"

    def page(self, at=0):
        return f"{self.origin}/ask/{self.kept[at].task.name}"

    def start(self):
        """Start serving with the existing store."""
        more = {} if self._admission is None else {"admission": self._admission}
        served = [Served(task=kept.task, position=0, key=kept.keys[0], **more) for kept in self.kept]
        settings = Settings(
            served=served,
            store=open_report_store(self._folder / "reports.db"),
            next_servers=Accepted((hash_of(TOKEN),)),
            page=True,
            every=0.05,
            owns_store=True,
        )
        started = threading.Event()
        with ExitStack() as stack:
            listener = stack.enter_context(listening("127.0.0.1", self.port))
            server = Server(config_of(make_app(settings), None), started.set)
            thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
            thread.start()
            assert started.wait(30)
            stack.callback(thread.join, 30)
            stack.callback(setattr, server, "should_exit", True)
            self._running = stack.pop_all()
        return self

    def stop(self):
        """Stop serving."""
        if self._running is not None:
            self._running.close()
            self._running = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def status(self, at=0):
        return httpx.get(f"{self.origin}/v1/tasks/{self.kept[at].task.name}/status").json()

    def others_answer(self, number, at=0):
        """Send this number of reports without a browser."""
        task = self.kept[at].task
        for _ in range(number):
            sent = httpx.post(f"{self.origin}/v1/tasks/{task.name}/reports", content=new_report(task, "light"))
            assert sent.status_code == 201

"""A visitor with a browser, and everything that it sends or logs."""

import hashlib
import mimetypes
from contextlib import contextmanager
from urllib.parse import urlsplit

from tests.clients.scripts import CLIENT

EVERYTHING_KEPT = """async () => {
  const database = await new Promise((resolve) => {
    const asked = indexedDB.open("shuffledp");
    asked.onsuccess = () => resolve(asked.result);
  });
  const journal = await new Promise((resolve) => {
    const asked = database.transaction("reports").objectStore("reports").getAll();
    asked.onsuccess = () => resolve(asked.result);
  });
  const entries = journal.filter((entry) => "report" in entry);
  return { journal: entries.map((entry) => ({ ...entry, report: new TextDecoder("latin1").decode(entry.report) })),
    local: { ...localStorage }, session: { ...sessionStorage }, cookies: document.cookie, address: location.href,
    state: history.state };
}"""


WEAKEST = (50.0, 0.99)
"""A limit that allows the tasks of most tests, which have little noise."""

STORE_LIMIT = """async ([epsilon, delta]) => {
  const { IndexedDBJournal } = await import("/client/src/index.js");
  await new IndexedDBJournal().storeLimit({ epsilon, delta, byResults: false });
}"""


class Visitor:
    """A page, and its requests; `limit` is stored at the first visit of each server."""

    def __init__(self, context, limit=WEAKEST):
        self.context, self.page = context, context.new_page()
        self._limit, self._known = limit, set()
        self.requests, self.complaints = [], []
        context.on("request", lambda request: self.requests.append(request))
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        context.on("console", self._hear)
        context.route("**/client/**", self._serve_client)

    @staticmethod
    def _serve_client(route):
        """Serve the sources of the client and of the page, for scripts of the tests."""
        path = CLIENT / urlsplit(route.request.url).path.removeprefix("/client/")
        route.fulfill(body=path.read_text(), content_type=mimetypes.guess_type(path.name)[0])

    def _hear(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def visit(self, address, shows="new"):
        self._raise_limit(address)
        self.page.goto(address)
        return self.until(shows)

    def _raise_limit(self, address):
        """Store the limit of this visitor, without a trace in the requests."""
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(address))
        if self._limit is None or origin in self._known:
            return
        self._known.add(origin)
        before = len(self.requests)
        self.page.goto(f"{origin}/page/survey.svg")
        self.page.evaluate(STORE_LIMIT, list(self._limit))
        del self.requests[before:]

    def until(self, shows):
        """Wait until the page shows a state."""
        self.page.locator(f'main[data-shows="{shows}"]').wait_for(timeout=20_000)
        return self

    def first_of(self, held):
        """The first of the routes that a test holds back; a busy browser asks late."""
        for _ in range(1000):
            if held:
                break
            self.page.wait_for_timeout(20)
        return held[0]

    def notice(self, state):
        """The text of a state, with its folds."""
        return " ".join(self.page.locator(f'[data-state="{state}"]').text_content().split())

    def choose(self, label):
        self.page.get_by_label(label, exact=True).check()
        return self

    def inspect(self):
        """Ask to see the report before it is sent."""
        fold = self.page.locator("#inspect")
        if fold.get_attribute("open") is None:
            fold.locator("summary").click()
        fold.get_by_role("button").click()

    def make(self):
        """Make the report without sending it."""
        self.inspect()
        return self.until("made")

    def insist(self):
        """Let the time pass after which a press of the button answers the warning; the test has installed a clock."""
        self.page.get_by_role("alert").wait_for()
        self.page.clock.run_for(600)

    def send(self):
        """Send the chosen answer, or the report that was made."""
        self.page.locator("#send").click()

    @property
    def shown_hash(self):
        """The SHA-256 of the report, as the page shows it."""
        return self.page.locator("#sealed-hash").inner_text()

    @property
    def posted(self):
        """The SHA-256 of each posted body."""
        return [hashlib.sha256(each.post_data_buffer).hexdigest() for each in self.requests if each.method == "POST"]

    @property
    def everything_kept(self):
        """Everything that the browser stores for the page."""
        return self.page.evaluate(EVERYTHING_KEPT)

    @property
    def width(self):
        """The widths of the content and of the window."""
        return self.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")


@contextmanager
def visiting(browser, *, limit=WEAKEST, **more):
    """A visitor with a new browser context, by default on a phone and with a limit that allows every task."""
    context = browser.new_context(**({"viewport": {"width": 390, "height": 844}} | more))
    try:
        yield Visitor(context, limit)
    finally:
        context.close()

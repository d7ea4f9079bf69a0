"""A visitor with a browser, and everything that it sends or logs."""

import hashlib
from contextlib import contextmanager
from urllib.parse import urlsplit

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
        self.page.goto(f"{origin}/page/ask.svg")
        self.page.evaluate(STORE_LIMIT, list(self._limit))
        del self.requests[before:]

    def until(self, shows):
        """Wait until the page shows a state."""
        self.page.locator(f'main[data-shows="{shows}"]').wait_for(timeout=20_000)
        return self

    def notice(self, state):
        """The text of a state, with its folds."""
        return " ".join(self.page.locator(f'[data-state="{state}"]').text_content().split())

    def choose(self, label):
        self.page.get_by_label(label, exact=True).check()
        return self

    def make(self):
        self.page.get_by_role("button", name="Make my report").click()
        return self.until("made")

    def send(self):
        self.page.get_by_role("button", name="Send my report").click()

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

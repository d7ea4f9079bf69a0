"""Screenshots of every page of a collection that runs on this machine.

    python -m scripts.screenshots [FOLDER]             writes PNG files, by default to build/screenshots
    python -m scripts.screenshots [FOLDER] --figures   also draws docs/figures/survey-page.png and console.png from them

It starts two shufflers and an analyzer with tasks and simulated people, and a second collection of a series.
Every page is shown 360 and 1280 pixels wide, light and dark. No page loads anything from the network.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import httpx
from PIL import Image
from playwright.sync_api import Browser, Page
from tests.browser import running_browser

from shuffledp.collect.simulation.processes import Processes, free_ports

ROOT = Path(__file__).parent.parent
FOLDER = Path("build") / "screenshots"
FIGURES = ROOT / "docs" / "figures"

WIDTHS = (360, 1280)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
HEIGHT = 740
PATIENCE = 120.0
"""Seconds for a server, a release or a round of the series, on a busy machine."""

PEOPLE = 1_000
QUESTION = ["--question", "Tea or coffee?", "--domain", "tea,coffee,water,neither"]
ASKED_BY = ["--asker", "City Library", "--contact", "library@example.org", "--language", "en"]
PURPOSE = ["--purpose", "To choose a machine for the new reading room"]
GUARANTEE = ["--users", str(PEOPLE), "--epsilon", "1", "--delta", "1e-6"]
WEAKER = ["--users", str(PEOPLE), "--epsilon", "4", "--delta", "1e-6"]
STRONGER = ["--users", str(PEOPLE), "--epsilon", "0.5", "--delta", "1e-7"]
"""A visitor answers several of these within the limit that the survey page sets at first."""
PARTIES = ("shuffler-1", "shuffler-2", "analyzer")
NOWHERE = "http://127.0.0.1:9"
"""The address of a server that never answers."""
TOWNS = [
    f"{first}{last}"
    for first in ("Ash", "Brook", "Elm", "Oak", "Stone", "Wood")
    for last in ("bury", "ford", "ham", "ton")
]


class Shown(NamedTuple):
    """A page: its file name, its address, and what is done before it is shown."""

    name: str
    address: str
    then: Callable[[Page], None] = lambda page: None


class Collection(NamedTuple):
    """Addresses of the servers and of the series, ids of tasks by name, and the tokens of two operators."""

    shuffler: str
    analyzer: str
    series: str
    tasks: dict[str, str]
    token: str
    shuffler_token: str


def shuffledp(*words: object, at: Path) -> str:
    """Run a command and return its output; exit with its error if it fails."""
    command = [sys.executable, "-m", "shuffledp", *map(str, words)]
    result = subprocess.run(command, cwd=at, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{' '.join(command[2:])} failed:\n{result.stderr}")
    return result.stdout


def wait(processes: Processes, true: Callable[[], bool], what: str) -> None:
    """Wait until a condition is true; fail if one of the processes has ended."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        processes.check()
        if time.monotonic() > deadline:
            raise SystemExit(f"no {what} after {PATIENCE:.0f} seconds")
        time.sleep(0.2)


def answers(address: str) -> bool:
    """Whether an address answers with status 200."""
    try:
        return httpx.get(address, timeout=10).status_code == 200
    except httpx.TransportError:
        return False


def new_task(
    folder: Path, name: str, places: list[str], question: str, *options: str, guarantee: list[str] = GUARANTEE
) -> str:
    """Create a further task, with keys of its own at every server; return its id."""
    chain = []
    for party, address in zip(PARTIES, places, strict=True):
        key = folder / party / "server" / "keys" / f"{name}.key"
        shuffledp("keys", "new", "--out", key, at=folder)
        chain += ["--analyzer" if party == "analyzer" else "--shuffler", f"{address}={key}"]
    path = folder / "public" / f"{name}.task.json"
    shuffledp("task", "new", "--question", question, *options, *guarantee, *ASKED_BY, *chain, "--out", path, at=folder)
    for party in PARTIES if NOWHERE not in places else PARTIES[-1:]:
        (folder / party / "server" / "tasks" / path.name).write_bytes(path.read_bytes())
    return id_of(path)


def id_of(task: Path) -> str:
    """Return the id of a task file, which is the SHA-256 that names it."""
    (found,) = re.findall(r"^Task id: (\w+)", shuffledp("task", "check", task, at=task.parent), flags=re.MULTILINE)
    return str(found)


def crowd(folder: Path, name: str, values: list[str]) -> None:
    """Let simulated people answer a task."""
    (folder / f"{name}.csv").write_text("\n".join(["answer", *values]))
    task = folder / "public" / f"{name}.task.json"
    shuffledp("crowd", "--task", task, "--data", f"{name}.csv", "--column", "answer", at=folder)


@contextmanager
def collection(place: Path) -> Iterator[Collection]:
    """Run the collections until the end of the `with`."""
    chosen = random.Random(1)
    folder, up = place / "library", place / "series"
    up.mkdir()
    places = [f"http://127.0.0.1:{port}" for port in free_ports([0, 0, 0])]
    addresses = ["--address", places[0], "--address", places[1], "--analyzer-address", places[2]]
    about = ["--store", "sqlite", *QUESTION, *GUARANTEE, *ASKED_BY, *PURPOSE, "--population", "visitors of the library"]
    shuffledp("deploy", "init", folder, "--shufflers", 2, "--page", *addresses, *about, "--limit", "20,1e-4", at=place)
    (folder / "towns.txt").write_text("\n".join(TOWNS))
    new = partial(new_task, folder)
    less = partial(new, guarantee=STRONGER)
    drinks = ["--domain", "tea,coffee,water,juice,milk"]
    tasks = {
        "drinks": id_of(folder / "public" / "first.task.json"),
        "towns": new("towns", places, "In which town do you live?", "--domain", "towns.txt", "--protocol", "hashed"),
        "closed": new("closed", places, "Do you read on paper?", "--domain", "yes,no"),
        "age": less("age", places, "How old are you?", "--edges", "0,18,30,45,65,120"),
        "several": less("several", places, "What do you drink in a week?", *drinks, "--choose-up-to", "3"),
        "text": new("text", places, "Which book did you read last?", "--free-text", "24"),
        "members": less("members", places, "Shall we open on Sundays?", "--domain", "yes,no", "--admission", "tokens"),
        "weak": new(
            "weak", places, "How do you come to us?", "--domain", "on foot,by bus,by bicycle", guarantee=WEAKER
        ),
        "later": new("later", places, "Did you like the exhibition?", "--domain", "yes,no", "--opens", "3d"),
        "alone": new("alone", [NOWHERE, *places[1:]], "Is it warm enough here?", "--domain", "yes,no"),
    }
    with Processes(place) as processes:
        for party in PARTIES:
            kind = party.partition("-")[0]
            config = folder / party / "server" / f"{kind}.toml"
            processes.start(party, [kind, "--config", str(config)])
        rounds = ["--people", "800", "--rounds", "3", "--folder", str(up / "up")]
        series = processes.start("up", ["up", *rounds])
        wait(processes, lambda: all(answers(f"{each}/health") for each in places), "servers")

        def released(name: str, number: int) -> None:
            wait(processes, partial(answers, f"{places[2]}/v1/tasks/{tasks[name]}/releases/{number}"), "release")

        for number, people in enumerate((PEOPLE, PEOPLE + 120), 1):  # batches that arrive together share a release
            crowd(folder, "first", chosen.choices(["tea", "coffee", "water", "neither"], [4, 5, 2, 1], k=people))
            released("drinks", number)
        crowd(folder, "towns", chosen.choices(TOWNS, range(len(TOWNS), 0, -1), k=PEOPLE))
        crowd(folder, "closed", chosen.choices(["yes", "no"], [3, 2], k=PEOPLE + 10))
        released("towns", 1)
        released("closed", 1)
        tokens = {party: folder / party / "operator.token" for party in PARTIES}
        for party, address, name in (
            ("analyzer", places[2], "closed"),
            ("shuffler-1", places[0], "closed"),
            ("analyzer", places[2], "alone"),
        ):
            at = ["--server", address, "--token", tokens[party]]
            shuffledp("task", "close", tasks[name], "--yes", *at, at=folder)
        wait(processes, lambda: "Ctrl-C" in series.log.read_text(), "end of the rounds")
        (results,) = set(re.findall(r"http://127\.0\.0\.1:\d+/series/\w+", series.log.read_text()))
        words = [tokens[party].read_text().strip() for party in ("analyzer", "shuffler-1")]
        yield Collection(places[0], places[2], results, tasks, *words)


def until(shows: str) -> Callable[[Page], None]:
    """Wait until the survey page shows a state."""
    return lambda page: page.locator(f'main[data-shows="{shows}"]').wait_for()


def send(page: Page, shows: str = "sent") -> None:
    """Answer on the survey page."""
    until("new")(page)
    page.locator("#answers input").first.check()
    page.click("#send")
    until(shows)(page)


def fill_in(text: str) -> Callable[[Page], None]:
    """Type an answer."""

    def then(page: Page) -> None:
        until("new")(page)
        page.locator("#answers input").first.fill(text)

    return then


def inspect(page: Page) -> None:
    """Ask to see the report before it is sent."""
    fill_in("34")(page)
    page.click("#inspect summary")
    page.click("#inspect button")
    until("made")(page)


def send_in_vain(page: Page) -> None:
    """Send a report while the network is down."""
    page.route("**/reports", lambda route: route.abort())
    send(page, shows="kept")
    page.unroute("**/reports")


def lower_limit(page: Page) -> None:
    """Set a privacy budget that the answer does not fit."""
    until("new")(page)
    page.click("#budget summary >> nth=0")
    page.fill("#limit-figure", "1")
    page.click("#limit button[type=submit]")
    until("over-budget")(page)


def look_ahead(page: Page) -> None:
    """Look with a clock that is a year ahead; it stays so for the pages after it."""
    page.clock.set_fixed_time(time.time() + 365 * 86_400)
    page.reload()
    until("wrong-clock")(page)


def search(page: Page) -> None:
    """Search in a long list of answers."""
    until("new")(page)
    page.locator("input[type=search]").fill("oak")


def sign_in(token: str) -> Callable[[Page], None]:
    """Sign in to the console; the session lasts for the pages after it."""

    def then(page: Page) -> None:
        page.fill("input[name=token]", token)
        page.click("main button[type=submit]")
        page.wait_for_load_state()

    return then


def submit(page: Page) -> None:
    """Send the first form of a page as it is."""
    page.click("main form button[type=submit] >> nth=0")
    page.wait_for_load_state()


def pages_of(made: Collection) -> list[Shown]:
    """Every page, in the order in which they are visited."""
    ask = {name: f"{made.shuffler}/ask/{task}" for name, task in made.tasks.items()}
    results = {name: f"{made.analyzer}/tasks/{task}" for name, task in made.tasks.items()}
    operator, first = f"{made.analyzer}/operator", f"{made.shuffler}/operator"
    manage, mine = ({name: f"{at}/manage/{task}" for name, task in made.tasks.items()} for at in (operator, first))
    return [
        Shown("survey-list", f"{made.shuffler}/"),
        Shown("survey-unknown", f"{made.shuffler}/ask/unknown"),
        Shown("survey-new", ask["drinks"], until("new")),
        Shown("survey-sent", ask["drinks"], send),
        Shown("survey-search", ask["towns"], search),
        Shown("survey-closed", ask["closed"]),
        Shown("survey-number", ask["age"], fill_in("34")),
        Shown("survey-made", ask["age"], inspect),
        Shown("survey-several", ask["several"], until("new")),
        Shown("survey-kept", ask["several"], send_in_vain),
        Shown("survey-text", ask["text"], fill_in("Middlemarch")),
        Shown("survey-not-admitted", f"{ask['members']}#token=wrong", partial(send, shows="not-admitted")),
        Shown("survey-needs-token", ask["members"], until("needs-token")),
        Shown("survey-weak", ask["weak"], until("new")),
        Shown("survey-over-budget", ask["weak"], lower_limit),
        Shown("survey-not-open", ask["later"], until("not-open")),
        Shown("console-list", f"{made.analyzer}/"),
        Shown("console-release", results["drinks"]),
        Shown("console-one-release", f"{results['drinks']}/releases/1"),
        Shown("console-no-release", results["age"]),
        Shown("console-series", made.series),
        Shown("console-unknown", f"{made.analyzer}/tasks/unknown"),
        Shown("operator-sign-in", operator),
        Shown("operator", operator, sign_in(made.token)),
        Shown("operator-task", f"{operator}/tasks/{made.tasks['drinks']}"),
        Shown("operator-lookup", f"{operator}/tasks/{made.tasks['towns']}/lookup?value=Oakham"),
        Shown("operator-manage", f"{operator}/manage"),
        Shown("operator-add", f"{operator}/manage", submit),
        Shown("operator-close", f"{manage['drinks']}/close"),
        Shown("operator-remove", f"{manage['closed']}/remove"),
        Shown("operator-remove-unchecked", f"{manage['alone']}/remove", submit),
        Shown("shuffler-sign-in", first),
        Shown("shuffler-manage", first, sign_in(made.shuffler_token)),
        Shown("shuffler-tokens", f"{mine['members']}/tokens"),
        Shown("shuffler-tokens-refused", f"{mine['members']}/tokens", submit),
        Shown("shuffler-close", f"{mine['drinks']}/close"),
        Shown("shuffler-remove", f"{mine['closed']}/remove"),
        Shown("survey-wrong-clock", ask["towns"], look_ahead),
    ]


def show(browser: Browser, shown: list[Shown], folder: Path) -> None:
    """Write a picture of each page in each form; exit if a page is wider than its window or reports an error."""
    wrong = []
    for width in WIDTHS:
        for scheme in SCHEMES:
            context = browser.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)
            page = context.new_page()
            context.on("weberror", lambda error: wrong.append(str(error.error)))
            for each in shown:
                page.goto(each.address)
                each.then(page)
                page.screenshot(
                    path=folder / f"{each.name}-{width}-{scheme}.png", full_page=True, animations="disabled"
                )
                if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                    wrong.append(f"{each.name} is wider than {width} pixels")
            context.close()
    if wrong:
        raise SystemExit("\n".join(wrong))


SHEETS = {
    "survey-page.png": (
        ("survey-new-360-light", 1.0),
        ("survey-search-360-light", 1.0),
        ("survey-sent-360-light", 1.0),
        ("survey-new-360-dark", 1.0),
    ),
    "console.png": (("console-release-1280-light", 0.62), ("console-series-1280-dark", 0.62)),
}
"""The contact sheets: screenshots beside each other, and the scale of each."""

GAP, MOST_BYTES = 16, 250_000


def draw_sheets(folder: Path, to: Path) -> None:
    """Draw the contact sheets: the tops of the pages, with 256 colours."""
    for name, parts in SHEETS.items():
        shown = []
        for part, scale in parts:
            picture = Image.open(folder / f"{part}.png").convert("RGB")
            small = picture.resize(
                (round(picture.width * scale), round(picture.height * scale)), Image.Resampling.LANCZOS
            )
            shown.append(small.crop((0, 0, small.width, min(small.height, HEIGHT))))
        size = (
            sum(each.width for each in shown) + GAP * (len(shown) + 1),
            max(each.height for each in shown) + 2 * GAP,
        )
        sheet, left = Image.new("RGB", size, (128, 128, 128)), GAP
        for each in shown:
            sheet.paste(each, (left, GAP))
            left += each.width + GAP
        sheet.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(to / name, optimize=True)
        if (written := (to / name).stat().st_size) > MOST_BYTES:
            raise SystemExit(f"{name} must have at most {MOST_BYTES:,} bytes, got {written:,}")


def main() -> None:
    """Take the screenshots."""
    parser = argparse.ArgumentParser(prog="python -m scripts.screenshots", description="Screenshots of every page.")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help=f"default: {FOLDER}")
    parser.add_argument("--figures", action="store_true", help="draw the contact sheets of the docs too")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="shuffledp-pages-") as place, collection(Path(place)) as made:
        shown = pages_of(made)
        with running_browser() as browser:
            show(browser, shown, given.folder)
    if given.figures:
        draw_sheets(given.folder, FIGURES)
    print(f"{len(shown)} pages, {len(WIDTHS) * len(SCHEMES)} pictures of each: {given.folder}")


if __name__ == "__main__":
    main()

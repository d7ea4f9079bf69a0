"""Use what one extra of the package is for, in an environment that has only this extra.

    python -I use_extra.py pandas                    prints the names of all loaded libraries, as JSON
    python -I use_extra.py --missing pandas polars   in an environment without them: prints the errors

Works in an empty folder. scripts/try_extras.py and tests/test_extras.py make the environments.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shuffledp import Domain, Estimate, Histogram, Ranges, private_histogram, run, shuffle
from shuffledp.errors import MissingExtraError

THEMES = ["dark"] * 700 + ["light"] * 300
PROTOCOL = Histogram.calibrate(users=1000, bins=2, epsilon=1, delta=1e-6)


def none() -> Estimate:
    """The library alone: a protocol, its privacy, messages, a median, and an estimate as text, JSON and CSV."""
    domain = Domain.of(["dark", "light"])
    messages = shuffle([PROTOCOL.randomize(value) for value in domain.encode(THEMES)])
    estimate = PROTOCOL.estimate(PROTOCOL.tally(messages), reports=1000, domain=domain)
    for each in (estimate, run(PROTOCOL, domain.encode(THEMES), domain=domain)):
        assert abs(each["dark"] - 700) < 150, each
    assert PROTOCOL.privacy.delta(1.0) <= 1e-6
    ages = run(Ranges.calibrate(users=1000, bins=4, epsilon=1, delta=1e-6), [1] * 700 + [3] * 300)
    assert ages.quantile(0.5).value == 1
    assert "dark" in estimate.to_csv()
    assert "dark" in estimate.to_json()
    assert "dark" in str(estimate)
    return estimate


def arrow() -> None:
    """Export to Arrow."""
    assert none().to_arrow().num_rows == 2


def pandas() -> None:
    """Export to pandas."""
    assert len(none().to_pandas()) == 2


def polars() -> None:
    """Export to Polars."""
    assert none().to_polars().height == 2


def html() -> None:
    """Bars in notebooks; reports are in the extra `cli`, which reads files too."""
    assert "dark" in none().bars_html()


def plot() -> None:
    """Figures."""
    axes = none().plot()
    axes.figure.savefig("figure.svg")
    assert "<svg" in Path("figure.svg").read_text()


def pld() -> None:
    """Privacy-loss distributions of dp_accounting."""
    assert 0.5 < PROTOCOL.privacy.pld().get_epsilon_for_delta(1e-6) < 1.01


def files() -> None:
    """Files and Arrow tables, with conditions and user columns, and Parquet as a result."""
    release = private_histogram(_file(), column="theme", where="age >= 20", epsilon=1, delta=1e-6)
    assert abs(release.estimate["dark"] - 700) < 150, release
    people = private_histogram(_file(), column="theme", user="age", epsilon=1, delta=1e-6)
    assert people.people == 1000
    release.save("result.parquet")
    assert Path("result.parquet").stat().st_size


def spark() -> None:
    """The same with Spark, which leaves nothing running."""
    asked = {"column": "theme", "epsilon": 1, "delta": 1e-6, "engine": "spark"}
    for release in (private_histogram(_file(), **asked), private_histogram(_file(), where="age >= 20", **asked)):
        assert abs(release.estimate["dark"] - 700) < 150, release


def cli() -> None:
    """The command: a plan, and a release of a file with a report and Parquet as results."""
    plan = _command(
        "plan", "--users", "1000", "--bins", "2", "--epsilon", "1", "--delta", "1e-6", "--figure", "plan.svg"
    )
    assert "people" in plan, plan
    assert "<svg" in Path("plan.svg").read_text()
    asked = ("run", _file(), "--column", "theme", "--where", "age >= 20", "--epsilon", "1", "--delta", "1e-6")
    assert "dark" in _command(*asked, "--out", "report.html", "--out", "report.parquet")
    assert "<html" in Path("report.html").read_text()
    assert "SMITH" in _command("demo", "--people", "20000", "--force").upper()
    assert Path("surnames.parquet").exists()


def collect() -> None:
    """A shuffler that serves its survey page and metrics, and a client that sends it a report."""
    from shuffledp.collect import AnswerList, Client, KeyPair, Place, new_task
    from shuffledp.collect.server.auth import Accepted, hash_of, new_token
    from shuffledp.collect.server.run import Server, address_of, config_of, listening
    from shuffledp.collect.shuffler.app import make_app
    from shuffledp.collect.shuffler.settings import Served, Settings
    from shuffledp.collect.store import open_report_store

    keys = KeyPair.generate(), KeyPair.generate()
    with listening("127.0.0.1", 0) as listener:
        address = address_of(listener, "127.0.0.1", tls=False)
        task = new_task(
            question="Which theme do you use?",
            answers=AnswerList(["dark", "light"]),
            users=200,
            epsilon=1.0,
            delta=1e-6,
            shufflers=[Place(address, keys[0].public)],
            analyzer=Place("http://127.0.0.1:9", keys[1].public),
            opens=datetime(2020, 1, 1, tzinfo=UTC),
            closes=datetime(2100, 1, 1, tzinfo=UTC),
        )
        settings = Settings(
            served=[Served(task=task, position=0, key=keys[0])],
            store=open_report_store(Path("shuffler.db")),
            next_servers=Accepted((hash_of(new_token()),)),
            page=True,
            processes=1,
        )
        started = threading.Event()
        server = Server(config_of(make_app(settings), None), started.set)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            assert started.wait(60)
            assert Client(task, journal=Path("journal")).send("dark").state == "sent"
            assert "Which theme do you use?" in _fetched(f"{address}/ask/{task.name}")
            assert "shuffledp_reports" in _fetched(f"{address}/metrics")
        finally:
            server.should_exit = True
            thread.join()


def postgres() -> None:
    """A store in PostgreSQL, at the address in SHUFFLEDP_POSTGRES; without one, only that it is looked for."""
    from shuffledp.collect.store import open_report_store
    from shuffledp.errors import DataError

    address = os.environ.get("SHUFFLEDP_POSTGRES")
    with contextlib.nullcontext() if address else contextlib.suppress(DataError):
        open_report_store(address or "postgresql://nobody@127.0.0.1:9/none").close()


USES: dict[str, Callable[[], Any]] = {
    "none": none,
    "cli": cli,
    "html": html,
    "files": files,
    "spark": spark,
    "pld": pld,
    "arrow": arrow,
    "pandas": pandas,
    "polars": polars,
    "plot": plot,
    "collect": collect,
    "postgres": postgres,
}


def error_without(extra: str) -> str | None:
    """Return the error of an extra that is missing; the command prints it and exits."""
    try:
        USES[extra]()
    except (MissingExtraError, SystemExit) as error:
        return str(error)
    return None


def _command(*words: str) -> str:
    """Run the command in this process; return its output, or exit with its errors."""
    from shuffledp.cli import main

    said, errors, sys.argv = io.StringIO(), io.StringIO(), ["shuffledp", *words]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
        try:
            main()
        except SystemExit as ended:
            if ended.code not in (0, None):
                raise SystemExit(errors.getvalue().strip()) from None
    return said.getvalue()


def _file() -> str:
    """Write a CSV file with a person in each row."""
    rows = "".join(f"{theme},{20 + at}\n" for at, theme in enumerate(THEMES))
    Path("people.csv").write_text(f"theme,age\n{rows}")
    return "people.csv"


def _fetched(address: str) -> str:
    import httpx

    return httpx.get(address).raise_for_status().text


if __name__ == "__main__":
    first, *others = sys.argv[1:]
    if first == "--missing":
        print(json.dumps({extra: error_without(extra) for extra in others}))
    else:
        USES[first]()
        print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))

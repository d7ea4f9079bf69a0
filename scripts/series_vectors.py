"""The test vectors of series files (docs/reference/wire-format.md, "Series"); `write_vectors.py` writes them.

The files in vectors/series are inputs and stay unchanged; missing ones are generated.
"""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scripts.asker_vectors import wrong_askers
from scripts.text_vectors import ADDRESSES

from shuffledp.collect.crypto.keys import KeyPair
from shuffledp.collect.task import AnswerList, Place, Series, Servers, series_of
from shuffledp.collect.task.new_task import new_series
from shuffledp.errors import BrokenPromiseError

WEEK, DAY = 7 * 86_400, 86_400
THEMES = AnswerList(["dark", "light", "system"])
HARD = AnswerList(["yes", "no", "a,b", '"quoted"', "back\\slash", "<b>", "\u00e9", "e\u0301", "\N{PILE OF POO}"])

SERIES: dict[str, dict[str, Any]] = {
    "weeks": {"protocol": "dummy-poisson", "answers": THEMES, "users": 200, "rounds": 4, "period": WEEK},
    "new-keys": {
        "protocol": "sparse", "answers": THEMES, "users": 300, "rounds": 3, "period": DAY, "shufflers": 2,
        "new_keys": True,
    },
    "hist": {"protocol": "hist", "answers": HARD, "users": 2000, "rounds": 5, "period": 3601, "time_precision": 1},
    "texts": {"protocol": None, "answers": ADDRESSES, "users": 10**6, "rounds": 2, "period": 30 * DAY},
    "a-year-of-weeks": {"protocol": "hashed", "answers": THEMES, "users": 10**6, "rounds": 52, "period": WEEK},
    "asker": {
        "protocol": "dummy-poisson", "answers": THEMES, "users": 200, "rounds": 2, "period": DAY,
        "asked_by": {"asker": "\u00c9cole", "contact": "https://school.example/privacy", "language": "fr"},
    },
}  # fmt: skip
"""What each series is made of."""

_FEW = 6
"""Rounds up to this number all have their task in the vectors; of more rounds, the first ones and the last."""

LIMITS = ((1.0, 1e-6), (1.0, 9e-7), (0.95, 1e-6), (1.05, 1e-6), (0.1, 1e-6), (2.0, 1e-9), (0.5, 0.01))
"""Limits on all rounds together, well apart from what is reached: two programs may compose on different grids."""


def key(series: str, position: int, entry: int) -> KeyPair:
    """Return the key pair of a server; `entry` counts the entries of `servers`."""
    return KeyPair.from_private_bytes(
        hashlib.sha256(f"test vector series {series} {position} {entry}".encode()).digest()
    )


def made(name: str) -> Series:
    """Return a series with the keys above."""
    asked = SERIES[name]
    shufflers = asked.get("shufflers", 1)
    servers = [
        Servers(
            [Place(f"https://s{at}.example", key(name, at, entry).public) for at in range(shufflers)],
            Place("https://analyzer.example", key(name, shufflers, entry).public),
        )
        for entry in range(asked["rounds"] if asked.get("new_keys") else 1)
    ]
    return new_series(
        question="Which one do you use? \u00e9",
        answers=asked["answers"],
        users=asked["users"],
        honest_users=asked["users"] * 9 // 10,
        epsilon=1.0,
        delta=1e-6,
        rounds=asked["rounds"],
        period=asked["period"],
        servers=servers,
        opens=datetime(2027, 1, 1, tzinfo=UTC),
        protocol=asked["protocol"],
        time_precision=asked.get("time_precision"),
        **asked.get("asked_by", {}),
    )


def generate_missing(folder: Path) -> None:
    """Write the series files that are not there."""
    (folder / "series").mkdir(parents=True, exist_ok=True)
    for name in SERIES:
        path = folder / "series" / f"{name}.json"
        if not path.exists():
            path.write_text(made(name).to_json(), encoding="utf-8")


def series_vectors(folder: Path) -> dict[str, Any]:
    """Return the valid series and the corrupted ones."""
    found = {name: series_of((folder / "series" / f"{name}.json").read_bytes()) for name in SERIES}
    return {
        "valid": [_valid(name, series) for name, series in found.items()],
        "corrupted": list(_corrupted(found["weeks"], found["new-keys"])),
    }


def _valid(name: str, series: Series) -> dict[str, Any]:
    first, last, period = int(series.opens.timestamp()), int(series.closes.timestamp()), series.period
    times = [first - 1, first, first + period - 1, first + period, first + 2 * period - 1, last - 1, last]
    rounds = range(1, series.rounds + 1)
    shown = [number for number in rounds if number <= _FEW or number == series.rounds]
    return {
        "name": name,
        "file": f"series/{name}.json",
        "canonical": series.canonical.decode(),
        "id": series.name,
        "rounds": series.rounds,
        "open_round_at": [{"time": time, "round": series.round_at(time)} for time in times],
        "tasks": [
            {
                "round": number,
                "id": series.task(number).name,
                "opens": series.task(number).opening,
                "closes": series.task(number).closing,
                "canonical": series.task(number).canonical.decode() if number < 3 else None,
            }
            for number in shown
        ],
        "strength": series.check().total.strength.value,
        "limits": [
            {"epsilon": epsilon, "delta": delta, "allowed": _is_allowed(series, epsilon, delta)}
            for epsilon, delta in LIMITS
        ],
    }


def _is_allowed(series: Series, epsilon: float, delta: float) -> bool:
    try:
        series.check((epsilon, delta))
    except BrokenPromiseError:
        return False
    return True


def _corrupted(series: Series, new_keys: Series) -> Iterator[dict[str, Any]]:
    """Yield files that are no series, and series with a false guarantee; `says` is a part of the message here."""
    text, plain = series.canonical.decode(), json.loads(series.canonical)
    servers = plain["servers"][0]
    place, analyzer = servers["shufflers"][0], servers["analyzer"]
    many = json.loads(new_keys.canonical)
    task, last = json.loads(series.task(1).canonical), many["servers"][2]

    def other(base: dict[str, Any] = plain, /, **fields: Any) -> str:
        return json.dumps({**base, **fields}, ensure_ascii=False)

    def served(**fields: Any) -> str:
        return other(servers=[{**servers, **fields}])

    rounds_wrong = "rounds must be from 2 to 4096"
    no_series = {
        "not-json": ("{", "not JSON"),
        "a-name-twice": (text.replace('"rounds":4', '"rounds":4,"rounds":4'), "a name is there twice"),
        "a-float": (text.replace('"rounds":4', '"rounds":4.0'), "numbers in a task are whole"),
        "another-version": (other(version=3), "series of version 3"),
        "another-kind": (other(kind="tasks"), "`kind`"),
        "no-round": (other(rounds=0), rounds_wrong),
        "one-round": (other(rounds=1), rounds_wrong),
        "too-many-rounds": (other(rounds=4097), rounds_wrong),
        "a-number-as-text": (other(rounds="4"), "`rounds` must be a whole number, got text"),
        "a-period-of-nothing": (other(period=0), "period must be from one second"),
        "a-period-of-a-century": (other(period=100 * 366 * DAY), "period must be from one second"),
        "a-time-precision-above-the-period": (other(time_precision=WEEK + 1), "at most the period"),
        "after-the-last-year": (other(opens="9999-12-30T00:00:00Z"), "before the year 10000"),
        "a-time-with-an-offset": (other(opens="2027-01-01T00:00:00+00:00"), "time in UTC"),
        "no-servers": (other(servers=[]), "one entry for all rounds or one for each"),
        "servers-of-some-rounds": (other(many, servers=many["servers"][:2]), "one entry for all"),
        "servers-of-more-rounds": (other(many, servers=[*many["servers"], many["servers"][0]]), "one entry for all"),
        "the-same-key-twice": (served(analyzer={**analyzer, "key": place["key"]}), "the same key"),
        "the-same-key-twice-in-a-later-round": (
            other(many, servers=[*many["servers"][:2], {**last, "analyzer": last["shufflers"][0]}]),
            "the same key",
        ),
        "a-key-of-low-order": (served(analyzer={**analyzer, "key": "00" * 32}), "no public key"),
        "no-shuffler": (served(shufflers=[]), "1 to 8 shufflers"),
        "an-unknown-field": (other(note="hello"), "is no field of a series"),
        "a-closing-time": (other(closes="2028-01-01T00:00:00Z"), "is no field of a series"),
        "an-unknown-field-of-the-servers": (served(note="hello"), "is no field of"),
        "no-total": (json.dumps({name: part for name, part in plain.items() if name != "total"}), "is missing"),
        "a-total-without-delta": (other(total={"epsilon": "1"}), "is missing"),
        "a-delta-in-another-spelling": (other(total={"epsilon": "1", "delta": "1e-06"}), "decimal number"),
        "an-epsilon-of-zero": (other(total={"epsilon": "0", "delta": "1e-6"}), "epsilon must be above 0"),
        "an-empty-question": (other(question=" "), "the question must have"),
        "more-honest-people-than-people": (other(honest_users=plain["users"] + 1), "honest_users"),
        "reports-that-nobody-could-send": (other(most_messages=2**32 - 1), "nobody should have to send"),
        **wrong_askers(lambda **fields: other(version=2, **fields), kind="series"),
    }  # fmt: skip
    no_task = {
        "a-round-without-its-series": (
            json.dumps({name: part for name, part in task.items() if name != "series"}), "must have one of the fields"),
        "a-task-of-version-1-in-a-series": (other(task, version=1), "a task of version 1 has no field"),
        "a-task-of-version-3": (other(task, version=3), "version 3"),
        "a-series-that-is-nothing": (other(task, series=None), "`series` must be"),
        "a-round-of-zero": (other(task, series={**task["series"], "round": 0}), "from 1 to 4096"),
        "a-round-above-all": (other(task, series={**task["series"], "round": 4097}), "from 1 to 4096"),
        "a-short-id-of-a-series": (other(task, series={**task["series"], "id": "ab"}), "64 hexadecimal digits"),
        "an-id-in-large-letters": (
            other(task, series={**task["series"], "id": task["series"]["id"].upper()}), "in small letters"),
        "more-about-the-series": (other(task, series={**task["series"], "of": 4}), "is no field of"),
    }  # fmt: skip
    one, fewer = plain["guarantee"], max(1, plain["honest_users"] * 3 // 4)
    broken = {
        "a-total-epsilon-that-is-not-reached": (other(total={"epsilon": "0.9", "delta": "1e-6"}), "4 rounds together"),
        "a-total-delta-that-is-not-reached": (other(total={"epsilon": "1", "delta": "9e-7"}), "4 rounds together"),
        "one-round-more": (other(rounds=5), "5 rounds together"),
        "the-total-is-that-of-one-round": (other(total=one), "4 rounds together"),
        "an-epsilon-of-one-round-that-is-not-reached": (other(guarantee={**one, "epsilon": "0.5"}), "which is weaker"),
        "fewer-honest-people": (other(honest_users=fewer), "which is weaker"),
        "too-few-messages-allowed": (other(most_messages=5), "is too small"),
    }  # fmt: skip
    groups: tuple[tuple[str, dict[str, tuple[str, str]]], ...]
    groups = (("no-series", no_series), ("no-task", no_task), ("broken-promise", broken))
    for reason, cases in groups:
        for case, (content, says) in cases.items():
            yield {"name": case, "content": content, "reason": reason, "says": says}

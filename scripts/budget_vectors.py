"""Test vectors of totals: the privacy of many answers of one person together, in Python and in other languages.

The spendings in vectors/budgets.json are inputs and stay unchanged; missing ones are generated. Everything else is
computed from them.
"""

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from shuffledp.accounting.composition import Composition, MomentBound, composed
from shuffledp.accounting.search import smallest_epsilon
from shuffledp.collect.task.guarantee import HASHED, write_parameters
from shuffledp.collect.task.public_file import decimal_text
from shuffledp.collect.task.spending import Spending
from shuffledp.histogram.text_code import PARENT_BITS
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.protocols.catalogue import named
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram, most_messages
from shuffledp.protocols.target import Target

EPSILONS = ("0", "0.25", "1", "3", "10")
DELTAS = ("1e-9", "1e-6", "1e-3")
LIMIT = ("3", "1e-5")

Record = dict[str, Any]
"""A `Spending` as JSON has it."""

Answered = tuple[Record, int]


def total_of(answered: Iterable[Answered]) -> tuple[Composition, float]:
    """Return the composition of all answers, and the probability that no person samples again."""
    curves, kept = [], 1.0
    for record, times in answered:
        spending = msgspec.convert(record, Spending)
        curves += [spending.curve] * times
        kept *= (1 - spending.redrawn) ** times
    return composed(curves), kept


def computed(vector: dict[str, Any]) -> dict[str, Any]:
    """Return a vector with everything computed from its spendings."""
    total, kept = total_of((each["spending"], each["times"]) for each in vector["spendings"])

    def delta(epsilon: float) -> float:
        return min(1.0, total.delta(epsilon) / kept) if kept else 1.0

    epsilons = {most: smallest_epsilon(delta, float(most)) for most in DELTAS}
    limit = vector.get("by_results", {}).get("limit", list(LIMIT))
    reached = MomentBound(epsilon=float(limit[0]), delta=float(limit[1])).reached(total)
    return {
        "name": vector["name"],
        "spendings": vector["spendings"],
        "delta_at": {epsilon: delta(float(epsilon)) for epsilon in EPSILONS},
        "epsilon_at": {most: epsilon if math.isfinite(epsilon) else None for most, epsilon in epsilons.items()},
        "by_results": {"limit": limit, "reached": min(1.0, reached / kept) if kept else 1.0},
    }


def budgets(folder: Path) -> list[dict[str, Any]]:
    """Return all vectors, from the stored inputs where there are any."""
    path = folder / "budgets.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    known = {vector["name"] for vector in stored}
    return [computed(vector) for vector in [*stored, *(new for new in made() if new["name"] not in known)]]


def spending_of(name: str, protocol: ShuffledHistogram, *, values: int | None = None) -> Record:
    """Return the record of an answer to a task with this protocol."""
    claim = protocol.guarantee
    assert claim is not None
    levels = protocol.levels if isinstance(protocol, HashedHistogram) else 1
    return {
        "question": "Which one?",
        "day": "2026-11-18",
        "protocol": {"name": name, "parameters": write_parameters(name, protocol)},
        "guarantee": {
            "epsilon": decimal_text(claim.epsilon),
            "delta": decimal_text(claim.delta),
        },
        "users": protocol.users,
        "honest_users": protocol.honest,
        "values": values or protocol.bins,
        "values_per_person": max(levels, protocol.values_per_person),
        "most_messages": most_messages(protocol, delta=claim.delta),
        "series": None,
    }


def calibrated(
    name: str,
    epsilon: float,
    delta: float,
    *,
    users: int = 10**6,
    honest: int | None = None,
    bins: int = 40,
    values: int = 1,
) -> Record:
    """Return the record of an answer to a task whose noise is calibrated for a guarantee."""
    target = Target(
        users=users,
        bins=bins,
        epsilon=epsilon,
        delta=delta,
        honest_users=honest or users,
        values_per_person=values,
        padding_bins=0,
    )
    return spending_of(name, named(name).make(target))  # type: ignore[arg-type]


def texts(epsilon: float, delta: float, *, levels: int, pieces: int = 1643, users: int = 10**6) -> Record:
    """Return the record of an answer to a task about texts."""
    values = pieces << PARENT_BITS
    target = Target(users=users, bins=values, epsilon=epsilon, delta=delta, honest_users=users, padding_bins=0)
    return spending_of(HASHED, HashedHistogram.for_levels(target, levels=levels, pieces=pieces), values=pieces)


def with_noise(spending: Record, name: str, parameters: dict[str, Any], **fields: Any) -> Record:
    """Return a record with other noise."""
    return {**spending, "protocol": {"name": name, "parameters": parameters}, **fields}


def made() -> Iterator[dict[str, Any]]:
    """Yield the names and spendings of the vectors."""
    for name, answered in _answers():
        yield {"name": name, "spendings": [{"spending": one, "times": times} for one, times in answered]}


def _answers() -> Iterator[tuple[str, list[Answered]]]:
    poisson, coins, sparse = (calibrated(name, 0.3, 1e-8) for name in ("dummy-poisson", "hist", "sparse"))
    yield "no answer", []
    for one in (poisson, coins, sparse, calibrated("hist", 0.5, 1e-7, bins=45, values=5), texts(0.5, 1e-7, levels=8)):
        kind, values = one["protocol"]["name"], one["values_per_person"]
        yield f"one answer: {kind}, values of a person: {values}", [(one, 1)]
    yield "two answers to equal tasks", [(poisson, 1), (poisson, 1)]
    yield "52 weekly rounds", [(calibrated("dummy-poisson", 0.12, 1e-8, honest=900_000), 52)]
    yield "365 daily rounds", [(calibrated("hist", 0.05, 1e-9), 365)]
    yield "365 daily rounds and other tasks", [(calibrated("hist", 0.05, 1e-9), 365), (poisson, 4), (sparse, 2)]
    yield (
        "tasks of every protocol",
        [
            (calibrated(name, 0.4, 1e-7, users=20_000, honest=17_000), times)
            for times, name in enumerate(
                ("hist", "hist-unbiased", "dummy", "dummy-poisson", "sparse", "sparse-best", HASHED), start=1
            )
        ],
    )
    yield (
        "choices, intervals and texts",
        [
            (calibrated("hist", 0.4, 1e-7, bins=45, values=5), 4),
            (calibrated("sparse", 0.8, 1e-7, bins=43, values=3), 2),
            (calibrated("dummy-poisson", 0.4, 1e-7, bins=159, values=7), 12),
            (texts(0.5, 1e-7, levels=8), 3),
        ],
    )
    yield (
        "one weak answer and many strong ones",
        [(calibrated("dummy", 3, 1e-6), 1), (calibrated("hist", 0.1, 1e-9), 90)],
    )
    different = [(calibrated("dummy", 0.2 + 0.01 * at, 1e-8, users=50_000), 1 + at % 3) for at in range(20)]
    yield "20 different tasks", different
    yield from _by_hand(poisson, coins, sparse)


def _by_hand(poisson: Record, coins: Record, sparse: Record) -> Iterator[tuple[str, list[Answered]]]:
    """Yield cases that no calibration would choose."""
    few = {"users": 100, "honest_users": 100, "most_messages": 60}
    rate, half = {"rate": "3/2^1", "size_weights": [SIZE_GRID]}, SIZE_GRID // 2
    fair, quarter = ({"missing_probability": f"1/2^{power}"} for power in (1, 2))
    two = {"users": 2, "honest_users": 2, "most_messages": 41}
    one = {"users": 2, "honest_users": 1, "most_messages": 41}
    clusters = {"rate": "30", "size_weights": [half, half]}
    sampled_again = with_noise(poisson, "dummy-poisson", {"dummies": rate}, users=100, honest_users=100)
    yield "limits that people exceed", [({**sampled_again, "most_messages": 6}, 3), (poisson, 2)]
    yield "a limit that people always exceed", [(poisson, 2), ({**sampled_again, "most_messages": 1}, 1)]
    yield "one coin, which has losses of one size", [(with_noise(coins, "hist", quarter, **one), 6)]
    yield "fair coins of one person reveal a value", [(with_noise(coins, "hist", fair, **one), 2)]
    yield "few coins", [(with_noise(coins, "hist", fair, **two), 2), (with_noise(coins, "hist", quarter, **two), 1)]
    yield "hardly any noise", [(with_noise(poisson, "dummy-poisson", {"dummies": rate}, **few), 5), (sparse, 1)]
    again = with_noise(coins, "dummy", {"dummy_probability": coins["protocol"]["parameters"]["missing_probability"]})
    dummies = poisson["protocol"]["parameters"]["dummies"]
    hashed = with_noise(poisson, HASHED, {"buckets": 101, "dummies": dummies}, most_messages=100)
    yield "equal noise of different protocols", [(coins, 2), (again, 3), (poisson, 2), (hashed, 1)]
    equal = with_noise(sparse, "sparse", {"pairs": clusters, "lone": clusters}, users=500, honest_users=500)
    yield "equal pairs and lone clusters", [({**equal, "most_messages": 200}, 3)]

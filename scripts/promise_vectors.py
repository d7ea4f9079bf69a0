"""Test vectors of guarantees: the privacy that the parameters of a task give, and the claims that are refused.

The noise, the numbers of people and the claims in vectors/promises.json are inputs and stay unchanged; if the file is
missing, they are generated. Everything else is computed from them.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shuffledp.accounting.curve import Guarantee
from shuffledp.accounting.strength import MODERATE, STRONG, Strength
from shuffledp.collect.task.guarantee import HASHED, RANGES, People, check_promise, read_protocol, write_parameters
from shuffledp.collect.task.public_file import decimal_text, exact_text
from shuffledp.errors import BrokenPromiseError
from shuffledp.histogram.text_code import PARENT_BITS
from shuffledp.noise.compound_poisson import SIZE_GRID
from shuffledp.protocols.catalogue import named
from shuffledp.protocols.shuffled.hashed import HashedHistogram
from shuffledp.protocols.shuffled_histogram import ShuffledHistogram, chance_of_more, most_messages
from shuffledp.protocols.target import Target

EPSILONS = ("0", "0.01", "0.1", "0.5", "1", "2", "4", "10")
CLOSE = 1e-7
"""Relative distance of the claims just above and just below the smallest delta that is kept."""

SIX = ("hist", "hist-unbiased", "dummy", "dummy-poisson", "sparse", "sparse-best")
CALIBRATED: dict[str, tuple[tuple[str, ...], int, int, int, float, float]] = {
    "a few hundred people": (SIX, 300, 240, 6, 1.0, 1e-6),
    "little privacy": (SIX, 10**5, 50_000, 1000, 10.0, 1e-9),
    "much privacy": (("hist", "dummy-poisson"), 10**6, 10**6, 20, 0.1, 1e-9),
    "much privacy by clusters": (("sparse",), 10**6, 700_000, 20, 0.2, 1e-9),
    "very much privacy": (("dummy",), 10**8, 10**8 - 1, 20, 0.03, 1e-10),
    "very many people": (("hist", "dummy", "sparse"), 10**9, 5 * 10**8, 10**6, 0.3, 1e-10),
    "a very small delta": (("hist", "dummy-poisson", "sparse"), 10**6, 10**6, 50, 2.0, 1e-20),
    "a large delta": (("dummy", "dummy-poisson", "sparse-best"), 1000, 10, 4, 2.0, 0.3),
    "any number of values": (("hashed",), 10**6, 900_000, 10**6, 1.0, 1e-6),
    "few values": (("hashed",), 300, 240, 6, 0.5, 1e-6),
}
"""Protocols, users, honest users, values, and the guarantee that the noise is calibrated for."""

TEXTS: dict[str, tuple[int, int, int, int, float, float]] = {
    "texts on eight levels": (8, 1643, 10**6, 900_000, 1.0, 1e-6),
    "texts on one level": (1, 100, 10**4, 10**4, 1.0, 1e-6),
    "texts on three levels": (3, 13, 500, 400, 2.0, 1e-4),
    "texts on 16 levels": (16, 1000, 10**7, 10**7, 0.5, 1e-9),
    "texts on 64 levels": (64, 31, 10**5, 90_000, 4.0, 1e-8),
}
"""Levels, symbols, users, honest users, and the guarantee that the noise is calibrated for."""


SEVERAL: dict[str, tuple[tuple[str, ...], int, int, int, int, float, float]] = {
    "two choices": (SIX, 2, 600, 500, 9, 1.0, 1e-6),
    "five choices": (("dummy-poisson", "sparse", "hist"), 5, 10**5, 90_000, 47, 1.0, 1e-6),
    "64 choices": (("dummy-poisson",), 64, 10**6, 10**6, 1000, 4.0, 1e-9),
    "three levels": (("ranges",), 3, 10**6, 900_000, 161, 1.0, 1e-6),
    "one level": (("ranges",), 1, 1000, 1000, 6, 0.5, 1e-6),
    "20 levels": (("ranges",), 20, 10**6, 10**6, 2_000_000, 2.0, 1e-8),
}
"""Protocols, values per person, users, honest users, bins, and the guarantee that the noise is calibrated for."""


def distribution(rate: float, *sizes: int) -> dict[str, Any]:
    """Return a compound Poisson distribution with these size weights and one more, which completes their sum."""
    return {"rate": exact_text(rate), "size_weights": [*sizes, SIZE_GRID - sum(sizes)]}


def sparse(pairs: dict[str, Any], lone: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the sparse protocol with two noise distributions."""
    return "sparse", {"pairs": pairs, "lone": lone}


def coin(name: str, probability: str) -> tuple[str, dict[str, Any]]:
    """Return a protocol with binomial noise."""
    return name, {"dummy_probability" if name == "dummy" else "missing_probability": probability}


HALF, FEW = SIZE_GRID // 2, SIZE_GRID // 1000
BY_HAND: dict[str, tuple[tuple[str, dict[str, Any]], int, int, int, str, str]] = {
    "two people": (coin("hist", "1/2^1"), 2, 2, 3, "1", "0.5"),
    "one honest person of two": (coin("dummy", "1/2^2"), 2, 1, 3, "2", "0.6"),
    "a coin that hardly ever comes up": (coin("dummy", "1/2^53"), 10**12, 10**12, 9, "1", "0.9"),
    "fair coins of very many": (coin("hist", "1/2^1"), 10**7, 10**7, 3, "0.01", "1e-20"),
    "hardly any dummies": (("dummy-poisson", {"dummies": distribution(2.0**-60)}), 100, 90, 5, "1", "0.9"),
    "very many dummies": (("dummy-poisson", {"dummies": distribution(3600.0)}), 10**6, 900_000, 5, "0.1", "1e-8"),
    "clusters of even sizes only": (
        sparse(distribution(20.0, 0), distribution(30.0, 0, HALF, 0)),
        500,
        400,
        5,
        "1",
        "0.9",
    ),
    "clusters without some sizes": (
        sparse(distribution(30.0, HALF, 0, 0), distribution(25.0, HALF, 0)),
        500,
        400,
        5,
        "1",
        "1e-4",
    ),
    "rare clusters": (sparse(distribution(2.0**-60, HALF), distribution(2.0**-50)), 500, 400, 5, "1", "0.9"),
    "very rare clusters": (sparse(distribution(2.0**-70), distribution(2.0**-70)), 500, 400, 5, "1", "0.9"),
    "single messages in clusters": (sparse(distribution(60.0), distribution(40.0)), 500, 400, 5, "2", "1e-6"),
    "many clusters": (
        sparse(distribution(4000.0, HALF, FEW), distribution(700.0, HALF)),
        10**5,
        80_000,
        5,
        "0.1",
        "1e-4",
    ),
    "the same clusters twice": (sparse(distribution(30.0, HALF), distribution(30.0, HALF)), 500, 500, 5, "1", "1e-5"),
    "mostly lone clusters": (
        sparse(distribution(18.0, HALF, FEW), distribution(80.0, HALF // 2, HALF)),
        10**4,
        9000,
        9,
        "1",
        "1e-5",
    ),
}
"""Protocol and noise, users, honest users, values, and the claim: cases that no calibration would choose."""


def protocol_of(vector: dict[str, Any], claim: dict[str, str]) -> ShuffledHistogram:
    """Return the protocol of a vector, for a claimed guarantee."""
    guarantee = Guarantee(epsilon=float(claim["epsilon"]), delta=float(claim["delta"]), basis="claimed")
    people = People(vector["users"], vector["honest_users"], int(vector["values"]), guarantee)
    people = people._replace(values_per_person=vector.get("levels", 1), pieces=vector.get("pieces"))
    return read_protocol(vector["protocol"]["name"], vector["protocol"]["parameters"], people)


def judged(vector: dict[str, Any], verdict: dict[str, Any]) -> dict[str, str | None]:
    """Return the error for a claim that is not kept or is weaker than allowed, and the strength of any other."""
    at_most = verdict["at_most"] and (float(verdict["at_most"][0]), float(verdict["at_most"][1]))
    protocol = protocol_of(vector, verdict["guarantee"])
    try:
        promise = check_promise(protocol, most_messages=verdict["most_messages"], at_most=at_most)
    except BrokenPromiseError as error:
        return {"refused": str(error), "strength": None}
    return {"refused": None, "strength": promise.strength}


def strengths() -> list[dict[str, Any]]:
    """Return the strength of guarantees on both sides of every limit."""
    epsilons, deltas = (
        [low, *_beside(one), *_beside(other), high]
        for low, one, other, high in (
            (1e-3, STRONG[0], MODERATE[0], 50.0),
            (1e-20, STRONG[1], MODERATE[1], 0.5),
        )
    )
    return [
        {"epsilon": repr(epsilon), "delta": repr(delta), "strength": Strength.of(epsilon, delta)}
        for epsilon in epsilons
        for delta in deltas
    ]


def _beside(limit: float) -> tuple[float, float, float]:
    return math.nextafter(limit, 0), limit, math.nextafter(limit, math.inf)


_INPUTS = ("name", "protocol", "users", "honest_users", "values", "levels", "pieces", "guarantee")


def computed(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return a vector with everything computed from its inputs."""
    protocol = protocol_of(inputs, inputs["guarantee"])
    return {
        **{name: inputs[name] for name in _INPUTS if name in inputs},
        "exact": protocol.privacy.exact,
        "delta_at": {epsilon: protocol.privacy.delta(float(epsilon)) for epsilon in EPSILONS},
        "chance_of_more": {most: chance_of_more(protocol, int(most)) for most in inputs["chance_of_more"]},
        "verdicts": [{**verdict, **judged(inputs, verdict)} for verdict in inputs["verdicts"]],
    }


def promises(folder: Path) -> list[dict[str, Any]]:
    """Return all vectors, from the stored inputs where there are any."""
    path = folder / "promises.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    known = {vector["name"] for vector in stored}
    return [computed(vector) for vector in [*stored, *(_asked(new) for new in made() if new["name"] not in known)]]


def made() -> Iterator[dict[str, Any]]:
    """Yield the noise, people and claims of the tables above."""
    for name, (protocols, users, honest, values, epsilon, delta) in CALIBRATED.items():
        target = Target(users=users, bins=values, epsilon=epsilon, delta=delta, honest_users=honest, padding_bins=0)
        for protocol in protocols:
            noise = write_parameters(protocol, named(protocol).make(target))  # type: ignore[arg-type]
            claim = {"epsilon": decimal_text(epsilon), "delta": decimal_text(delta)}
            yield _vector(f"{protocol}: {name}", protocol, noise, users, honest, values, claim)
    for name, ((protocol, noise), users, honest, values, at, claimed) in BY_HAND.items():
        claim = {"epsilon": at, "delta": claimed}
        yield _vector(f"{protocol}: {name}", protocol, noise, users, honest, values, claim)
    for name, (levels, pieces, users, honest, epsilon, delta) in TEXTS.items():
        values = pieces << PARENT_BITS
        target = Target(users=users, bins=values, epsilon=epsilon, delta=delta, honest_users=honest, padding_bins=0)
        noise = write_parameters(HASHED, HashedHistogram.for_levels(target, levels=levels, pieces=pieces))
        claim = {"epsilon": decimal_text(epsilon), "delta": decimal_text(delta)}
        vector = _vector(f"{HASHED}: {name}", HASHED, noise, users, honest, str(values), claim)
        yield {**vector, "levels": levels, "pieces": pieces}
    yield from _several()


def _several() -> Iterator[dict[str, Any]]:
    """Yield the noise, people and claims of people with several values."""
    for name, (protocols, each, users, honest, values, epsilon, delta) in SEVERAL.items():
        claim = {"epsilon": decimal_text(epsilon), "delta": decimal_text(delta)}
        target = Target(
            users=users,
            bins=values,
            epsilon=epsilon,
            delta=delta,
            honest_users=honest,
            values_per_person=each,
            padding_bins=0,
        )
        for protocol in protocols:
            nodes = protocol == RANGES
            kept = "dummy-poisson" if nodes else protocol
            noise = write_parameters(kept, named(kept).make(target))  # type: ignore[arg-type]
            noise = {"branching": 2, **noise} if nodes else noise
            vector = _vector(f"{protocol}: {name}", protocol, noise, users, honest, values, claim)
            yield {**vector, "levels": each}


def _vector(
    name: str, protocol: str, noise: dict[str, Any], users: int, honest: int, values: int | str, claim: dict[str, str]
) -> dict[str, Any]:
    return {
        "name": name,
        "protocol": {"name": protocol, "parameters": noise},
        "users": users,
        "honest_users": honest,
        "values": values,
        "guarantee": claim,
    }


def _asked(vector: dict[str, Any]) -> dict[str, Any]:
    """Return a vector with claims and message limits on both sides of the boundary."""
    claim = vector["guarantee"]
    made_protocol = protocol_of(vector, claim)
    most = most_messages(made_protocol, delta=float(claim["delta"]))
    other = most + 5 if vector["protocol"]["name"] == HASHED else vector["values"] + 1
    limits = sorted({1, most - 1, most, other} - {0})
    # a limit that is large enough for the smallest delta, so that only the claim decides
    plenty = most_messages(made_protocol, delta=1e-20)
    claims = [claim, *_around(vector, claim["epsilon"], plenty)]
    epsilon = decimal_text(2 * float(claim["epsilon"])) if float(claim["epsilon"]) <= 25 else "50"
    gives = made_protocol.privacy.delta(float(epsilon))
    allowed = [["10", "0.01"], [claim["epsilon"], "1e-20"]]
    allowed += [[epsilon, decimal_text(gives * factor)] for factor in _FACTORS if 1e-20 <= gives * factor < 1]
    verdicts: list[dict[str, Any]] = [{"guarantee": one, "most_messages": plenty, "at_most": None} for one in claims]
    verdicts += [{"guarantee": claim, "most_messages": limit, "at_most": None} for limit in limits]
    verdicts += [{"guarantee": claim, "most_messages": plenty, "at_most": one} for one in allowed]
    return {**vector, "chance_of_more": [str(limit) for limit in limits], "verdicts": verdicts}


_FACTORS = (1 - CLOSE, 1 + CLOSE)


def _around(vector: dict[str, Any], epsilon: str, most: int) -> Iterator[dict[str, str]]:
    """Yield claims around the smallest delta that is kept, found by bisection: the curve may depend on the claim."""
    low, high = math.log(1e-20), 0.0
    while high - low > CLOSE / 10:
        middle = (low + high) / 2
        claim = {"epsilon": epsilon, "delta": decimal_text(math.exp(middle))}
        kept = judged(vector, {"guarantee": claim, "most_messages": most, "at_most": None})["refused"] is None
        low, high = (low, middle) if kept else (middle, high)
    for factor in _FACTORS:
        delta = math.exp(high) * factor
        if 1e-20 <= delta < 1:
            yield {"epsilon": epsilon, "delta": decimal_text(delta)}

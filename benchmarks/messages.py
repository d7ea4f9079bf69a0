"""Throughput of randomize, shuffle (with cryptographic randomness) and tally: million messages per second."""

import numpy as np

from benchmarks.timing import best_of, table
from shuffledp import Histogram, secure_rng, shuffle

SIZES = [
    (10**3, 10**3),
    (10**4, 10**3),
    (5 * 10**4, 10**3),
    (2 * 10**5, 10**3),
    (10**5, 10**2),
    (10**3, 10**4),
    (100, 10**5),
]


def rows():
    for users, bins in SIZES:
        protocol = Histogram(users=users, bins=bins, missing_probability=_grid(43 / max(users, 1000)))
        values = np.random.default_rng(0).integers(0, bins, users)
        messages = protocol.randomize(values)
        rounds = 3 if messages.size > 10**8 else 5
        wide, rng = messages.astype(np.int64), secure_rng()

        def end_to_end(protocol=protocol, values=values):
            protocol.tally(shuffle(protocol.randomize(values)))

        def no_shuffle(protocol=protocol, values=values):
            protocol.tally(protocol.randomize(values))

        seconds = {
            "randomize": best_of(lambda p=protocol, v=values: p.randomize(v), rounds=rounds),
            "tally": best_of(lambda p=protocol, m=messages: p.tally(m), rounds=rounds),
            "both": best_of(no_shuffle, rounds=rounds),
            "shuffle": best_of(lambda m=messages: shuffle(m), rounds=rounds),
            "end to end": best_of(end_to_end, rounds=rounds),
            "numpy's shuffle": best_of(lambda w=wide, r=rng: r.shuffle(w), rounds=1, warm_up=0),
        }
        speeds = [messages.size / s / 1e6 for s in seconds.values()]
        ratio = seconds["numpy's shuffle"] / seconds["shuffle"]
        yield f"{users:,}", f"{bins:,}", f"{messages.size / 1e6:.1f}", *(f"{v:.0f}" for v in speeds), f"{ratio:.1f}"


def _grid(probability):
    from shuffledp.noise.binomial import round_up_to_grid

    return round_up_to_grid(probability)


def main():
    table(
        "Messages, million per second (the shuffle uses all cores, the rest one)",
        ["n", "d", "million messages", "randomize", "tally", "randomize + tally", "shuffle", "end to end",
         "numpy's shuffle, same generator", "ours / numpy's"],
        rows(),
    )  # fmt: skip

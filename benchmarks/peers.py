"""Client and server speed against other libraries, which are installed in a separate environment."""

import json
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np

from benchmarks.timing import best_of, table
from shuffledp import shuffle
from shuffledp.accounting.amplification import Amplification
from shuffledp.protocols import (
    HadamardResponse,
    LocalHashing,
    PrivateCoinHistogram,
    RandomizedResponse,
    UnaryEncoding,
)

ENVIRONMENT = Path(__file__).parent.parent / ".bench-peers"
# both hash text, which xxhash 4 refuses; pure-ldp imports the last three without requiring them
PEERS = ("multi-freq-ldpy==0.2.5", "pure-ldp==1.2.0", "xxhash<4", "scikit-learn", "pandas", "statsmodels")

ROWS = (
    # what, our protocol, bins, our people, peer, peer's people
    ("local hashing", LocalHashing, 10**4, 20_000, "multi-freq-ldpy local hashing", 150),
    ("local hashing", LocalHashing, 10**4, 20_000, "pure-ldp local hashing", 150),
    ("optimised unary encoding", UnaryEncoding, 10**3, 10**5, "multi-freq-ldpy unary", 20_000),
    ("optimised unary encoding", UnaryEncoding, 10**3, 10**5, "pure-ldp unary", 20_000),
    ("Hadamard response", HadamardResponse, 10**4, 10**6, "pure-ldp Hadamard", 50_000),
    ("d-ary randomized response", RandomizedResponse, 100, 10**6, "multi-freq-ldpy d-ary", 500_000),
    ("d-ary randomized response", RandomizedResponse, 100, 10**6, "pure-ldp d-ary", 200_000),
)


def interpreter(environment=ENVIRONMENT, peers=PEERS):
    """Return the Python of the environment, which is installed at the first run."""
    python = environment / "bin" / "python"
    if not (environment / "installed").exists():
        venv.create(environment, with_pip=True, clear=True)
        quiet = ["--disable-pip-version-check", "--quiet"]
        subprocess.run([python, "-m", "pip", "install", *quiet, *peers], check=True, stderr=subprocess.DEVNULL)
        (environment / "installed").touch()
    return python


def peer_speed(python, case, people):
    program = Path(__file__).with_name("peer_programs.py")
    done = subprocess.run([python, program, case, str(people)], check=True, capture_output=True, text=True)
    return people / json.loads(done.stdout)


def our_speed(protocol, *, shuffled=False):
    values = np.random.default_rng(0).integers(0, protocol.bins, protocol.users)

    def run():
        messages = protocol.randomize(values)
        protocol.estimate(protocol.tally(shuffle(messages) if shuffled else messages))

    return protocol.users / best_of(run, rounds=3)


def local_rows(python):
    for what, kind, bins, users, case, people in ROWS:
        theirs = peer_speed(python, case, people)
        ours = our_speed(kind(users=users, bins=bins, epsilon=1.0))
        peer = case.split()[0]
        yield what, f"{bins:,}", peer, f"{theirs:,.0f}", f"{ours:,.0f}", f"{ours / theirs:,.0f}"


def coin_rows():
    """Compare with the published figure of DUMP, which is not on the package index."""
    quoted = 5
    for users, bins in ((100, 64), (10**5, 64), (10**5, 10**6)):
        common = {"users": users, "bins": bins, "epsilon": 1, "delta": 1e-6}
        choices = {"exact": PrivateCoinHistogram.calibrate(**common)}
        if users == 100:
            choices["published"] = PrivateCoinHistogram.published(**common)
        for name, protocol in choices.items():
            ours = our_speed(protocol, shuffled=True)
            ratio = f"{ours / quoted:,.0f}" if bins == 64 else "-"
            sent = protocol.messages_per_user.expected
            yield f"{users:,}", f"{bins:,}", name, f"{protocol.elements}", f"{sent:.0f}", f"{ours:,.0f}", ratio


def amplification_rows():
    """Compare with published times of the variation-ratio code, which is not on the package index."""
    for users, quoted in ((10**4, 0.6), (10**6, 2.0), (10**8, 11.0)):
        seconds = best_of(lambda n=users: Amplification(local_epsilon=4.0, users=n).epsilon(1e-6))
        yield f"10^{len(str(users)) - 1}", f"{quoted:g}", f"{seconds:.3f}", f"{quoted / seconds:,.0f}"


def main():
    print("installing the peers, at the first run only", file=sys.stderr)
    python = interpreter()
    table(
        "Local protocols, epsilon 1, all reports made and counted: people/s",
        ["protocol", "d", "peer", "peer's people/s", "shuffledp's people/s", "ratio"],
        local_rows(python),
    )
    table(
        "Private coin protocol, epsilon 1, delta 1e-6, with the shuffle (5 people/s quoted for DUMP, n = 100, d = 64)",
        ["n", "d", "parameters", "elements", "messages per person", "people/s", "ratio to the quoted figure"],
        coin_rows(),
    )
    table(
        "Amplification by shuffling, local epsilon 4, delta 1e-6: seconds (the variation-ratio code's are quoted)",
        ["n", "variation-ratio code, quoted", "shuffledp", "ratio"],
        amplification_rows(),
    )

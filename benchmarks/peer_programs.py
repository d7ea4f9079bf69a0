"""Client and server of other libraries, run by peers.py in a separate environment.

`python peer_programs.py CASE PEOPLE` prints the seconds to make and aggregate all reports and estimate every bin.
"""

import json
import sys
import time
import warnings

import numpy as np

EPSILON = 1.0


def multi_freq(module, client, aggregator, bins, *, domain_size):
    oracles = __import__(f"multi_freq_ldpy.pure_frequency_oracles.{module}", fromlist=[client, aggregator])
    make, aggregate = getattr(oracles, client), getattr(oracles, aggregator)

    def run(values):
        reports = [make(int(value), bins, EPSILON) for value in values]
        return aggregate(reports, bins, EPSILON) if domain_size else aggregate(reports, EPSILON)

    return run


def pure(module, name, bins, options, server_options):
    oracles = __import__(f"pure_ldp.frequency_oracles.{module}", fromlist=[name])

    def run(values):
        client = getattr(oracles, f"{name}Client")(epsilon=EPSILON, d=bins, **options)
        server = getattr(oracles, f"{name}Server")(epsilon=EPSILON, d=bins, **server_options)
        for value in values:
            server.aggregate(client.privatise(value + 1))
        return server.estimate_all(range(1, bins + 1), suppress_warnings=True)

    return run


CASES = {
    "multi-freq-ldpy local hashing": (
        multi_freq,
        ("LH", "LH_Client", "LH_Aggregator_MI", 10**4),
        {"domain_size": True},
    ),
    "multi-freq-ldpy unary": (multi_freq, ("UE", "UE_Client", "UE_Aggregator_MI", 1000), {"domain_size": False}),
    "multi-freq-ldpy d-ary": (multi_freq, ("GRR", "GRR_Client", "GRR_Aggregator_MI", 100), {"domain_size": True}),
    "pure-ldp local hashing": (pure, ("local_hashing", "LH", 10**4, {"use_olh": True}, {"use_olh": True}), {}),
    "pure-ldp unary": (pure, ("unary_encoding", "UE", 1000, {"use_oue": True}, {"use_oue": True}), {}),
    "pure-ldp Hadamard": (pure, ("hadamard_response", "HadamardResponse", 10**4, {"hash_funcs": None}, {}), {}),
    "pure-ldp d-ary": (pure, ("direct_encoding", "DE", 100, {}, {}), {}),
}


def main(case, people):
    warnings.simplefilter("ignore")
    maker, arguments, options = CASES[case]
    run, bins = maker(*arguments, **options), next(a for a in arguments if isinstance(a, int))
    values = np.random.default_rng(0).integers(0, bins, people)
    run(values[:2])  # warm-up: compiles their code
    times = []
    for _ in range(3):
        start = time.perf_counter()
        run(values)
        times.append(time.perf_counter() - start)
    print(json.dumps(min(times)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

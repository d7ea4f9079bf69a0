"""Faults of the shuffler."""

from mutants.fault import Fault

_PATH = "tests/histogram/test_message_path.py"
_PLACES = "tests/histogram/test_shuffled_places.py"

FAULTS = (
    Fault(
        name="shuffle-inside-groups",
        harm="A person hides only among the few who sent just before and after them.",
        file="histogram/shuffle.py",
        old="    rng.shuffle(wide)\n",
        new="    for start in range(0, wide.size, 20):\n        rng.shuffle(wide[start : start + 20])\n",
        tests=(_PLACES,),
    ),
    Fault(
        name="shuffle-leaves-the-first",
        harm="The first message stays where it is: it is the first person's.",
        file="histogram/shuffle.py",
        old="    rng.shuffle(wide)\n",
        new="    rng.shuffle(wide[1:])\n",
        tests=(_PLACES,),
    ),
    Fault(
        name="shuffle-leaves-the-last",
        harm="The last message stays where it is: it is the last person's.",
        file="histogram/shuffle.py",
        old="    rng.shuffle(wide)\n",
        new="    rng.shuffle(wide[:-1])\n",
        tests=(_PLACES,),
    ),
    Fault(
        name="shuffle-by-one-cut",
        harm="Messages keep their neighbours: whoever knows one message knows the next.",
        file="histogram/shuffle.py",
        old="    rng.shuffle(wide)\n",
        new="    wide = np.roll(wide, rng.integers(wide.size)) if wide.size else wide\n",
        tests=(_PLACES,),
    ),
    Fault(
        name="people-one-by-one-are-not-shuffled",
        harm="Messages that arrive person by person, as deployed, keep their order.",
        file="histogram/shuffle.py",
        old="        return _permuted(together, source)\n    return",
        new="        return _permuted(together, source) if isinstance(messages, np.ndarray) else together\n    return",
        tests=(_PLACES,),
    ),
    Fault(
        name="buckets-are-not-shuffled",
        harm="In a large shuffle messages of one bucket keep the order in which they were sent.",
        file="histogram/shuffle.py",
        old="shuffled[start:end] = _permuted(np.concatenate(pieces), own)",
        new="shuffled[start:end] = np.concatenate(pieces)",
        tests=(_PLACES, f"{_PATH}::test_every_order_is_equally_likely[bucketed-1200]"),
    ),
    Fault(
        name="messages-are-dealt-in-order",
        harm="In a large shuffle the first messages stay among the first.",
        file="histogram/shuffle.py",
        old="np.frombuffer(rng.bytes(2 * messages.size), dtype=np.uint16) & np.uint16(buckets - 1)",
        new="(np.arange(messages.size) * buckets // max(messages.size, 1)).astype(np.uint16)",
        tests=(_PLACES, f"{_PATH}::test_every_order_is_equally_likely[bucketed-1200]"),
    ),
    Fault(
        name="buckets-by-a-biased-remainder",
        harm="Some buckets of a large shuffle are likelier than others, so that places say something about people.",
        file="histogram/shuffle.py",
        old="& np.uint16(buckets - 1)",
        new="% np.uint16(max(buckets - 1, 1))",
        equivalent="the order of independent keys is uniform whichever law their leading digits have",
    ),
    Fault(
        name="every-chunk-is-dealt-alike",
        harm="Messages at the same place of different parts of a large shuffle end up in the same bucket.",
        file="histogram/shuffle.py",
        old="deals = [child(rng) for _ in chunks]",
        new="deals = [np.random.default_rng(1) for _ in chunks]",
        tests=(_PLACES,),
    ),
    Fault(
        name="a-batch-is-not-shuffled-before-it-is-counted",
        harm="Messages of a batch are counted in the order in which they were made.",
        file="data/duckdb.py",
        old="return protocol.tally(shuffle(protocol.randomize(bins)))",
        new="return protocol.tally(protocol.randomize(bins))",
        equivalent="only the sum of the tallies leaves the engine, and a tally does not depend on any order",
    ),
)

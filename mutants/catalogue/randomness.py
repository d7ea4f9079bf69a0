"""Generators, keys and the shuffle."""

from mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        name="short-generator-key",
        harm="The key of a release's noise has 40 bits, so an attacker can try all of them.",
        target="shuffledp.randomness:secure_rng",
        pattern="secrets.randbits(128)",
        replacement="secrets.randbits(40)",
        tests=("tests/test_keys.py::test_every_bit_of_a_key_varies",),
    ),
    Mutant(
        name="not-cryptographic",
        harm="An attacker who sees some noise computes the generator's state and all other noise.",
        target="shuffledp.randomness:secure_rng",
        pattern="np.random.Generator(AESCounter(key=secrets.randbits(128)))",
        replacement="np.random.default_rng(secrets.randbits(128))",
        tests=("tests/test_randomness.py::test_every_call_has_its_own_key",),
    ),
    Mutant(
        name="one-stream-per-process",
        harm="A forked process repeats its parent's noise, which cancels in the difference of two releases.",
        target="shuffledp.randomness:generator",
        pattern="secure_rng()",
        replacement="globals().setdefault('_shared', secure_rng())",
        tests=("tests/test_keys.py::test_no_two_calls_share_a_stream",),
    ),
    Mutant(
        name="integer-accepted-as-rng",
        harm="A whole number passed as rng seeds a release with guessable noise.",
        target="shuffledp.randomness:generator",
        pattern="if rng is None:\n    return secure_rng()",
        replacement=(
            "if rng is None:\n    return secure_rng()\nif isinstance(rng, int):\n    return np.random.default_rng(rng)"
        ),
        tests=("tests/test_randomness.py::test_a_seed_is_not_a_generator",),
    ),
    Mutant(
        name="spark-keys-without-secret",
        harm="Keys of a distributed run follow from public task numbers.",
        target="shuffledp.randomness:keyed",
        pattern="hashlib.blake2b(name, key=secret, digest_size=16)",
        replacement="hashlib.blake2b(name, digest_size=16)",
        tests=("tests/test_keys.py::test_keys_of_tasks_follow_from_the_secret",),
    ),
    Mutant(
        name="messages-from-fixed-seed",
        harm="Everybody's messages have the same, publicly known noise.",
        target="shuffledp.protocols.shuffled_histogram:ShuffledHistogram.randomize",
        pattern="generator(rng)",
        replacement="np.random.default_rng(7)",
        tests=("tests/test_randomness.py::test_a_forked_child_does_not_repeat_its_parent",),
    ),
    Mutant(
        name="sampled-tally-from-fixed-seed",
        harm="Every release of local data has the same, publicly known noise.",
        target="shuffledp.protocols.base:BaseHistogram.sample_tally",
        pattern="generator(rng)",
        replacement="np.random.default_rng(7)",
        tests=("tests/protocols/test_contract.py::test_unseeded_draws_differ[hist]",),
    ),
    Mutant(
        name="shuffle-from-fixed-seed",
        harm="The permutation is known, so messages can be traced back to people.",
        target="shuffledp.histogram.shuffle:shuffle",
        pattern="generator(rng)",
        replacement="np.random.default_rng(7)",
        tests=("tests/test_unseeded.py::test_two_shuffles_differ",),
    ),
    Mutant(
        name="shuffle-inside-groups",
        harm="A person hides only among the people whose messages arrive next to theirs.",
        target="shuffledp.histogram.shuffle:_permuted",
        pattern="rng.shuffle(wide)",
        replacement="for start in range(0, wide.size, 20):\n    rng.shuffle(wide[start:start + 20])",
        tests=("tests/histogram/test_shuffled_places.py::test_every_message_is_everywhere_and_beside_every_other",),
    ),
    Mutant(
        name="lists-are-not-shuffled",
        harm="Messages that arrive person by person keep their order.",
        target="shuffledp.histogram.shuffle:shuffle",
        pattern="_permuted(together, source)",
        replacement="_permuted(together, source) if isinstance(messages, np.ndarray) else together",
        tests=("tests/histogram/test_shuffled_places.py::test_every_message_is_everywhere_and_beside_every_other",),
    ),
    Mutant(
        name="buckets-are-not-shuffled",
        harm="In a large shuffle the messages of a bucket keep their order.",
        target="shuffledp.histogram.shuffle:_permuted_in_buckets",
        pattern="_permuted(np.concatenate(pieces), own)",
        replacement="np.concatenate(pieces)",
        tests=("tests/histogram/test_shuffled_places.py::test_every_message_is_everywhere_and_beside_every_other",),
    ),
)

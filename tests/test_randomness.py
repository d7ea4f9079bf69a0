"""The default generator is AES-128 in counter mode under a fresh key, and nothing else is touched."""

import os
import pickle
from functools import partial

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from randomgen import AESCounter

from shuffledp import BinarySum, Histogram, ParameterError, randomness, run, secure_rng, shuffle
from shuffledp.randomness import generator, random_words


def test_the_stream_is_aes_in_counter_mode():
    key = bytes(range(16))
    ours = AESCounter(key=int.from_bytes(key, "little")).random_raw(64).tobytes()
    encrypt = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    counters = [encrypt.update(i.to_bytes(16, "little")) for i in range(70)]
    blocks = [ours[i : i + 16] for i in range(0, len(ours), 16)]
    start = counters.index(blocks[0])
    assert start < 6
    assert blocks == counters[start : start + len(blocks)]


def test_every_call_has_its_own_key():
    assert isinstance(secure_rng().bit_generator, AESCounter)
    assert len({secure_rng().bytes(16) for _ in range(100)}) == 100


def test_the_whole_key_is_used_and_comes_from_the_operating_system(monkeypatch):
    """128 bits are requested, and each of the 16 bytes changes the stream."""
    asked, keys = [], [0]

    def bits(number):
        asked.append(number)
        return keys[-1]

    monkeypatch.setattr(randomness.secrets, "randbits", bits)
    streams = {secure_rng().bytes(32)}
    for byte in range(16):
        keys.append(1 << (8 * byte + 7))
        streams.add(secure_rng().bytes(32))
    assert len(streams) == 17
    assert set(asked) == {128}
    # and the key is what AES is keyed with
    keys.append(int.from_bytes(bytes(range(16)), "little"))
    assert secure_rng().bytes(64) == np.random.Generator(AESCounter(key=keys[-1])).bytes(64)


def test_every_byte_of_a_key_is_random():
    """Over 2,000 keys, each byte takes nearly every value; fails by chance with probability far below 1e-9."""
    drawn = [secrets_of_a_call() for _ in range(2000)]
    assert len(set(drawn)) == 2000
    columns = np.array([list(key.to_bytes(16, "little")) for key in drawn])
    assert all(len(set(column)) > 230 for column in columns.T)


def secrets_of_a_call():
    """Return the key of one new generator."""
    key = secure_rng().bit_generator.state["s"]["seed"]
    return int.from_bytes(np.asarray(key).tobytes()[:16], "little")


def test_parts_of_the_work_and_tasks_have_whole_keys(monkeypatch):
    """Keys are 16 bytes of the given generator, or of a digest; each byte matters."""

    class Bytes:
        def __init__(self, key):
            self.key = key

        def bytes(self, size):
            assert size == 16
            return self.key

    keys = [bytes(16), *(bytes(128 * (at == byte) for at in range(16)) for byte in range(16))]
    assert len({randomness.child(Bytes(key)).bytes(32) for key in keys}) == 17
    digests = iter(keys)

    class Digest:
        def digest(self):
            return next(digests)

    def blake2b(name, *, key, digest_size):
        assert digest_size == 16
        return Digest()

    monkeypatch.setattr(randomness.hashlib, "blake2b", blake2b)
    assert len({randomness.keyed(b"secret", task).bytes(32) for task in range(17)}) == 17


def test_a_forked_child_does_not_repeat_its_parent():
    protocol = Histogram(users=1, bins=200, missing_probability=0.5)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, pickle.dumps(protocol.randomize(0).tolist()))
        os._exit(0)
    os.waitpid(child, 0)
    assert pickle.loads(os.read(read, 65536)) != protocol.randomize(0).tolist()


def test_runs_differ_without_a_generator_and_agree_with_a_seed():
    protocol = BinarySum(users=4000, missing_probability=0.5)
    bits = np.ones(4000, dtype=int)
    assert len({run(protocol, bits)[1] for _ in range(20)}) > 1
    first, second = (run(protocol, bits, rng=np.random.default_rng(5))[1] for _ in range(2))
    assert first == second


def test_global_random_state_is_untouched():
    before = np.random.get_state()[1].tolist()
    protocol = Histogram(users=3, bins=4, missing_probability=0.25)
    shuffle(protocol.randomize([0, 1, 2]))
    protocol.sample_tally([1, 1, 1, 0])
    assert np.random.get_state()[1].tolist() == before


@pytest.mark.parametrize("rng", [42, "seed", np.random, np.random.RandomState(0)])
def test_a_seed_is_not_a_generator(rng):
    with pytest.raises(ParameterError, match=r"numpy\.random\.Generator"):
        generator(rng)


@pytest.mark.parametrize(
    "source",
    [lambda: AESCounter(key=5), *(partial(kind, 5) for kind in (np.random.PCG64, np.random.Philox, np.random.MT19937))],
)
def test_words_equal_those_of_numpy(source):
    """Also for a generator with 32-bit output, and after draws of other kinds."""
    ours, theirs = (np.random.Generator(source()) for _ in range(2))
    for size in (0, 1, 3, 200):
        words = random_words(size, ours)
        assert words.dtype == np.uint64
        assert words.tolist() == theirs.integers(0, 2**64, size=size, dtype=np.uint64).tolist()
        assert ours.integers(0, 7, dtype=np.uint32) == theirs.integers(0, 7, dtype=np.uint32)

import hashlib

import pytest

from shuffledp.collect.server.auth import (
    TOKEN_BYTES,
    Accepted,
    bearer,
    hash_of,
    new_token,
    parse_hashes,
    read_hash,
    read_hashes,
    sorted_hashes,
)
from shuffledp.errors import DataError, ParameterError


def test_tokens_are_long_random_and_fit_a_header():
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token) == -(-TOKEN_BYTES * 4 // 3) and token.isascii() and " " not in token for token in tokens)


def test_the_hash_is_sha256_of_the_text():
    assert hash_of("a token") == hashlib.sha256(b"a token").digest()
    assert read_hash(hash_of("a token").hex(), name="next") == hash_of("a token")


@pytest.mark.parametrize("text", ["", "0" * 63, "0" * 65, "g" * 64, " " + "0" * 63, "\u0660" * 64])
def test_an_invalid_hash_is_refused_and_not_shown(text):
    with pytest.raises(ParameterError, match="next must be the hash of a token") as error:
        read_hash(text, name="next")
    assert not text or text not in str(error.value)


def test_hashes_are_written_sorted_and_read_again(tmp_path):
    tokens = [new_token() for _ in range(20)]
    (tmp_path / "hashes").write_text(sorted_hashes(tokens))
    assert read_hashes(tmp_path / "hashes", name="hashes") == sorted(map(hash_of, tokens))


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        (b" \n", DataError, "at least one hash, got none"),
        (b"\xff", DataError, "not text"),
        (b"0", ParameterError, "each line of .* must be the hash"),
        (None, DataError, "cannot be read: No such file"),
    ],
)
def test_files_without_hashes_are_refused(tmp_path, content, error, words):
    if content is not None:
        (tmp_path / "hashes").write_bytes(content)
    with pytest.raises(error, match=words):
        read_hashes(tmp_path / "hashes", name="hashes")


def test_no_hashes_in_a_text_are_refused():
    assert parse_hashes("0" * 64, name="the body") == [bytes(32)]
    with pytest.raises(DataError, match="the body must have at least one hash"):
        parse_hashes("", name="the body")


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (None, None),
        ("", None),
        ("Bearer", None),
        ("Bearer ", None),
        ("Basic abc", None),
        ("Bearer abc", "abc"),
        ("bearer abc", "abc"),
        ("BEARER  abc ", "abc"),
    ],
)
def test_the_bearer_token_of_a_header(header, token):
    assert bearer(header) == token


def test_only_tokens_whose_hash_is_known_are_accepted():
    accepted = Accepted.of([hash_of("one").hex(), hash_of("two").hex()], name="next")
    assert "one" in accepted
    assert "two" in accepted
    assert "three" not in accepted
    assert hash_of("one").hex() not in accepted
    assert "" not in accepted
    assert None not in accepted
    assert None not in Accepted((hash_of(""),))
    assert "one" not in Accepted(())


@pytest.mark.parametrize("at", range(32))
def test_every_byte_of_the_hash_is_compared(at):
    almost = bytearray(hash_of("one"))
    almost[at] ^= 1
    assert "one" not in Accepted((bytes(almost),))
    assert "one" in Accepted((bytes(almost), hash_of("one")))

"""HPKE, key pairs, and files with secrets that only their owner may read.

Encryption to a public key is HPKE (RFC 9180): base mode, X25519, HKDF-SHA256, AES-128-GCM. A sealed text is the
sender's fresh public key (32 bytes), then the ciphertext with its tag (16 more bytes than the text). `info` binds it to
one task and one server: a report cannot be opened in another task or by another server.

A key belongs to one task: the next task has other keys, and the private keys of a closed task are destroyed.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from shuffledp.atomic_file import sync_folder
from shuffledp.errors import DataError, ParameterError

T = TypeVar("T")

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
_VERSION = b"shuffledp collection 1"
KEY_BYTES = 32
_FIELD = 2**255 - 19
"""The modulus of the curve's coordinates; larger numbers would be second spellings of the same keys."""

_ANY_KEY = X25519PrivateKey.from_private_bytes(bytes(KEY_BYTES))
"""Clamped private keys are multiples of 8, so any of them detects the points of low order."""


@lru_cache(maxsize=1024)  # the same for all reports of a task
def info(task_id: bytes, position: int) -> bytes:
    """Return the context of a layer: the version, the task, and the position of the server that opens it.

    Shufflers have the positions 0, 1, ... in their order, and the analyzer the next one.
    """
    return _VERSION + task_id + bytes([position])


def seal(text: bytes, public: X25519PublicKey, context: bytes) -> bytes:
    """Encrypt a text to a public key."""
    return _SUITE.encrypt(text, public, context)


def unseal(sealed: bytes, private: X25519PrivateKey, context: bytes) -> bytes | None:
    """Decrypt a text; None if it was sealed to another key or context, or was changed."""
    try:
        return _SUITE.decrypt(sealed, private, context)
    except (InvalidTag, ValueError):
        return None


@lru_cache(maxsize=64)  # reports are sealed to few keys, hundreds of times
def public_key(content: bytes) -> X25519PublicKey:
    """Return the public key of 32 bytes."""
    return X25519PublicKey.from_public_bytes(content)


def is_public_key(content: bytes) -> bool:
    """Whether these are 32 bytes of a public key in its one spelling, and not of low order."""
    if len(content) != KEY_BYTES or int.from_bytes(content, "little") >= _FIELD:
        return False
    try:
        _ANY_KEY.exchange(public_key(content))
    except ValueError:  # low order: all private keys would share the same secret with it
        return False
    return True


_KIND = "shuffledp private key 1"


class KeyPair:
    """A private key and its public key, which a task names; `file` is where the private key was read."""

    def __init__(self, private: X25519PrivateKey, *, file: Path | None = None) -> None:
        self._private: X25519PrivateKey | None = private
        self.public_bytes = private.public_key().public_bytes_raw()
        self.file = file

    @classmethod
    def generate(cls) -> KeyPair:
        """Generate a pair from the operating system's randomness."""
        return cls(X25519PrivateKey.generate())

    @classmethod
    def from_private_bytes(cls, content: bytes) -> KeyPair:
        """Return the pair of a private key of 32 bytes."""
        return cls(X25519PrivateKey.from_private_bytes(content))

    @property
    def private(self) -> X25519PrivateKey:
        """The private key, to be kept secret."""
        if self._private is None:
            raise DataError("the private key was destroyed: nothing can be opened with it any more")
        return self._private

    @property
    def destroyed(self) -> bool:
        """Whether the private key was dropped."""
        return self._private is None

    def destroy(self) -> None:
        """Drop the private key from memory, everywhere that uses this pair."""
        self._private = None

    @property
    def private_bytes(self) -> bytes:
        """The private key, to be kept secret."""
        return self.private.private_bytes_raw()

    @property
    def public(self) -> str:
        """The public key as hexadecimal text, as in a task."""
        return self.public_bytes.hex()

    def __repr__(self) -> str:
        return f"<KeyPair with the public key {self.public}>"


def write_key(pair: KeyPair, path: str | Path) -> Path:
    """Write a key to a new file that only its owner may read."""
    return write_secret(path, json.dumps({"kind": _KIND, "private": pair.private_bytes.hex(), "public": pair.public}))


def read_key(path: str | Path) -> KeyPair:
    """Read a key from a file of `write_key`; refuse a file that other users may read."""
    return _read_private(path, _key_of)


def _key_of(path: Path, content: str) -> KeyPair:
    try:
        found = json.loads(content)
        if found["kind"] != _KIND:
            raise ValueError
        pair = KeyPair(X25519PrivateKey.from_private_bytes(bytes.fromhex(found["private"])), file=path.absolute())
        if pair.public != found["public"]:
            raise ValueError
    except (ValueError, KeyError, TypeError):
        why = "" if content.strip() else ": it is empty"
        raise DataError(f"{path} is no private key of shuffledp{why}") from None
    return pair


def write_secret(path: str | Path, text: str) -> Path:
    """Write a secret to a new file, durably, for its owner only."""
    target = Path(path)
    refuse_existing_secret(target)
    try:
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:  # created in between
        raise _existing(target) from None
    except OSError as error:
        raise DataError(f"{target} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        sync_folder(target.parent)
    except OSError as error:  # do not leave an incomplete secret
        target.unlink(missing_ok=True)
        raise DataError(f"{target} cannot be written: {error.strerror}") from None
    return target


def refuse_existing_secret(path: Path) -> None:
    """Refuse a path that exists, even as a broken link: it may be the only copy of a secret."""
    if os.path.lexists(path):
        raise _existing(path)


def _existing(path: Path) -> ParameterError:
    return ParameterError(f"{path} exists, and a secret is never overwritten: choose another name")


def read_word(path: str | Path) -> str:
    """Read the one token or secret in a file that only its owner may read."""
    return _read_private(path, _word_of)


def _word_of(path: Path, content: str) -> str:
    text = content.strip()
    if not text or "\n" in text:
        found = "it has more than one line" if text else "it is empty"
        raise DataError(f"{path} holds no token or secret: {found}")
    return text


def read_secret(path: str | Path) -> str:
    """Read a file with secrets; refuse a file that other users may read."""
    return _read_private(path, lambda _, content: content)


def _read_private(path: str | Path, read: Callable[[Path, str], T]) -> T:
    """Parse a file before its mode is checked: a file without a secret needs no protection."""
    source = Path(path)
    try:
        with source.open() as file:
            others = os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO)
            found = read(source, file.read())
        if os.name == "posix" and others:
            raise DataError(f"other users may read {source}, which holds a secret: run chmod 600 {source}")
        return found
    except OSError as error:
        raise DataError(f"{source} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{source} is not a file with a secret of shuffledp") from None


def destroy_secret(path: Path) -> None:
    """Overwrite a file with random bytes, durably, and delete it.

    This does not reach copies in a file system, a drive or a backup.
    """
    try:
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            file.write(secrets.token_bytes(size))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()
        sync_folder(path.parent)
    except OSError as error:
        raise DataError(f"{path} could not be destroyed: {error.strerror}") from None

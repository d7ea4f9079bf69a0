"""Key pairs and their files: only their owner may read them, and that is checked.

A key belongs to a task: the next task names another, and once the task is over its private keys are destroyed.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from shuffledp.errors import DataError, ParameterError
from shuffledp.report.whole_file import sync_folder

_KIND = "shuffledp private key 1"


@dataclass(frozen=True)
class KeyPair:
    """A private key, and the public one that a task names."""

    private: X25519PrivateKey

    @classmethod
    def generate(cls) -> KeyPair:
        """A new pair, from the operating system's randomness."""
        return cls(X25519PrivateKey.generate())

    @classmethod
    def from_private_bytes(cls, content: bytes) -> KeyPair:
        """The pair of a private key of 32 bytes."""
        return cls(X25519PrivateKey.from_private_bytes(content))

    @property
    def private_bytes(self) -> bytes:
        """The private key, to be kept secret."""
        return self.private.private_bytes_raw()

    @property
    def public_bytes(self) -> bytes:
        """The public key."""
        return self.private.public_key().public_bytes_raw()

    @property
    def public(self) -> str:
        """The public key as a task has it."""
        return self.public_bytes.hex()

    def __repr__(self) -> str:
        return f"<KeyPair with the public key {self.public}>"


def write_key(pair: KeyPair, path: str | Path) -> Path:
    """Writes a new file that only its owner may read; one that exists is left alone."""
    return write_secret(path, json.dumps({"kind": _KIND, "private": pair.private_bytes.hex(), "public": pair.public}))


def read_key(path: str | Path) -> KeyPair:
    """The pair in a file of `write_key`; refused if anybody but its owner may read it."""
    content = read_secret(path)
    try:
        found = json.loads(content)
        if found["kind"] != _KIND:
            raise ValueError
        pair = KeyPair.from_private_bytes(bytes.fromhex(found["private"]))
        if pair.public != found["public"]:
            raise ValueError
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path} is no private key of shuffledp: make one with  shuffledp keys new") from None
    return pair


def write_secret(path: str | Path, text: str) -> Path:
    """Writes a new file with a secret, durably, for its owner only."""
    target = Path(path)
    try:
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ParameterError(f"{target} exists, and a secret is never overwritten: choose another name") from None
    except OSError as error:
        raise DataError(f"{target} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        sync_folder(target.parent)
    except OSError as error:  # a half of a secret is none
        target.unlink(missing_ok=True)
        raise DataError(f"{target} cannot be written: {error.strerror}") from None
    return target


def read_word(path: str | Path) -> str:
    """The one token or secret in a file that only its owner may read."""
    text = read_secret(path).strip()
    if not text:
        raise DataError(f"{path} holds no token or secret: it is empty")
    return text


def read_secret(path: str | Path) -> str:
    """The content of a file with a secret, which nobody but its owner may read."""
    source = Path(path)
    try:
        with source.open() as file:
            others = os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO)
            if os.name == "posix" and others:
                raise DataError(f"others may read {source}, which holds a secret: forbid it with  chmod 600 {source}")
            return file.read()
    except OSError as error:
        raise DataError(f"{source} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{source} is not a file with a secret of shuffledp") from None

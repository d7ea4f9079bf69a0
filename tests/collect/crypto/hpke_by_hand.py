"""HPKE in base mode, implemented from the steps of RFC 9180."""

import hashlib
import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_KEM = b"KEM" + (0x0020).to_bytes(2)
_SUITE = b"HPKE" + (0x0020).to_bytes(2) + (0x0001).to_bytes(2) + (0x0001).to_bytes(2)


def _extract(suite, salt, label, material):
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + material, hashlib.sha256)


def _expand(suite, secret, label, context, length):
    """HKDF-Expand with one block, which is long enough here."""
    return hmac.digest(secret, length.to_bytes(2) + b"HPKE-v1" + suite + label + context + b"\x01", hashlib.sha256)[
        :length
    ]


def _key_and_nonce(shared, enc, public, info):
    prk = _extract(_KEM, b"", b"eae_prk", shared)
    secret = _expand(_KEM, prk, b"shared_secret", enc + public, 32)
    context = b"\0" + _extract(_SUITE, b"", b"psk_id_hash", b"") + _extract(_SUITE, b"", b"info_hash", info)
    prk = _extract(_SUITE, secret, b"secret", b"")
    return _expand(_SUITE, prk, b"key", context, 16), _expand(_SUITE, prk, b"base_nonce", context, 12)


def opened_by_hand(content, private_bytes, info, *, aad=b""):
    """Decrypt a text; None for another key or context."""
    private, enc = X25519PrivateKey.from_private_bytes(private_bytes), content[:32]
    try:
        shared = private.exchange(X25519PublicKey.from_public_bytes(enc))
        key, nonce = _key_and_nonce(shared, enc, private.public_key().public_bytes_raw(), info)
        return AESGCM(key).decrypt(nonce, content[32:], aad)
    except (InvalidTag, ValueError):
        return None


def sealed_by_hand(text, public_bytes, info, *, ephemeral):
    """Encrypt a text with a given ephemeral key: deterministic, for test vectors only."""
    private = X25519PrivateKey.from_private_bytes(ephemeral)
    enc = private.public_key().public_bytes_raw()
    shared = private.exchange(X25519PublicKey.from_public_bytes(public_bytes))
    key, nonce = _key_and_nonce(shared, enc, public_bytes, info)
    return enc + AESGCM(key).encrypt(nonce, text, b"")

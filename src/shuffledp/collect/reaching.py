"""Which certificates are trusted, and why a server cannot be reached, as servers, clients and operators are told."""

from __future__ import annotations

import socket
import ssl
from enum import StrEnum
from functools import cache
from urllib.parse import urlsplit

import httpx

from shuffledp.errors import DataError, ParameterError
from shuffledp.formatting import shown_address


@cache
def certificates() -> ssl.SSLContext:
    """Return the TLS settings: the usual authorities, or those of SSL_CERT_FILE; loaded once."""
    try:
        return httpx.create_ssl_context()
    except OSError as error:  # OpenSSL reads a folder (SSL_CERT_DIR) later
        reason = "it has no valid certificate" if isinstance(error, ssl.SSLError) else error.strerror
        raise ParameterError(f"SSL_CERT_FILE must be a readable file of certificates in PEM format: {reason}") from None


def check_server_address(address: str, name: str) -> None:
    """Refuse text that is no address of a server, and one with a user name: httpx would send it instead of a token."""
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # such as a port that is not a number
        usable = False
    if not usable or "@" in address:
        without = " without a user name and a password" if "@" in address else ""
        raise ParameterError(
            f"{name} must be an address such as https://host:port{without}, got {shown_address(address)}"
        )


class Cause(StrEnum):
    """Why a server cannot be reached or used, for logs and metrics."""

    REFUSED_CONNECTION = "refused-connection"
    UNKNOWN_HOST = "unknown-host"
    UNTRUSTED_CERTIFICATE = "untrusted-certificate"
    WRONG_HOST_NAME = "wrong-host-name"
    NO_TLS = "no-tls"
    TIMEOUT = "timeout"
    BROKEN_CONNECTION = "broken-connection"
    WRONG_TOKEN = "wrong-token"
    UNKNOWN_TASK = "unknown-task"
    BAD_STATUS = "bad-status"
    NOT_SHUFFLEDP = "not-shuffledp"
    INVALID_BATCH = "invalid-batch"


REACHING = {
    Cause.REFUSED_CONNECTION: "it refuses connections: is it running, and are its address and port right",
    Cause.UNKNOWN_HOST: "its host name is unknown: is the address right, and does the name server answer",
    Cause.UNTRUSTED_CERTIFICATE: (
        "its certificate is not trusted here: is it valid today, and does SSL_CERT_FILE name its authority"
    ),
    Cause.WRONG_HOST_NAME: "its certificate is for another host name: is the address right",
    Cause.NO_TLS: "it does not speak TLS: should the address begin with http://, or is the port wrong",
    Cause.TIMEOUT: "it did not answer in time: is a firewall in between, or is it overloaded",
    Cause.BROKEN_CONNECTION: "the connection broke: does it restart, or does a proxy end connections",
}
"""What was seen, and what to check."""

_CERTIFICATE_NAME = (62, 64)
"""OpenSSL's codes for a certificate of another host name, and of another IP address."""


def cause_of(error: httpx.HTTPError) -> Cause:
    """Why a request failed, from the error of the network below it."""
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, ssl.SSLCertVerificationError):
            named = below.verify_code in _CERTIFICATE_NAME
            return Cause.WRONG_HOST_NAME if named else Cause.UNTRUSTED_CERTIFICATE
        if isinstance(below, ssl.SSLError):
            return Cause.NO_TLS if isinstance(error, httpx.ConnectError) else Cause.BROKEN_CONNECTION
        if isinstance(below, socket.gaierror):
            return Cause.UNKNOWN_HOST
        if isinstance(below, ConnectionRefusedError):
            return Cause.REFUSED_CONNECTION
        below = below.__cause__ or below.__context__
    if isinstance(error, httpx.TimeoutException):
        return Cause.TIMEOUT
    if isinstance(error, httpx.RemoteProtocolError) and "disconnected" not in str(error):
        return Cause.NOT_SHUFFLEDP
    return Cause.BROKEN_CONNECTION


def why_unreachable(error: httpx.HTTPError) -> str:
    """Say why a request failed, and what to check, as a question; without an address."""
    cause = cause_of(error)
    text = REACHING.get(cause, "it does not answer as a server of shuffledp does: is the address right")
    may_need_tls = cause is Cause.BROKEN_CONNECTION and error.request.url.scheme == "http"
    return f"{text}{', or should the address begin with https://' if may_need_tls else ''}?"


class UpstreamError(DataError):
    """The previous server cannot be reached, refuses, or sends something invalid.

    The message is public: it contains nothing of what was sent, and no address, which may be internal to a network.
    """

    def __init__(self, message: str, *, reason: Cause = Cause.INVALID_BATCH, try_again: bool = False) -> None:
        super().__init__(message)
        self.reason, self.try_again = reason, try_again

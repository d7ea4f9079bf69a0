"""TLS to other servers, for clients and for servers that pull batches."""

from __future__ import annotations

import ssl
from functools import cache

import httpx


@cache
def certificates() -> ssl.SSLContext:
    """Return the TLS settings: the usual authorities, or those of SSL_CERT_FILE, read once."""
    return httpx.create_ssl_context()

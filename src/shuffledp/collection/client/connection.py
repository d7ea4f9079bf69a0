"""One connection of a simulated person to a server, kept open for the next one.

A crowd loads servers on the same machine, and should leave the machine to them: over httpx a request takes some
milliseconds of a core where many connections are open, over this a tenth of one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import httptools

from shuffledp.collection.client.sending import certificates
from shuffledp.errors import UnreachableError

_AT_ONCE = 1 << 16
_MOST_BYTES = 1 << 20
"""Of an answer: a problem document has a few hundred."""


class Answer(NamedTuple):
    """What a server says."""

    status: int
    content: bytes


class Connection:
    """Posts to one server, one after another; opened when it is needed, and anew after a failure."""

    def __init__(self, address: str, *, timeout: float) -> None:
        parts = urlsplit(address)
        self._address, self._netloc, self._path = address, parts.netloc, parts.path.rstrip("/")
        self._host, self._port = parts.hostname, parts.port or {"http": 80, "https": 443}[parts.scheme]
        self._tls = certificates() if parts.scheme == "https" else None
        self._timeout = timeout
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, content: bytes, headers: Mapping[str, str]) -> Answer:
        """The answer to a request; UnreachableError if there is none in time, or no whole one."""
        lines = [f"POST {self._path}{path} HTTP/1.1", f"Host: {self._netloc}", f"Content-Length: {len(content)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join([*lines, "", ""]).encode("ascii")
        try:
            async with asyncio.timeout(self._timeout):
                return await self._exchange(head + content)
        except (OSError, EOFError, httptools.HttpParserError):  # a TimeoutError is an OSError
            self.close()
            raise UnreachableError(
                f"{self._address} cannot be reached, or broke off: nothing is lost, send it again later"
            ) from None
        except BaseException:  # stopped before the answer was read, which is then not that of the next request
            self.close()
            raise

    async def _exchange(self, request: bytes) -> Answer:
        if self._open is None:
            self._open = await asyncio.open_connection(self._host, self._port, ssl=self._tls)
        reader, writer = self._open
        writer.write(request)
        await writer.drain()
        read = _Read()
        parser = httptools.HttpResponseParser(read)
        while not read.whole:
            part = await reader.read(_AT_ONCE)
            if not part or len(read.content) > _MOST_BYTES:
                raise EOFError
            parser.feed_data(part)
        if not parser.should_keep_alive():
            self.close()
        return Answer(parser.get_status_code(), bytes(read.content))

    def close(self) -> None:
        """Ends the connection; the next request opens another."""
        if self._open is not None:
            self._open[1].close()
            self._open = None


class _Read:
    """What the parser has found so far."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.whole = False

    def on_body(self, part: bytes) -> None:
        self.content += part

    def on_message_complete(self) -> None:
        self.whole = True

"""A load generator that sends prepared requests over many open connections.

The file holds complete requests, each after its length in four bytes. Prints the number of responses by status, and the
seconds. Usage: python -m benchmarks.load FILE PORT
"""

import asyncio
import json
import sys
import time
from pathlib import Path

import uvloop

CONNECTIONS = 64


class Sender(asyncio.Protocol):
    """One connection, which sends the next request after each response."""

    def __init__(self, requests, counts, done):
        self._requests, self._counts, self._done = requests, counts, done
        self._read = b""

    def connection_made(self, transport):
        self._transport = transport
        self._next()

    def data_received(self, data):
        self._read += data
        head, found, rest = self._read.partition(b"\r\n\r\n")
        if not found:
            return
        length = next(
            (int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")), 0
        )
        if len(rest) < length:
            return
        self._read = rest[length:]
        status = head.split(b" ", 2)[1].decode()
        self._counts[status] = self._counts.get(status, 0) + 1
        self._next()

    def _next(self):
        request = next(self._requests, None)
        if request is None:
            self._transport.close()
        else:
            self._transport.write(request)

    def connection_lost(self, error):
        self._done.set_result(error)


async def send_all(requests, port):
    """Return the number of responses by status, and the seconds for all."""
    loop, counts, waiting = asyncio.get_running_loop(), {}, iter(requests)
    dones = [loop.create_future() for _ in range(CONNECTIONS)]
    started = time.perf_counter()
    for done in dones:
        await loop.create_connection(lambda done=done: Sender(waiting, counts, done), "127.0.0.1", port)
    await asyncio.gather(*dones)
    return counts, time.perf_counter() - started


def write_requests(path, address, bodies):
    """Write the file of requests."""
    with Path(path).open("wb") as file:
        for body in bodies:
            head = f"POST {address} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            file.write(len(head + body).to_bytes(4) + head + body)


def read_requests(path):
    content, at, found = Path(path).read_bytes(), 0, []
    while at < len(content):
        length = int.from_bytes(content[at : at + 4])
        found.append(content[at + 4 : at + 4 + length])
        at += 4 + length
    return found


if __name__ == "__main__":
    counts, seconds = uvloop.run(send_all(read_requests(sys.argv[1]), int(sys.argv[2])))
    print(json.dumps({"counts": counts, "seconds": seconds}))

"""An unreliable network, and clients that retry: slow or cut connections, repeated requests."""

import asyncio
import contextlib
import http.client
import queue
import random
import socket
import threading
import time
from collections import Counter

KINDS = ("whole", "whole", "whole", "slow", "cut request", "cut answer")


class Proxy:
    """A proxy to some ports of this machine that delays some connections and cuts others."""

    def __init__(self, *targets, seed):
        self._targets, self._random = targets, random.Random(seed)
        self.events = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        starting = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._passed_on, "127.0.0.1", 0), self._loop)
        self._server = starting.result(10)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_):
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end(self):
        self._server.close()
        rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _passed_on(self, reader, writer):
        kind = self._random.choice(KINDS)
        self.events[kind] += 1
        onward = None
        try:
            inside, onward = await asyncio.open_connection("127.0.0.1", self._random.choice(self._targets))
            most_up = self._random.randrange(1, 400) if kind == "cut request" else None
            most_down = self._random.randrange(0, 40) if kind == "cut answer" else None
            ways = (
                asyncio.ensure_future(self._pump(reader, onward, most_up, slow=kind == "slow")),
                asyncio.ensure_future(self._pump(inside, writer, most_down, slow=kind == "slow")),
            )
            done, rest = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in (*done, *rest):
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        except OSError:
            pass
        finally:
            for end in (writer, onward):
                if end is not None:
                    end.transport.abort() if kind.startswith("cut") else end.close()

    async def _pump(self, reader, writer, most, *, slow):
        while most is None or most > 0:
            part = await reader.read(65_536)
            if not part:
                return
            if most is not None:
                part, most = part[:most], most - len(part)
            for at in range(0, len(part), 200 if slow else len(part)):
                writer.write(part[at : at + 200] if slow else part)
                with contextlib.suppress(ConnectionError):
                    await writer.drain()
                if slow:
                    await asyncio.sleep(0.002)


def attempt(port, name, sealed, *, token=None, timeout=5.0):
    """Send one request; return the status, or None without a complete response."""
    headers = {"Content-Type": "application/octet-stream"} | ({"Authorization": f"Bearer {token}"} if token else {})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    return status_over(connection, "POST", f"/v1/tasks/{name}/reports", body=sealed, headers=headers)


def status_over(connection, method, path, **request):
    """Send one request on a new connection; return the status, or None without a complete response."""
    try:
        connection.request(method, path, **request)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


class People:
    """Threads that send reports until they are acknowledged, and some of them once more.

    A report that fails goes to the end of the queue, so reports arrive in another order.
    """

    def __init__(self, port, name, reports, *, seed, threads=6, pause=0.0):
        self._port, self._name, self._pause = port, name, pause
        self._waiting = queue.SimpleQueue()
        self._random = random.Random(seed)
        mixed = list(reports)
        self._random.shuffle(mixed)
        for sealed in mixed:
            self._waiting.put(sealed)
        self.statuses, self.acknowledged = Counter(), set()
        self._lock, self._stopping = threading.Lock(), threading.Event()
        self._threads = [threading.Thread(target=self._send, daemon=True) for _ in range(threads)]
        self._goal = len(mixed)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stopping.set()
        for thread in self._threads:
            thread.join(10)

    @property
    def done(self):
        return len(self.acknowledged) == self._goal

    def went_on(self, before):
        """Whether more reports than before, or all, are acknowledged."""
        return self.done or len(self.acknowledged) > before

    def _send(self):
        while not self._stopping.is_set():
            try:
                sealed = self._waiting.get(timeout=0.1)
            except queue.Empty:
                continue
            twice = self._random.random() < 0.1
            other = threading.Thread(target=attempt, args=(self._port, self._name, sealed)) if twice else None
            if other:
                other.start()  # the same bytes at the same time
            status = attempt(self._port, self._name, sealed)
            if other:
                other.join(10)
            with self._lock:
                self.statuses[status] += 1
                if status == 201:
                    self.acknowledged.add(sealed)
            if status != 201:
                self._waiting.put(sealed)
                time.sleep(0.01)
            elif self._random.random() < 0.05:
                attempt(self._port, self._name, sealed)  # again, although it was acknowledged
            if self._pause:
                time.sleep(self._random.random() * 2 * self._pause)


def answers(port, path="/health", timeout=1.0):
    """Whether a server answers with 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def wait_until(true, seconds=60.0, what="it"):
    """Wait for a condition; fail after a long time."""
    last = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < last, f"waited {seconds:g} seconds in vain for {what}"
        time.sleep(0.02)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]

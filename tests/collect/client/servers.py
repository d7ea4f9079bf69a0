"""Servers for tests of clients: one records requests and gives scripted responses, one breaks off."""

import asyncio
import json
import socket
import threading
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route


def problem(reason, status=400):
    """A problem document (RFC 9457)."""
    body = json.dumps({"type": f"urn:shuffledp:{reason}", "status": status, "reason": str(reason)})
    return Response(body, status, media_type="application/problem+json")


@dataclass
class Recorder:
    """Respond 201, or with the next entry of `script`; for None, do not respond for a long time."""

    address: str = ""
    script: deque = field(default_factory=deque)
    bodies: list = field(default_factory=list)
    headers: list = field(default_factory=list)
    paths: list = field(default_factory=list)
    files: dict = field(default_factory=dict)
    when_asked: object = None
    """Called after a report has arrived, before the response."""

    def reset(self):
        self.script.clear()
        self.files.clear()
        self.bodies, self.headers, self.paths, self.when_asked = [], [], [], None
        return self

    async def answer(self, request):
        body = await request.body()
        query = f"?{request.url.query}" if request.url.query else ""
        self.paths.append(request.url.path + query)
        self.headers.append(dict(request.headers))
        if request.method == "GET":
            found = self.files.get(request.url.path)
            return Response(status_code=404) if found is None else Response(found)
        self.bodies.append(body)
        if self.when_asked is not None:
            self.when_asked()
        reply = self.script.popleft() if self.script else Response(status_code=201)
        if reply is None:
            await asyncio.sleep(3)
            return Response(status_code=201)
        return reply

    def wait(self, number=1):
        """Wait for this number of reports."""
        ends = time.monotonic() + 60
        while len(self.bodies) < number:
            assert time.monotonic() < ends, "no report arrived"
            time.sleep(0.01)


@contextmanager
def recording_server():
    recorder = Recorder()
    app = Starlette(routes=[Route("/{rest:path}", recorder.answer, methods=["GET", "POST"])])
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", lifespan="off", ws="none",
                            loop="asyncio", timeout_graceful_shutdown=0)  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.005)
        recorder.address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        yield recorder
    finally:
        server.should_exit = True
        thread.join(30)


@contextmanager
def breaking_server(*answers):
    """Serve one of the given byte strings per connection and close it; yield the address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve():
            for answer in answers:
                connection, _ = listening.accept()
                with connection:
                    connection.recv(1 << 20)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join(30)

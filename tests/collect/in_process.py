"""An application in this process, without a network or in a thread."""

import asyncio
import threading
from contextlib import asynccontextmanager, contextmanager

import httpx

from shuffledp.collect.server.run import Server, address_of, config_of, listening


@asynccontextmanager
async def client_in_process(app):
    """A client of an application, from its start to its end."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        _running(app),
        httpx.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        yield client


@asynccontextmanager
async def _running(app):
    """Start an application and end it as servers do, with the lifespan messages of ASGI."""
    asked, answered = asyncio.Queue(), asyncio.Queue()
    life = asyncio.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}}, asked.get, answered.put))
    await asked.put({"type": "lifespan.startup"})
    if (await answered.get())["type"] != "lifespan.startup.complete":
        await life  # raises the reason
    try:
        yield
    finally:
        await asked.put({"type": "lifespan.shutdown"})
        await life


@contextmanager
def served(app, *, port=0, certificate=None):
    """The address of an application that a thread of this process serves."""
    with listening("127.0.0.1", port) as listener:
        started = threading.Event()
        server = Server(config_of(app, certificate), started.set)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            while not started.wait(0.05):
                assert thread.is_alive(), "the server could not be started"
            yield address_of(listener, "127.0.0.1", tls=certificate is not None)
        finally:
            server.should_exit = True
            thread.join()

"""An application in this process, without a network."""

from contextlib import asynccontextmanager

import httpx


@asynccontextmanager
async def client_in_process(app):
    """A client of an application, from its start to its end."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        yield client

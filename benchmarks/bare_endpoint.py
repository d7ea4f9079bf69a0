"""The baseline for the shuffler: an endpoint that stores request bodies in SQLite, many per commit.

It has the libraries, server, SQLite settings and commit strategy of the shuffler, but decrypts and checks nothing.
Usage: python -m benchmarks.bare_endpoint FILE PORT WORKERS
"""

import asyncio
import secrets
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from shuffledp.collect.server.run import serve

MOST = 500
"""Reports per commit, as in the shuffler."""


def make_app(path, background):
    """Return the application of one worker process."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=60)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA wal_autocheckpoint = 8000")
    connection.execute("CREATE TABLE IF NOT EXISTS reports (id BLOB PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID")
    thread, waiting, working = ThreadPoolExecutor(1), [], []

    def store(bodies):
        connection.execute("BEGIN IMMEDIATE")
        rows = [(secrets.token_bytes(16), body) for body in bodies]
        connection.executemany("INSERT INTO reports VALUES (?, ?)", rows)
        connection.execute("COMMIT")

    async def commit():
        while waiting:
            group = waiting[:MOST]
            del waiting[:MOST]
            await asyncio.get_running_loop().run_in_executor(thread, store, [body for body, _ in group])
            for _, stored in group:
                stored.set_result(None)

    async def upload(request):
        body, stored = await request.body(), asyncio.get_running_loop().create_future()
        waiting.append((body, stored))
        if not working or working[0].done():
            working[:] = [asyncio.create_task(commit())]
        await stored
        return Response(status_code=201)

    async def health(request):
        return Response()

    reports = Route("/v1/tasks/{name}/reports", upload, methods=["POST"])
    return Starlette(routes=[reports, Route("/health", health)])


if __name__ == "__main__":
    serve(partial(make_app, sys.argv[1]), port=int(sys.argv[2]), workers=int(sys.argv[3]))

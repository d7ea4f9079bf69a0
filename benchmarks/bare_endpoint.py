"""The baselines for the shuffler: an endpoint that stores request bodies in SQLite, many per commit.

It has the libraries, server, SQLite settings and commit strategy of the shuffler, but checks nothing. With a task and
its key it opens each report, with the same call as the shuffler, and stores the content.
Usage: python -m benchmarks.bare_endpoint FILE PORT WORKERS [TASK KEY]
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

from shuffledp.collect.crypto.keys import info, read_key, unseal
from shuffledp.collect.server.run import serve
from shuffledp.collect.task import read_task

MOST = 500
"""Reports per commit, as in the shuffler."""


def make_store(path):
    """Create the file before any worker starts.

    Workers that turn the write-ahead log on at the same moment fail with "database is locked", whatever the timeout.
    """
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE reports (id BLOB PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID")
    connection.close()


def opener(task_path, key_path):
    """Return a function that opens a report."""
    context, key = info(read_task(task_path).id, 0), read_key(key_path).private
    return lambda sealed: unseal(sealed, key, context)


def make_app(path, keys, background):
    """Return the application of one worker process."""
    opened = opener(*keys) if keys else bytes
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=60)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA wal_autocheckpoint = 8000")
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
        body, stored = opened(await request.body()), asyncio.get_running_loop().create_future()
        waiting.append((body, stored))
        if not working or working[0].done():
            working[:] = [asyncio.create_task(commit())]
        await stored
        return Response(status_code=201)

    return Starlette(routes=[Route("/v1/tasks/{name}/reports", upload, methods=["POST"])])


if __name__ == "__main__":
    path, port, workers, *keys = sys.argv[1:]
    make_store(path)
    serve(partial(make_app, path, keys), port=int(port), workers=int(workers))

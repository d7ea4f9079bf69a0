"""The answers of a shuffler to each kind of request."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from itertools import chain

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from shuffledp.collection.envelope.batch import HEAD_BYTES, BatchHead
from shuffledp.collection.reasons import Reason, Refused
from shuffledp.collection.service import metrics
from shuffledp.collection.service.application import asking_the_store
from shuffledp.collection.service.limits import Rate, UnderWay, at_once, body_of
from shuffledp.collection.service.tokens import bearer
from shuffledp.collection.shuffler.amiss import problems_of
from shuffledp.collection.shuffler.counters import families, status_of
from shuffledp.collection.shuffler.group_commit import GroupCommit
from shuffledp.collection.shuffler.ingestion import Ingestion
from shuffledp.collection.shuffler.refusals import Refusals
from shuffledp.collection.shuffler.relay import Relay
from shuffledp.collection.shuffler.settings import Served, Settings
from shuffledp.collection.stores import ReadyBatch, Standing

Answering = Callable[[Served, Request], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


class Endpoints:
    """Everything that a shuffler can be asked; `commits` and `refusals` are ended by whoever made them."""

    def __init__(
        self, settings: Settings, commits: GroupCommit, refusals: Refusals, relays: Mapping[str, Relay]
    ) -> None:
        self._store, self._next_hops, self._refusals = settings.store, settings.next_hops, refusals
        self._relays = relays
        self._served = {served.task.name: served for served in settings.served}
        self._ingestion = Ingestion(commits, clock=settings.clock)
        self._rate = Rate(settings.most_per_second)
        self._under_way = UnderWay(at_once(max(served.task.longest_report for served in settings.served)))

    def of_task(self, answer: Answering) -> Endpoint:
        """Finds the task of a request, and counts what is refused."""

        async def answered(request: Request) -> Response:
            served = self._served.get(request.path_params["name"])
            try:
                if served is None:
                    raise Refused(Reason.UNKNOWN_TASK)
                with asking_the_store():
                    return await answer(served, request)
            except Refused as refused:
                self._refusals.count(served.task.id if served else None, refused.reason)
                raise

        return answered

    async def take_report(self, served: Served, request: Request) -> Response:
        """201 when the report is on the disk."""
        self._rate.take()
        with self._under_way.one():
            self._ingestion.check_open(served)
            sealed = await body_of(request, served.task.longest_report)
            await self._ingestion.take(served, sealed, bearer(request.headers.get("authorization")))
        return Response(status_code=201)

    async def show_task(self, served: Served, request: Request) -> Response:
        """The canonical bytes, of which the task's name is the SHA-256."""
        return Response(served.task.canonical, media_type="application/json")

    async def show_status(self, served: Served, request: Request) -> Response:
        """Public counters."""
        standing = await run_in_threadpool(self._refusals.standing, served.task.id)
        return JSONResponse(status_of(served, standing, await self._problems(served, standing)))

    async def list_batches(self, served: Served, request: Request) -> Response:
        """The batches that are complete and mixed, for the next hop."""
        self._check_next_hop(request)
        ready = await run_in_threadpool(self._store.ready, served.task.id)
        listed = [{"id": batch.batch_id.hex(), "number": batch.number} for batch in ready]
        return JSONResponse({"batches": listed})

    async def hand_on(self, served: Served, request: Request) -> Response:
        """The bytes of a batch, the same every time until it is acknowledged."""
        self._check_next_hop(request)
        batch = await self._ready(served, _batch_id(request))
        if batch is None:
            raise Refused(Reason.UNKNOWN_BATCH)
        position = served.position + 1
        head = BatchHead(served.task.id, batch.batch_id, position, batch.number).to_bytes()
        blocks = await run_in_threadpool(self._store.mixed, batch.batch_id)
        length = HEAD_BYTES + batch.number * served.task.onion_length(position)
        headers = {"content-length": str(length), "cache-control": "no-store"}
        return StreamingResponse(chain([head], blocks), headers=headers, media_type="application/octet-stream")

    async def acknowledge(self, served: Served, request: Request) -> Response:
        """The next hop has the batch: it is deleted here; twice is once."""
        self._check_next_hop(request)
        batch_id = _batch_id(request)
        if await self._ready(served, batch_id) is not None:
            await run_in_threadpool(self._store.acknowledge, batch_id)
        elif not await run_in_threadpool(self._store.has_batch, batch_id, served.task.id):
            raise Refused(Reason.UNKNOWN_BATCH)
        return Response(status_code=204)

    async def show_metrics(self, request: Request) -> Response:
        """Counters for Prometheus."""
        with asking_the_store():
            standings = {
                name: await run_in_threadpool(self._store.standing, served.task.id)
                for name, served in self._served.items()
            }
            problems = {name: await self._problems(served, standings[name]) for name, served in self._served.items()}
        text = metrics.text_of(families(standings, problems, of_no_task=self._refusals.of_no_task))
        return Response(text, media_type=metrics.CONTENT_TYPE)

    async def _problems(self, served: Served, standing: Standing) -> list[str]:
        relay = self._relays.get(served.task.name)
        return await run_in_threadpool(problems_of, served, standing, self._store, relay)

    async def _ready(self, served: Served, batch_id: bytes) -> ReadyBatch | None:
        ready = await run_in_threadpool(self._store.ready, served.task.id)
        return next((batch for batch in ready if batch.batch_id == batch_id), None)

    def _check_next_hop(self, request: Request) -> None:
        if bearer(request.headers.get("authorization")) not in self._next_hops:
            raise Refused(Reason.NO_TOKEN)


def _batch_id(request: Request) -> bytes:
    text = request.path_params["batch"]
    if not re.fullmatch(r"[0-9a-f]{32}", text):
        raise Refused(Reason.UNKNOWN_BATCH)
    return bytes.fromhex(text)

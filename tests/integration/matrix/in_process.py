"""The API and the gateway in this process, so that a row of their tables can be changed under them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from prometheus_client import REGISTRY
from starlette.applications import Starlette
from starlette.exceptions import HTTPException

from lochan.clock import SystemClock
from lochan.ids import Ids
from lochan.lake import Lake
from lochan.server.api.app import _open
from lochan.server.api.middleware import Middleware, no_route, routes
from lochan.server.api.routes import ROUTES, Row
from lochan.server.connections import ConnectionGuard
from lochan.server.settings import ClientLimits, Listener, S3Settings
from lochan.store.local import LocalStore
from tests.integration.matrix.requests import Sent
from tests.integration.matrix.wire import Answer
from tests.unit.server.gateway_place import Asked, Place

CLIENT = "127.0.0.1:40000"


class InProcessTransport:
    def __init__(self, lake: Path) -> None:

        async def open_lake() -> Lake:
            return await Lake.open(LocalStore(str(lake)))

        self._listener = Listener("api", "127.0.0.1", 8001, 1, open_lake, S3Settings(), lambda: None, access_log="")
        self._guard = ConnectionGuard(ClientLimits(), SystemClock(), 8001, 60.0)
        self._runner = asyncio.Runner()
        self.run(self._open(lake))

    async def _open(self, lake: Path) -> None:
        known = set(REGISTRY._collector_to_names)
        self._api = await _open(self._listener, self._guard)
        for each in set(REGISTRY._collector_to_names) - known:  # another one may be opened beside this one
            REGISTRY.unregister(each)
        self._s3 = Place(await Lake.open(LocalStore(str(lake))), fastpath=False, settings=S3Settings())
        self._s3.app.open_once(asyncio.get_running_loop())
        self.serve(ROUTES)

    def serve(self, rows: tuple[Row, ...]) -> None:
        app = Starlette(routes=routes(rows), exception_handlers={HTTPException: no_route})
        app.state.api = self._api
        self._app = Middleware(app, SystemClock(), Ids(), None, self._guard)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(work)

    def host(self, door: str) -> str:
        return "127.0.0.1:8000"

    def send(self, sent: Sent, headers: Mapping[str, str]) -> Answer:
        found = self.run(self._to_s3(sent, headers) if sent.door == "s3" else self._to_api(sent, headers))
        assert isinstance(found, Answer)
        return found

    async def _to_s3(self, sent: Sent, headers: Mapping[str, str]) -> Answer:
        body = sent.body or b""
        length = {"content-length": str(len(body))} if body or sent.method in ("PUT", "POST") else {}
        pairs = tuple({"host": self.host("s3"), **length, **headers}.items())
        answer = await self._s3.ask(Asked(sent.method, sent.path, sent.query, pairs, body, CLIENT))
        return Answer(answer.status, answer.body)

    async def _to_api(self, sent: Sent, headers: Mapping[str, str]) -> Answer:
        body, status, parts = sent.body or b"", 0, []
        pairs = {"host": self.host("api"), "content-length": str(len(body)), **headers}
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": sent.method,
            "scheme": "http",
            "path": unquote(sent.path),
            "raw_path": sent.path.encode(),
            "query_string": sent.query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in pairs.items()],
            "client": ("127.0.0.1", 40000),
            "server": ("127.0.0.1", 8001),
        }
        given = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            message = next(given, None)
            if message is None:
                await asyncio.Event().wait()
            return message

        async def send(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            parts.append(message.get("body", b""))

        await self._app(scope, receive, send)
        return Answer(status, b"".join(parts))

    def close(self) -> None:
        async def end() -> None:
            await self._api.queries.close()
            await self._api.spark.stop()
            await self._api.imports.close()
            await self._api.tasks.close()
            await self._api.lake.close()

        self.run(end())
        self._runner.close()

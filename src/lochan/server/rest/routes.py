"""All operations of the REST API, and how a request becomes a call of one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lochan.api.wrappers.records import AuditLine, Caller, Use, serve_lake
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.logs import log_call
from lochan.server.rest import branches, commits, configuration, imports, objects, repositories, staging
from lochan.server.rest.operation import JSON, Answer, Operation, RestCall, parse_body, parse_query
from lochan.usage.log import UsageRow

BASE = "/api/v1"
CLIENT = "rest"
RESOURCES = (
    repositories.RESOURCE,
    branches.RESOURCE,
    branches.TAGS,
    commits.RESOURCE,
    commits.REFS,
    objects.RESOURCE,
    staging.RESOURCE,
    imports.RESOURCE,
    configuration.RESOURCE,
)
OPERATIONS: tuple[Operation, ...] = tuple(each for resource in RESOURCES for each in resource.operations)

Handler = Callable[[Api, Request], Awaitable[Response]]


def handler(operation: Operation) -> Handler:
    async def handle(api: Api, request: Request) -> Response:
        query = parse_query(request, operation.query)
        body = None if operation.body is None else await parse_body(request, operation.body)
        context: RequestContext = request.scope[CONTEXT]
        caller = Caller(context.user, CLIENT, context.source, context.arrived)
        audit: Callable[[AuditLine], None] = partial(log_call, caller)
        lake = serve_lake(api.lake, caller, partial(_note, api, context), audit).lake
        return _response(operation, await operation.handle(RestCall(api, request, lake, query, body)))

    return handle


def _response(operation: Operation, answer: Answer) -> Response:
    if isinstance(answer, Response):
        return answer
    if answer is None:
        return Response(status_code=operation.status)
    return Response(msgspec.json.encode(answer), operation.status, media_type=JSON)


def _note(api: Api, context: RequestContext, use: Use) -> None:
    status = 200 if use.error is None else 400
    row = api.clock.wall(), context.user, use.operation, use.repository, use.ref, use.path, use.size, status
    api.usage.add(UsageRow(*row))

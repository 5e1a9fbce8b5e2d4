"""Lists all operations of the REST API, and turns a request into a call of one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lochan.api.pool import Pool
from lochan.api.ref import Ref
from lochan.api.results import Result
from lochan.api.wrappers.records import AuditLine, Use, serve_lake
from lochan.errors import LochanError
from lochan.server.api.audit import CallLog
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.logs import log_call, logs_every_call
from lochan.server.rest import (
    actions,
    auth,
    branches,
    commits,
    configuration,
    events,
    fast_rows,
    fast_stat,
    imports,
    login,
    objects,
    oidc,
    pool_branches,
    pools,
    presigned_parts,
    pulls,
    query,
    refs_dump,
    repositories,
    staging,
)
from lochan.server.rest.json_body import parse_body
from lochan.server.rest.operation import JSON, Answer, Operation, RestCall, parse_query

BASE = "/api/v1"
CLIENT = "rest"
RESOURCES = (
    repositories.RESOURCE,
    refs_dump.RESOURCE,
    branches.RESOURCE,
    branches.TAGS,
    commits.RESOURCE,
    commits.REFS,
    objects.RESOURCE,
    pulls.RESOURCE,
    actions.RESOURCE,
    staging.RESOURCE,
    presigned_parts.RESOURCE,
    imports.RESOURCE,
    configuration.RESOURCE,
    pools.RESOURCE,
    pool_branches.RESOURCE,
    query.RESOURCE,
    events.RESOURCE,
    login.RESOURCE,
    oidc.RESOURCE,
    auth.RESOURCE,
)
OPERATIONS: tuple[Operation, ...] = tuple(each for resource in RESOURCES for each in resource.operations)

_SHORT = (fast_stat.OPERATION, fast_rows.OPERATION)  # operations with a short path for known keys

Handler = Callable[[Api, Request], Awaitable[Response]]


def handler(operation: Operation) -> Handler:
    async def handle(api: Api, request: Request) -> Response:
        query = parse_query(request, operation.query)
        body = None if operation.body is None else await parse_body(request, operation.body)
        context: RequestContext = request.scope[CONTEXT]
        caller = context.caller(CLIENT)
        kept = CallLog(api.usage, api.clock, caller)
        lake = serve_lake(api.lake, caller, kept.note, kept.audit).lake
        answer = _response(operation, await operation.handle(RestCall(api, request, lake, query, body)))
        if operation.id in _SHORT and answer.status_code == 200:
            await api.known_keys.learn(request.scope)
        return answer

    return handle


def _response(operation: Operation, answer: Answer) -> Response:
    if isinstance(answer, Response):
        return answer
    if answer is None:
        return Response(status_code=operation.status)
    value = answer.as_json() if isinstance(answer, Result) else answer
    return Response(msgspec.json.encode(value), operation.status, media_type=JSON)


def note_load(api: Api, context: RequestContext, pool: str, error: LochanError | None) -> None:
    """Records what the layers around the verb record of a load on the general path."""
    caller = context.caller(CLIENT)
    CallLog(api.usage, api.clock, caller).note(Use(fast_rows.VERB, pool, "", "", 0, error))
    if logs_every_call():
        log_call(caller, AuditLine(fast_rows.VERB, repr(Pool(api.session, pool)), error))


def note_stat(api: Api, context: RequestContext, stat: fast_stat.StatRequest) -> None:
    """Records what the layers around the verb record of a `stat` on the general path."""
    caller = context.caller(CLIENT)
    used = Use(fast_stat.VERB, stat.repository, stat.ref, stat.path, 0, None)
    CallLog(api.usage, api.clock, caller).note(used)
    if logs_every_call():
        about = f"{Ref(api.session, stat.repository, stat.ref)!r} path={stat.path!r}"
        log_call(caller, AuditLine(fast_stat.VERB, about, None))

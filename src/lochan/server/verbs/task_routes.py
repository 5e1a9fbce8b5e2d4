"""The routes of tasks, and the requests that become one."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lochan.api.wire.call import ArgumentPlace, Shape, WireCall
from lochan.api.wire.values import JSON
from lochan.ids import Ids
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.api.errors import HttpError
from lochan.server.verbs.task_progress import TaskProgress
from lochan.server.verbs.tasks import VerbTask

BELOW = "/tasks"
PATH = f"/api/v1{BELOW}"
_SHAPES = (Shape.NOTHING, Shape.VALUE, Shape.HANDLE)


def wants_task(call: WireCall, request: Request) -> bool:
    preferred = [each.strip().lower() for each in request.headers.get("prefer", "").split(",")]
    return "respond-async" in preferred and can_be_task(call)


def can_be_task(call: WireCall) -> bool:
    if call.method == "GET" or call.shape not in _SHAPES:
        return False
    return all(each.place is not ArgumentPlace.BYTES for each in call.arguments.values())


def begin_task(
    call: WireCall, api: Api, request: Request, work: Coroutine[Any, Any, Response], progress: TaskProgress
) -> Response:
    context: RequestContext = request.scope[CONTEXT]
    task = api.tasks.begin(Ids().ksuid(api.clock.wall()), call.id, context.user, api.clock, work, progress)
    headers = {"location": f"{PATH}/{task.id}", "preference-applied": "respond-async"}
    return Response(msgspec.json.encode(task.info()), 202, headers, JSON)


async def list_tasks(api: Api, request: Request) -> Response:
    """List the tasks of the user."""
    context: RequestContext = request.scope[CONTEXT]
    return Response(msgspec.json.encode([each.info() for each in api.tasks.of(context.user)]), media_type=JSON)


async def get_task(api: Api, request: Request) -> Response:
    """Get the progress of a task and, once it is done, the answer of its request."""
    return Response(msgspec.json.encode(_find_task(api, request).info()), media_type=JSON)


async def cancel_task(api: Api, request: Request) -> Response:
    """Cancel a task. What it was just doing may have happened, or not."""
    await _find_task(api, request).cancel()
    return Response(status_code=204)


def _find_task(api: Api, request: Request) -> VerbTask:
    """Returns the task. Raises 404, also for a task of another user."""
    context: RequestContext = request.scope[CONTEXT]
    id = request.path_params["id"]
    for each in api.tasks.of(context.user):
        if each.id == id:
            return each
    raise HttpError(404, f"there is no task {id!r}, or it has been forgotten")

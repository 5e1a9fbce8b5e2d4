"""An operation for each verb that has a route."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import unquote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lochan.api.wire.call import AUTHOR_HEADER, LINEAGE_HEADER, ArgumentPlace, Shape, WireCall, wire_calls
from lochan.api.wire.lineage import answer_header, decode_trace
from lochan.api.wire.values import ARROW, BYTES, JSON, LINES, HandleNames, OpenedInfo
from lochan.api.wrappers.proxy import try_call
from lochan.api.wrappers.records import serve_lake
from lochan.errors import LochanError
from lochan.server.api.audit import CallLog
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.api.errors import HttpError
from lochan.server.rest.operation import Operation
from lochan.server.rest.routes import BASE
from lochan.server.verbs import answers
from lochan.server.verbs.arguments import body_type, handle_names, handle_of, parse_arguments
from lochan.server.verbs.bodies import add_bytes, read_object
from lochan.server.verbs.presign import presign
from lochan.server.verbs.rows import diff_rows, load_rows, query
from lochan.server.verbs.task_progress import TaskProgress
from lochan.server.verbs.task_routes import begin_task, can_be_task, wants_task
from lochan.server.verbs.tasks import TaskInfo
from lochan.versioning.lineage import trace

CLIENT = "rest"
_log = logging.getLogger("lochan.server")
_AUTHOR_MAX = 200
Special = Callable[[WireCall, Api, Request, Any, dict[str, Any]], Awaitable[Response]]
_SPECIAL: Mapping[str, Special] = {
    "Ref.read": read_object,
    "Ref.stream": read_object,
    "Ref.presign": presign,
    "Lake.query": query,
    "Pool.query": query,
    "Lake.diff_rows": diff_rows,
    "Pool.load": load_rows,
}
Handler = Callable[[Api, Request], Awaitable[Response]]
_MEDIA = {
    Shape.LINES: LINES,
    Shape.BYTES: BYTES,
    Shape.TABLE: ARROW,
    Shape.ROWS: ARROW,
    Shape.ROW_DIFF: ARROW,
}


def handler(call: WireCall) -> Handler:
    async def handle(api: Api, request: Request) -> Response:
        try:
            return await _handle(call, api, request)
        except (LochanError, HttpError) as error:
            return await answers.error_answer(error)
        except ArithmeticError as error:
            return await answers.error_answer(answers.senseless_number(error))

    return handle


async def _handle(call: WireCall, api: Api, request: Request) -> Response:
    """Calls the verb in the trace that the client has begun, if any: its commits record what was read, and answers
    return what they read."""
    found = decode_trace(request.headers.get(LINEAGE_HEADER, ""))
    if found is None:
        return await _carry_out(call, api, request)
    before = set(found.inputs)
    with trace(found):
        answer = await _carry_out(call, api, request)
    read = [each for each in found.inputs if each not in before]
    if read:
        answers.add_header(answer, LINEAGE_HEADER, answer_header(read))
    return answer


async def _carry_out(call: WireCall, api: Api, request: Request) -> Response:
    several, given = await parse_arguments(call, request)
    context: RequestContext = request.scope[CONTEXT]
    author = unquote(request.headers.get(AUTHOR_HEADER, ""))[:_AUTHOR_MAX]
    caller = context.caller(CLIENT, author)
    kept = CallLog(api.usage, api.clock, caller)
    lake = serve_lake(api.lake, caller, kept.note, kept.audit).lake
    noun = handle_of(lake, call, handle_names(call, request))
    if wants_task(call, request):
        await try_call(noun, call.verb.name, *several, **given)
        progress = TaskProgress(api.clock)
        options = {"progress": progress} if "progress" in call.arguments else {}
        return begin_task(call, api, request, _run_in_background(call, noun, several, {**given, **options}), progress)
    special = _SPECIAL.get(call.id)
    if special is not None:
        return await special(call, api, request, noun, given)
    await add_bytes(call, request, given)
    done = getattr(noun, call.verb.name)(*several, **given)
    if call.shape is Shape.LINES:
        return answers.StreamAnswer(answers.lines(done), LINES, api.listener.s3.idle_s)
    return _answer(call.shape, await done)


async def _run_in_background(call: WireCall, noun: Any, several: list[Any], given: dict[str, Any]) -> Response:
    try:
        return _answer(call.shape, await getattr(noun, call.verb.name)(*several, **given))
    except LochanError as error:
        return await answers.error_answer(error)
    except Exception as error:
        _log.error("%s failed in the background", call.id, exc_info=error)
        return await answers.error_answer(HttpError(500, answers.FAILED))


def _answer(shape: Shape, value: Any) -> Response:
    match shape:
        case Shape.NOTHING:
            return answers.nothing_answer()
        case Shape.HANDLE:
            return answers.handle_answer(value)
        case Shape.OPENED:
            return answers.opened_answer(value)
        case Shape.TABLE:
            return Response(answers.table_bytes(value), media_type=ARROW)
    return answers.value_answer(value)


# --- for the document ------------------------------------------------------------------------------------------------
def operation(call: WireCall) -> Operation:
    status, kind = _describe_result(call)
    in_background = can_be_task(call)
    return Operation(
        id=call.id,
        method=call.method,
        path=call.path.removeprefix(BASE),
        handle=call.function,  # its docstring describes the operation
        query=_query_type(call),
        body=body_type(call),
        answers={status: kind, 202: TaskInfo} if in_background else {status: kind},
        tag=call.verb.noun,
        open=False,
        media=_media(call),
        headers={"Prefer": "`respond-async`: answer at once with a task (202), and go on"} if in_background else {},
    )


def _media(call: WireCall) -> str:
    if any(each.place is ArgumentPlace.BYTES for each in call.arguments.values()):
        return BYTES
    return _MEDIA.get(call.shape, JSON)


def _describe_result(call: WireCall) -> tuple[int, Any]:
    match call.shape:
        case Shape.NOTHING:
            return 204, None
        case Shape.HANDLE:
            return 200, HandleNames
        case Shape.OPENED:
            return 200, OpenedInfo
        case Shape.VALUE:
            return 200, call.result
    return 200, bytes


def _query_type(call: WireCall) -> Any:
    """Returns the type of the query string for the document: JSON in a query string is described as a text."""
    found = [each for each in call.arguments.values() if each.place is ArgumentPlace.QUERY]
    kinds = [(each.name, str if each.form == "json" else each.type, each.required) for each in found]
    kinds += [(name, str, True) for name in call.query_names]
    fields: list[Any] = [(name, kind) for name, kind, required in kinds if required]
    fields += [(name, kind | msgspec.UnsetType, msgspec.UNSET) for name, kind, required in kinds if not required]
    return msgspec.defstruct(f"{call.verb.noun}_{call.verb.name}_query", fields, kw_only=True, frozen=True)


CALLS = tuple(wire_calls().values())
OPERATIONS: tuple[Operation, ...] = tuple(map(operation, CALLS))

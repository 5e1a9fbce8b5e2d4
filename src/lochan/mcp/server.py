"""Answers the messages of a client of the Model Context Protocol. It keeps no state between two messages, so the same
code answers over a pipe and over HTTP."""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from lochan import __version__
from lochan.errors import LochanError
from lochan.mcp.messages import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RpcError,
    RpcRequest,
    error_message,
    parse_request,
    result_message,
)
from lochan.mcp.tools import TOOLS, AgentContext

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # versions of the protocol, the newest first
INSTRUCTIONS = """\
This lake versions data like Git: repositories hold files, pools hold records, and both have branches and commits.
Read and query whatever your key allows. To change something, make a branch of your own with start_branch, write to it
with put_object, delete_objects or load_rows, look at it with diff, and end with propose: it commits your changes and
opens a pull request that people review. You cannot write to other branches."""
_log = logging.getLogger("lochan.mcp")


async def answer(agent: AgentContext, data: bytes) -> bytes | None:
    """Returns the answer to a message, or None if it has none."""
    try:
        request = parse_request(data)
    except RpcError as error:
        return error_message(None, error)
    if request is None:
        return None
    try:
        result = await _result(agent, request)
    except RpcError as error:
        return None if request.is_notification else error_message(request.id, error)
    return None if request.is_notification else result_message(request.id, result)


async def _result(agent: AgentContext, request: RpcRequest) -> dict[str, Any]:
    match request.method:
        case "initialize":
            return _initialize(request.params)
        case "ping":
            return {}
        case "tools/list":
            return {"tools": [each.described() for each in TOOLS.values()]}
        case "tools/call" if not request.is_notification:
            return await _call_tool(agent, request.params)
        case method if method.startswith("notifications/") and request.is_notification:
            return {}
    raise RpcError(METHOD_NOT_FOUND, f"there is no method {request.method[:100]!r} here")


def _initialize(params: dict[str, Any]) -> dict[str, Any]:
    version = params.get("protocolVersion")
    return {
        "protocolVersion": version if version in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "lochan", "version": __version__},
        "instructions": INSTRUCTIONS,
    }


async def _call_tool(agent: AgentContext, params: dict[str, Any]) -> dict[str, Any]:
    """Calls a tool. A tool's refusal is its result, which the model reads; a malformed call is an error."""
    name = params.get("name")
    tool = TOOLS.get(name) if isinstance(name, str) else None
    if tool is None:
        raise RpcError(INVALID_PARAMS, f"there is no tool {str(name)[:100]!r}; there are {', '.join(TOOLS)}")
    try:
        given = msgspec.convert(params.get("arguments") or {}, tool.arguments)
    except msgspec.ValidationError as error:
        return _text_result(f"these arguments do not fit: {error}", failed=True)
    try:
        found = await tool.call(agent, given)
    except LochanError as error:
        return _text_result(str(error), failed=True)
    except Exception as error:
        _log.error("the tool %s failed", tool.name, exc_info=error)
        return _text_result("the tool has failed; the log of the server says why", failed=True)
    return _text_result(msgspec.json.encode(found, enc_hook=str).decode(), failed=False)


def _text_result(text: str, *, failed: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": failed}

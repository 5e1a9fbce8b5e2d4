"""JSON-RPC 2.0, as the Model Context Protocol uses it: each message is one request or notification, never several."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
MESSAGE_BYTES_MAX = 8 << 20
Id = str | int | None


class RpcError(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class RpcRequest(NamedTuple):
    method: str
    params: dict[str, Any]
    id: Id
    is_notification: bool  # a notification gets no answer


class _Wire(msgspec.Struct):
    method: str
    jsonrpc: str = ""
    id: str | int | msgspec.UnsetType = msgspec.UNSET
    params: dict[str, Any] = {}


def parse_request(data: bytes) -> RpcRequest | None:
    """Returns the request, or None for a response, which is ignored because we send no requests. Raises RpcError."""
    if len(data) > MESSAGE_BYTES_MAX:
        raise RpcError(INVALID_REQUEST, f"a message has at most {MESSAGE_BYTES_MAX:,} bytes")
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RpcError(PARSE_ERROR, f"this is not JSON: {error}") from None
    if isinstance(raw, dict) and "method" not in raw and ("result" in raw or "error" in raw):
        return None
    try:
        found = msgspec.convert(raw, _Wire)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_REQUEST, f"this is not a JSON-RPC request: {error}") from None
    if found.jsonrpc != "2.0":
        raise RpcError(INVALID_REQUEST, 'this is not a JSON-RPC request: "jsonrpc" must be "2.0"')
    unset = isinstance(found.id, msgspec.UnsetType)
    return RpcRequest(found.method, found.params, None if unset else found.id, unset)  # type: ignore[arg-type]


def result_message(id: Id, result: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "result": result})


def error_message(id: Id, error: RpcError) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "error": {"code": error.code, "message": error.message}})

"""Writes the OpenAPI document from the table of operations."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from lochan import __version__
from lochan.server.api.session_cookie import COOKIE
from lochan.server.rest.operation import JSON, PLAIN_TEXT, Operation
from lochan.server.rest.wire import ErrorMessage

_REF = "#/components/schemas/{name}"
EVENT_STREAM = "text/event-stream"
_ERRORS = (400, 401, 403, 404, 406, 408, 409, 410, 412, 413, 422, 429, 500, 503)
_KEYED = ("POST", "PUT", "DELETE")
_SECURITY = {
    "basic": {"type": "http", "scheme": "basic", "description": "an access key and its secret"},
    "bearer": {"type": "http", "scheme": "bearer", "description": "the token of `login`, or a session token"},
    "session": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "that of `login`, for browsers"},
}


def document(operations: Sequence[Operation], base: str) -> bytes:
    """Returns the document as JSON."""
    kinds = [each for operation in operations for each in _kinds(operation)]
    schemas, components = msgspec.json.schema_components([*kinds, ErrorMessage], ref_template=_REF)
    by_kind = dict(zip(map(repr, [*kinds, ErrorMessage]), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        described = paths.setdefault(operation.path, {})
        described[operation.method.lower()] = _describe_operation(operation, by_kind)
        if operation.head:
            described["head"] = _without_body(described["get"], operation.head)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": "Lochan", "version": __version__, "license": {"name": "Apache-2.0"}},
            "servers": [{"url": base}],
            "security": [{"basic": []}, {"bearer": []}, {"session": []}],
            "paths": paths,
            "components": {
                "schemas": components,
                "securitySchemes": _SECURITY,
            },
        }
    )


def _kinds(operation: Operation) -> list[Any]:
    return [each for each in (operation.body, *operation.answers.values()) if each not in (None, bytes)]


def _describe_operation(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    summary, _, more = (inspect.getdoc(operation.handle) or "").partition("\n\n")
    described = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": summary.rstrip("."),
        "parameters": [*_path_parameters(operation), *_query_parameters(operation), *_headers(operation)],
        "responses": {
            **{str(each): _response(HTTPStatus(each).phrase, schemas[repr(ErrorMessage)], JSON) for each in _ERRORS},
            **{str(each): _answer(operation, each, kind, schemas) for each, kind in operation.answers.items()},
        },
    }
    if more:
        described["description"] = more
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": schemas[repr(operation.body)]}}}
    elif operation.media != JSON and operation.method != "GET":
        content = {each: {"schema": {"type": "string", "format": "binary"}} for each in operation.media.split(", ")}
        described["requestBody"] = {"content": content}
    if operation.open:
        described["security"] = []
    return described


def _without_body(described: dict[str, Any], id: str) -> dict[str, Any]:
    """Describes HEAD like the GET that it belongs to. Its refusals have no body either."""
    answers = {status: {"description": each["description"]} for status, each in described["responses"].items()}
    return {**described, "operationId": id, "responses": answers}


def _answer(operation: Operation, status: int, kind: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    phrase = HTTPStatus(status).phrase
    if kind is None:
        return {"description": phrase}
    if kind is bytes and operation.media == EVENT_STREAM:
        return _response(phrase, {"type": "object", "description": "an event: id, event, data"}, operation.media)
    if kind is bytes:
        return _response(phrase, {"type": "string", "format": "binary"}, operation.media)
    if kind is PLAIN_TEXT:
        return _response(phrase, {"type": "string"}, "text/plain")
    return _response(phrase, schemas[repr(kind)], JSON)


def _response(phrase: str, schema: dict[str, Any], media: str) -> dict[str, Any]:
    return {"description": phrase, "content": {each: {"schema": schema} for each in media.split(", ")}}


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    names = re.findall(r"\{(\w+)\}", operation.path)
    return [{"name": each, "in": "path", "required": True, "schema": {"type": "string"}} for each in names]


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    schema = msgspec.json.schema(operation.query)["$defs"][operation.query.__name__]
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": each}
        for name, each in schema["properties"].items()
    ]


def _headers(operation: Operation) -> list[dict[str, Any]]:
    known = dict(operation.headers)
    if operation.method in _KEYED:
        known["Idempotency-Key"] = "a request that is sent again with the same key is carried out once"
    return [
        {"name": name, "in": "header", "description": text, "schema": {"type": "string"}}
        for name, text in known.items()
    ]

"""Describes an operation of the REST API: what it takes, what it answers, and the function that handles it.

The table of operations is the only place that knows a path. The routes and the OpenAPI document are made from it, so
neither can promise what the other does not do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lochan.api.lake import Lake
from lochan.server.api.context import CONTEXT, Api, RequestContext
from lochan.server.api.errors import HttpError

JSON = "application/json"
PLAIN_TEXT: Any = Annotated[str, msgspec.Meta(description="not JSON")]  # for an answer
_KEY = "idempotency-key"

Query = TypeVar("Query", bound=msgspec.Struct)
Body = TypeVar("Body")


class NoQuery(msgspec.Struct, frozen=True):
    """The parameters of an operation that has none in its query string."""


@dataclass(frozen=True, slots=True)
class RestCall:
    """One parsed request. `lake` checks the rights of the user."""

    api: Api
    request: Request
    lake: Lake
    query: Any  # the operation's `query`
    body: Any  # the operation's `body`, or None if it has none

    def name(self, parameter: str) -> str:
        """Returns a parameter of the path."""
        value: str = self.request.path_params[parameter]
        return value

    @property
    def key(self) -> str:
        """The idempotency key, or an empty string."""
        return self.request.headers.get(_KEY, "")

    @property
    def user(self) -> str:
        return self.context.user

    @property
    def context(self) -> RequestContext:
        found: RequestContext = self.request.scope[CONTEXT]
        return found


Answer = msgspec.Struct | Response | str | dict[str, Any] | list[Any] | None
Handle = Callable[[RestCall], Awaitable[Answer]]


class Operation(NamedTuple):
    id: str  # as the published client calls it, in lower camel case
    method: str
    path: str  # below /api/v1
    handle: Handle
    query: type[msgspec.Struct]
    body: Any  # the type of the JSON body; None if there is none, or if the handler reads it
    answers: Mapping[int, Any]  # the type of the body by status; None if there is no body
    tag: str  # the resource that the document shows it under
    open: bool  # whether it needs no access key
    media: str  # the type of a body that is not JSON; several types of answers are separated by commas
    headers: Mapping[str, str]  # the headers of the request that the operation knows, with what each is for
    presigned: bool = False  # whether an address of it may be given out, which is signed in its query
    head: str = ""  # the id of the same operation without a body, for the document; empty if there is none

    @property
    def status(self) -> int:
        """The status of a success."""
        return min(self.answers)


class Resource:
    """The operations of one resource, in the order in which they are declared."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.operations: list[Operation] = []

    def operation(
        self,
        method: str,
        path: str,
        answers: Mapping[int, Any],
        *,
        query: type[msgspec.Struct] = NoQuery,
        body: Any = None,
        media: str = "",
        open: bool = False,
        headers: Mapping[str, str] | None = None,
        presigned: bool = False,
        head: str = "",
    ) -> Callable[[Handle], Handle]:
        """Declares the decorated function as the operation's handler; its name is the operation's id."""

        def declare(handle: Handle) -> Handle:
            first, *rest = handle.__name__.split("_")
            id = first + "".join(word.capitalize() for word in rest)
            self.operations.append(
                Operation(
                    id,
                    method,
                    path,
                    handle,
                    query,
                    body,
                    answers,
                    self.tag,
                    open,
                    media or JSON,
                    headers or {},
                    presigned,
                    head,
                )
            )
            return handle

        return declare


def parse_query(request: Request, kind: type[Query]) -> Query:
    """Returns the parameters. Raises 400, naming the parameter. Unknown parameters are ignored, because clients send
    more than they have to."""
    fields = _parameters(kind)
    given: dict[str, Any] = {}
    for name in set(request.query_params.keys()) & fields.keys():
        values = request.query_params.getlist(name)
        given[name] = [value for each in values for value in each.split(",")] if fields[name] else values[-1]
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise HttpError(400, f"in the query string: {error}") from None


@cache
def _parameters(kind: type[msgspec.Struct]) -> dict[str, bool]:
    """Returns, by name, whether a parameter may have several values."""
    return {
        field.encode_name: getattr(field.type, "__origin__", None) is tuple for field in msgspec.structs.fields(kind)
    }

"""Turns a request into the arguments of a verb: names in its path, its query string, its body and its key."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
from starlette.requests import Request

from lochan.api.lake import Lake
from lochan.api.options import DEFAULT_COMMIT
from lochan.api.wire.call import EMPTY_NAME, KEY_HEADER, OPTIONS, Argument, ArgumentForm, ArgumentPlace, WireCall
from lochan.server.api.errors import HttpError
from lochan.server.rest.json_body import parse_body

_NUMBER_MAX = 1e12  # the most days, hours or seconds; more would overflow in microseconds
BYTES_ARGUMENT = object()  # takes the place of an argument that is the body


def handle_of(lake: Lake, call: WireCall, names: Mapping[str, str]) -> Any:
    """Returns the handle with these names, of a lake that checks rights."""
    given = {name: "" if value == EMPTY_NAME else value for name, value in names.items()}
    noun = call.verb.noun
    if noun == "Lake":
        return lake
    if noun == "Access":
        return lake.access
    if noun == "DeletedCollection":
        return lake.deleted
    if noun == "Pool":
        return lake.pool(given["pool"])
    repository = lake.repository(given["repository"])
    match noun:
        case "Repository":
            return repository
        case "GarbageCollection":
            return repository.gc
        case "Storage":
            return repository.storage
        case "Ref":
            return repository.ref(given["ref"])
        case "WritableRef":
            ref = given["ref"]
            return repository.workspace(ref) if "+" in ref else repository.branch(ref)
        case "Branch":
            return repository.branch(given["branch"])
        case "PullRequest":
            return repository.pull(given["pull"])
        case "Upload":
            ref = given["ref"]
            target = repository.workspace(ref) if "+" in ref else repository.branch(ref)
            return target.open_upload(given["object"], given["upload"])
    return repository.workspace(given["workspace"])


def handle_names(call: WireCall, request: Request) -> dict[str, str]:
    """Returns the names in the path and the query string. Raises 400 if one is missing, or given more than once."""
    found = dict(request.path_params)
    for name in call.query_names:
        values = request.query_params.getlist(name)
        if len(values) != 1:
            raise HttpError(400, f"in the query string: {name!r} must be given once")
        found[name] = values[0]
    return found


async def parse_arguments(call: WireCall, request: Request) -> tuple[list[Any], dict[str, Any]]:
    """Returns the arguments by position and by name, as the verb takes them. Raises 400, which names the mistake, and
    413."""
    given = {**_path(call, request), **_query(call, request)}
    body = body_type(call)
    if body is not None:
        found = await parse_body(request, body)
        given |= {
            name: value for name in body.__struct_fields__ if (value := getattr(found, name)) is not msgspec.UNSET
        }
    _add_key(call, request, given)
    several = next((each.name for each in call.arguments.values() if each.several), "")
    return list(given.pop(several, ())), given


@cache
def body_type(call: WireCall) -> Any:
    """Returns the struct of the JSON body, or None if there is none."""
    found = [each for each in call.arguments.values() if each.place is ArgumentPlace.BODY]
    return _struct(call, found) if found else None


def _struct(call: WireCall, arguments: list[Argument]) -> Any:
    fields = [(each.name, each.type) for each in arguments if each.required]
    rest = [(each.name, each.type | msgspec.UnsetType, msgspec.UNSET) for each in arguments if not each.required]
    name = f"{call.verb.noun}{''.join(word.capitalize() for word in call.verb.name.split('_'))}Request"
    return msgspec.defstruct(name, [*fields, *rest], forbid_unknown_fields=True, kw_only=True)


def _path(call: WireCall, request: Request) -> dict[str, Any]:
    return {
        name: _parse_named(call.arguments[name], "" if value == EMPTY_NAME else value)
        for name, value in request.path_params.items()
        if name in call.arguments and call.arguments[name].place is ArgumentPlace.PATH
    }


def _parse_named(argument: Argument, value: str) -> Any:
    if argument.form is not ArgumentForm.PLAIN:
        return value
    try:
        return msgspec.convert(value, argument.type, strict=False)
    except msgspec.ValidationError as error:
        raise HttpError(400, f"in the path, {argument.name!r}: {error}") from None


def _query(call: WireCall, request: Request) -> dict[str, Any]:
    parameters = {name: each for name, each in call.arguments.items() if each.place is ArgumentPlace.QUERY}
    given: dict[str, Any] = {}
    for name in request.query_params.keys():  # noqa: SIM118 - a multi-dict
        if name in call.query_names:
            continue
        if name not in parameters:
            allowed = f"; it takes {', '.join(parameters)}" if parameters else ""
            raise HttpError(400, f"in the query string: there is no parameter {name[:50]!r}{allowed}")
        given[name] = _parse_values(parameters[name], request.query_params.getlist(name))
    missing = [name for name, each in parameters.items() if each.required and name not in given]
    if missing:
        raise HttpError(400, f"in the query string: {missing[0]!r} is missing")
    return given


def _parse_values(argument: Argument, values: list[str]) -> Any:
    if argument.form is ArgumentForm.SEVERAL:
        return values
    if len(values) > 1:
        raise HttpError(400, f"in the query string: {argument.name!r} is given more than once")
    try:
        if argument.form is ArgumentForm.JSON:
            return msgspec.json.decode(values[0], type=argument.type)
        found = msgspec.convert(values[0], argument.type, strict=False)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise HttpError(400, f"in the query string, {argument.name!r}: {error}") from None
    if isinstance(found, float) and not abs(found) <= _NUMBER_MAX:  # the comparison also refuses nan
        raise HttpError(400, f"in the query string, {argument.name!r}: {values[0][:50]} is no number that can be meant")
    return found


def _add_key(call: WireCall, request: Request, given: dict[str, Any]) -> None:
    key = request.headers.get(KEY_HEADER, "")
    if not key:
        return
    if call.key:
        given[call.key] = key
    elif call.has_commit_options:
        given[OPTIONS] = msgspec.structs.replace(given.get(OPTIONS, DEFAULT_COMMIT), key=key)

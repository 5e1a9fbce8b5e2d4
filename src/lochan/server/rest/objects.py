"""Lists, reads, writes, copies and deletes objects."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from email.utils import formatdate
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from lochan.api.branch import Branch
from lochan.api.options import PutOptions
from lochan.api.ref import Ref
from lochan.errors import LochanError, NotFound
from lochan.server.api.errors import status_of
from lochan.server.rest.conditions import HEADERS, conditions
from lochan.server.rest.form import form_content
from lochan.server.rest.object_address import named_address, physical_address
from lochan.server.rest.operation import Answer, Resource, RestCall
from lochan.server.rest.pages import AMOUNT, Amount, page_limit, pagination
from lochan.server.rest.presign import EXPIRES_S, UrlSigner
from lochan.server.rest.wire import (
    ObjectCopyCreation,
    ObjectError,
    ObjectErrorList,
    ObjectStats,
    ObjectStatsList,
    PathList,
    UnderlyingProperties,
    UserMetadataUpdate,
    seconds,
)

RESOURCE = Resource("objects")
_AT_REF = "/repositories/{repository}/refs/{ref}/objects"
_ON_BRANCH = "/repositories/{repository}/branches/{branch}/objects"
_BYTES = "application/octet-stream"
_METADATA = "x-lakefs-meta-"


class PathQuery(msgspec.Struct, frozen=True):
    path: str


class ReadQuery(PathQuery, frozen=True):
    presign: bool = False


class StatQuery(ReadQuery, frozen=True):
    user_metadata: bool = True


class ListQuery(msgspec.Struct, frozen=True):
    prefix: str = ""
    after: str = ""
    delimiter: str = ""
    amount: Amount = AMOUNT
    user_metadata: bool = True
    presign: bool = False


class WriteQuery(PathQuery, frozen=True):
    storageClass: str = ""
    force: bool = False


class DeleteQuery(PathQuery, frozen=True):
    force: bool = False
    no_tombstone: bool = False


class BulkDeleteQuery(msgspec.Struct, frozen=True):
    force: bool = False
    no_tombstone: bool = False


class CopyQuery(msgspec.Struct, frozen=True):
    dest_path: str


@RESOURCE.operation("GET", f"{_AT_REF}/ls", {200: ObjectStatsList}, query=ListQuery)
async def list_objects(call: RestCall) -> Answer:
    """List objects; with a delimiter, folders count once."""
    query: ListQuery = call.query
    page = await _ref(call).list_page(
        query.prefix, delimiter=query.delimiter, after=query.after, limit=page_limit(query.amount)
    )
    address = await _listed_address(call, query.presign)
    found = [ObjectStats.of(each, address(each.path), metadata=query.user_metadata) for each in page.objects]
    found += map(ObjectStats.of_prefix, page.prefixes)
    found.sort(key=lambda each: each.path.encode())
    return ObjectStatsList(pagination=pagination(len(found), page.next or ""), results=found)


@RESOURCE.operation("GET", f"{_AT_REF}/stat", {200: ObjectStats}, query=StatQuery)
async def stat_object(call: RestCall) -> Answer:
    """Get what is known about an object."""
    query: StatQuery = call.query
    found = await _ref(call).details(query.path)
    if not query.presign:
        address = physical_address(found, call.lake.url, call.name("repository"), call.name("ref"))
        return ObjectStats.of(found.info, address, metadata=query.user_metadata)
    url, expires = await _presign(call, query.path)
    return ObjectStats.of(found.info, url, metadata=query.user_metadata, expires=expires)


@RESOURCE.operation("GET", f"{_AT_REF}/underlyingProperties", {200: UnderlyingProperties}, query=PathQuery)
async def get_underlying_properties(call: RestCall) -> Answer:
    """Get the properties of an object on the store."""
    await _ref(call).stat(call.query.path)
    return UnderlyingProperties()


@RESOURCE.operation(
    "GET",
    _AT_REF,
    {200: bytes, 206: bytes, 302: None, 304: None, 416: None},
    query=ReadQuery,
    media="*/*",
    headers={"Range": "bytes that are wanted: FIRST-LAST, FIRST- or -COUNT", "If-None-Match": "ETags: 304 for these"},
    head="headObject",
)
async def get_object(call: RestCall) -> Answer:
    """Read an object, or one range of it. Its bytes are checked against what was stored.

    With `presign`, the answer leads to an address that gives them to anybody for 15 minutes.
    """
    if call.query.presign:
        url, _ = await _presign(call, call.query.path)
        return Response(status_code=302, headers={"location": url})
    found = await _ref(call).open(call.query.path)
    headers = {
        "etag": f'"{found.etag}"',
        "last-modified": formatdate(found.mtime.timestamp(), usegmt=True),
        "accept-ranges": "bytes",
        "content-disposition": f'attachment; filename="{_file_name(found.path)}"',
        "content-security-policy": "sandbox",
        "x-content-type-options": "nosniff",
        **{f"{_METADATA}{name}": value for name, value in found.metadata.items() if _is_header(name, value)},
    }
    if _matches(call.request.headers.get("if-none-match"), found.etag):
        return Response(status_code=304, headers=headers)
    start, stop, status = _span(call.request, found.size)
    if status == 416:
        return Response(status_code=416, headers={"content-range": f"bytes */{found.size}"})
    if status == 206:
        headers["content-range"] = f"bytes {start}-{stop - 1}/{found.size}"
    headers["content-length"] = str(stop - start)
    headers["content-type"] = found.content_type or _BYTES  # as it was stored, without a character set that we add
    if call.request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    return StreamingResponse(_pieces(found, start, stop), status, headers)


@RESOURCE.operation("POST", _ON_BRANCH, {201: ObjectStats}, query=WriteQuery, media=_BYTES, headers=HEADERS)
async def upload_object(call: RestCall) -> Answer:
    """Write an object: its bytes are the body, or the field `content` of a form."""
    query: WriteQuery = call.query
    headers = call.request.headers
    kind, body = await form_content(call.request)
    metadata = {name[len(_METADATA) :]: value for name, value in headers.items() if name.startswith(_METADATA)}
    options = PutOptions(content_type=kind, metadata=metadata, conditions=conditions(headers))
    made = await _branch(call).put(query.path, body, options, key=call.key)
    return ObjectStats.of(made, _address(call, made.path))


@RESOURCE.operation("DELETE", _ON_BRANCH, {204: None}, query=DeleteQuery)
async def delete_object(call: RestCall) -> Answer:
    """Delete an object. There need not be one."""
    await _branch(call).delete(call.query.path, key=call.key)
    return None


@RESOURCE.operation("POST", f"{_ON_BRANCH}/delete", {200: ObjectErrorList}, query=BulkDeleteQuery, body=PathList)
async def delete_objects(call: RestCall) -> Answer:
    """Delete up to 1,000 objects in one event."""
    paths: list[str] = call.body.paths
    try:
        await _branch(call).delete(*paths, key=call.key)
    except NotFound:
        raise
    except LochanError as error:  # the client expects an error for each path
        errors = [ObjectError(status_code=status_of(error), message=error.message, path=each) for each in paths]
        return ObjectErrorList(errors=errors)
    return ObjectErrorList(errors=[])


@RESOURCE.operation("POST", f"{_ON_BRANCH}/copy", {201: ObjectStats}, query=CopyQuery, body=ObjectCopyCreation)
async def copy_object(call: RestCall) -> Answer:
    """Copy an object within a repository. No byte is moved."""
    wanted: ObjectCopyCreation = call.body
    repository = call.lake.repository(call.name("repository"))
    source = repository.ref(wanted.src_ref or call.name("branch"))
    made = await _branch(call).copy(source, wanted.src_path, call.query.dest_path, key=call.key)
    return ObjectStats.of(made, _address(call, made.path))


@RESOURCE.operation("PUT", f"{_ON_BRANCH}/stat/user_metadata", {201: None}, query=PathQuery, body=UserMetadataUpdate)
async def update_object_user_metadata(call: RestCall) -> Answer:
    """Replace the metadata of an object."""
    path, branch = call.query.path, _branch(call)
    await branch.copy(branch, path, path, metadata=call.body.set, key=call.key)
    return Response(status_code=201)


def _ref(call: RestCall) -> Ref:
    return call.lake.repository(call.name("repository")).ref(call.name("ref"))


def _branch(call: RestCall) -> Branch:
    return call.lake.repository(call.name("repository")).branch(call.name("branch"))


async def _presign(call: RestCall, path: str) -> tuple[str, int]:
    """Returns a URL that gives the object's bytes, and the time when it ends. It is a URL of the store, or otherwise of
    this server. Raises NotFound."""
    found = await _ref(call).presign(path, expires_s=EXPIRES_S)
    if found is not None:
        return found.url, seconds(found.expires)
    signer = await UrlSigner.of(call.api, call.request)
    return signer.object(call.name("repository"), call.name("ref"), path), signer.expires


async def _listed_address(call: RestCall, presign: bool) -> Callable[[str], str]:
    """Returns a function that gives the address of each listed object. All are addresses of this server, because
    addresses of the store would need a look at each object."""
    if not presign:
        return partial(_address, call)
    return partial((await UrlSigner.of(call.api, call.request)).object, call.name("repository"), call.name("ref"))


def _address(call: RestCall, path: str) -> str:
    return named_address(call.name("repository"), call.request.path_params.get("ref") or call.name("branch"), path)


async def _pieces(found: Any, start: int, stop: int) -> AsyncIterator[bytes]:
    async with aclosing(found.stream(start, stop)) as pieces:
        async for piece in pieces:
            yield piece


def _span(request: Request, size: int) -> tuple[int, int, int]:
    """Returns start, stop and status. A range that cannot be understood is ignored, as HTTP says."""
    unit, _, text = request.headers.get("range", "").partition("=")
    first, dash, last = text.strip().partition("-")
    if unit.strip() != "bytes" or not dash or "," in text or not (first + last).isdecimal() or len(first + last) > 38:
        return 0, size, 200
    if not first:
        start, stop = max(size - int(last), 0), size
        return (start, stop, 206) if int(last) and size else (0, 0, 416)
    start, stop = int(first), min(int(last) + 1 if last else size, size)
    if last and int(last) < int(first):
        return 0, size, 200
    return (start, stop, 206) if start < size else (0, 0, 416)


def _matches(header: str | None, etag: str) -> bool:
    return header is not None and (header.strip() == "*" or etag in {each.strip(' "') for each in header.split(",")})


def _is_header(name: str, value: str) -> bool:
    return name.isascii() and value.isascii() and name.isprintable() and value.isprintable() and ":" not in name


def _file_name(path: str) -> str:
    name = path.rpartition("/")[2]
    return "".join(each if each.isascii() and each.isprintable() and each not in '"\\;' else "_" for each in name)

"""Handles objects that clients upload in parts, each to a signed address. Whoever has the address puts the part at this
server, and the parts become one object when the upload is completed."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from starlette.responses import Response

from lochan.api.parts import NamedPart, Upload
from lochan.api.wrappers.proxy import try_call
from lochan.server.api.errors import HttpError
from lochan.server.rest.object_address import named_address
from lochan.server.rest.objects import PathQuery
from lochan.server.rest.operation import Answer, Resource, RestCall
from lochan.server.rest.presign import UrlSigner
from lochan.server.rest.wire import ObjectStats, Texts, WireRequest, WireValue

RESOURCE = Resource("uploads")
PARTS_MAX = 10_000
_BRANCH = "/repositories/{repository}/branches/{branch}"
_UPLOADS = f"{_BRANCH}/staging/pmpu"
_UPLOAD = f"{_UPLOADS}/{{uploadId}}"
_PART = f"{_UPLOAD}/parts/{{partNumber}}"
_BYTES = "application/octet-stream"
_NUMBER = re.compile("[0-9]{1,5}")
_RANGE = re.compile("bytes=([0-9]{1,18})-([0-9]{1,18})")


class PartsQuery(PathQuery, frozen=True):
    parts: Annotated[int, msgspec.Meta(ge=0, le=PARTS_MAX)] = 0


class PresignMultipartUpload(WireValue, frozen=True, kw_only=True):
    upload_id: str
    physical_address: str
    presigned_urls: list[str]


class PartETag(WireRequest, frozen=True, kw_only=True):
    part_number: int
    etag: str


class UploadCompletion(WireRequest, frozen=True, kw_only=True):
    physical_address: str
    parts: Annotated[list[PartETag], msgspec.Meta(max_length=PARTS_MAX)]
    user_metadata: Texts | None = None
    content_type: str | None = None


class UploadPlace(WireRequest, frozen=True, kw_only=True):
    physical_address: str = ""


class PartTarget(WireValue, frozen=True, kw_only=True):
    presigned_url: str


class PartSource(WireRequest, frozen=True, kw_only=True):
    repository: str
    ref: str
    path: str
    range: str | None = None


class PartCopy(WireRequest, frozen=True, kw_only=True):
    physical_address: str
    copy_source: PartSource


@RESOURCE.operation("POST", _UPLOADS, {201: PresignMultipartUpload}, query=PartsQuery)
async def create_presign_multipart_upload(call: RestCall) -> Answer:
    """Begin an upload in parts, and get an address for each of so many parts. An address is good for 15 minutes."""
    query: PartsQuery = call.query
    branch = call.lake.repository(call.name("repository")).branch(call.name("branch"))
    upload = await branch.create_upload(query.path, key=call.key)
    signer = await UrlSigner.of(call.api, call.request)
    urls = [_address(call, signer, upload.id, number) for number in range(1, query.parts + 1)]
    return PresignMultipartUpload(upload_id=upload.id, physical_address=_place(call), presigned_urls=urls)


@RESOURCE.operation("PUT", _PART, {200: PartTarget}, query=PathQuery, body=UploadPlace)
async def upload_part(call: RestCall) -> Answer:
    """Get an address for one part."""
    _check_place(call, call.body.physical_address)
    upload, number = _upload(call), _number(call)
    await try_call(upload, "put_part", number, b"")  # by this address, or by another one
    await upload.show()
    signer = await UrlSigner.of(call.api, call.request)
    return PartTarget(presigned_url=_address(call, signer, call.name("uploadId"), number))


@RESOURCE.operation("PUT", f"{_PART}/body", {200: None}, query=PathQuery, media=_BYTES, presigned=True)
async def put_part(call: RestCall) -> Answer:
    """Put the bytes of a part. The answer's ETag names it when the upload is completed."""
    made = await _upload(call).put_part(_number(call), call.request.stream(), key=call.key)
    return _tag(made.etag)


@RESOURCE.operation("PUT", f"{_PART}/copy", {200: None}, query=PathQuery, body=PartCopy)
async def upload_part_copy(call: RestCall) -> Answer:
    """Make a span of an object a part; within a repository no byte is moved."""
    wanted: PartCopy = call.body
    _check_place(call, wanted.physical_address)
    source = wanted.copy_source
    start, stop = _span(source.range)
    ref = call.lake.repository(source.repository).ref(source.ref)
    made = await _upload(call).copy_part(_number(call), ref, source.path, start, stop, key=call.key)
    return _tag(made.etag)


@RESOURCE.operation("PUT", _UPLOAD, {200: ObjectStats}, query=PathQuery, body=UploadCompletion)
async def complete_presign_multipart_upload(call: RestCall) -> Answer:
    """Make the parts one object."""
    wanted: UploadCompletion = call.body
    _check_place(call, wanted.physical_address)
    parts = [NamedPart(each.part_number, each.etag.strip('"')) for each in wanted.parts]
    made = await _upload(call).complete(
        parts, content_type=wanted.content_type, metadata=wanted.user_metadata, key=call.key
    )
    return ObjectStats.of(made, _place(call))


@RESOURCE.operation("DELETE", _UPLOAD, {204: None}, query=PathQuery, body=UploadPlace)
async def abort_presign_multipart_upload(call: RestCall) -> Answer:
    """Give an upload up, with all its parts."""
    _check_place(call, call.body.physical_address)
    await _upload(call).abort(key=call.key)
    return None


def _upload(call: RestCall) -> Upload:
    branch = call.lake.repository(call.name("repository")).branch(call.name("branch"))
    return branch.open_upload(call.query.path, call.name("uploadId"))


def _place(call: RestCall) -> str:
    """Returns what is called the physical address of an upload: the name of its object. Where its parts lie is
    internal, and nobody can put bytes there."""
    return named_address(call.name("repository"), call.name("branch"), call.query.path)


def _check_place(call: RestCall, given: str) -> None:
    if given and given != _place(call):
        raise HttpError(400, "in the body: `physical_address` is not that of this upload")


def _number(call: RestCall) -> int:
    text = call.name("partNumber")
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= PARTS_MAX:
        raise HttpError(400, f"in the path: a part has a number from 1 to {PARTS_MAX:,}, not {text[:20]!r}")
    return int(text)


def _span(text: str | None) -> tuple[int, int | None]:
    if text is None:
        return 0, None
    found = _RANGE.fullmatch(text)
    if found is None:
        raise HttpError(400, "in the body: `copy_source.range` must be like bytes=0-1023")
    return int(found[1]), int(found[2]) + 1


def _address(call: RestCall, signer: UrlSigner, id: str, number: int) -> str:
    base = f"/api/v1/repositories/{call.name('repository')}/branches/{call.name('branch')}/staging/pmpu"
    return signer.upload(f"{base}/{id}/parts/{number}/body", {"path": call.query.path})


def _tag(etag: str) -> Response:
    return Response(headers={"etag": f'"{etag}"'})

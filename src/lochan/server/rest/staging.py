"""Handles bytes that a client puts on the store itself and then links to a path."""

from __future__ import annotations

import re

import msgspec
from starlette.responses import Response

from lochan.api.branch import Branch
from lochan.server.api.errors import HttpError
from lochan.server.rest.conditions import HEADERS, conditions
from lochan.server.rest.objects import PathQuery
from lochan.server.rest.operation import Answer, Resource, RestCall
from lochan.server.rest.presign import EXPIRES_S, UrlSigner
from lochan.server.rest.wire import (
    ObjectStageCreation,
    ObjectStats,
    StagingLocation,
    StagingMetadata,
    seconds,
)

RESOURCE = Resource("staging")
_BRANCH = "/repositories/{repository}/branches/{branch}"
_BACKING = f"{_BRANCH}/staging/backing"
_BYTES = "application/octet-stream"
_MD5 = re.compile("[0-9a-f]{32}")
_TOKEN = "#token="  # follows an address that was given out; no store uses it in a name of ours


class AddressQuery(PathQuery, frozen=True):
    presign: bool = False


class PutQuery(PathQuery, frozen=True):
    token: str


class StageQuery(msgspec.Struct, frozen=True):
    path: str


@RESOURCE.operation("GET", _BACKING, {200: StagingLocation}, query=AddressQuery)
async def get_physical_address(call: RestCall) -> Answer:
    """Get an address for an object's bytes, good for one day and one object."""
    path = call.query.path
    address = await _branch(call).address(path, presigned_s=EXPIRES_S if call.query.presign else 0)
    given = f"{address.url}{_TOKEN}{address.token}"
    if not call.query.presign:
        return StagingLocation(physical_address=given, presigned_url_expiry=seconds(address.expires))
    signer = await UrlSigner.of(call.api, call.request)
    url = address.presigned or signer.upload(f"{call.request.url.path}/body", {"path": path, "token": address.token})
    return StagingLocation(physical_address=given, presigned_url=url, presigned_url_expiry=signer.expires)


@RESOURCE.operation("PUT", f"{_BACKING}/body", {200: None}, query=PutQuery, media=_BYTES, presigned=True)
async def put_physical_address(call: RestCall) -> Answer:
    """Put bytes at an address that was given out, where its store takes none without keys.

    `getPhysicalAddress` gives the URL of this operation as the presigned one. The answer's ETag is for the link.
    """
    md5 = await _branch(call).put_address(call.query.path, call.query.token, call.request.stream())
    return Response(headers={"etag": f'"{md5}"'})


@RESOURCE.operation("PUT", _BACKING, {200: ObjectStats}, query=StageQuery, body=StagingMetadata, headers=HEADERS)
async def link_physical_address(call: RestCall) -> Answer:
    """Make the bytes at an address that was given out an object."""
    wanted: StagingMetadata = call.body
    url, found, token = wanted.staging.physical_address.partition(_TOKEN)
    if not found:
        raise HttpError(400, "in the body: `staging.physical_address` is no address that was given out")
    made = await _branch(call).link_address(
        call.query.path,
        token,
        size=wanted.size_bytes,
        checksum=wanted.checksum if _MD5.fullmatch(wanted.checksum) else None,
        content_type=wanted.content_type,
        metadata=wanted.user_metadata,
        conditions=conditions(call.request.headers),
        key=call.key,
    )
    return ObjectStats.of(made, url)


@RESOURCE.operation("PUT", f"{_BRANCH}/objects", {201: ObjectStats}, query=StageQuery, body=ObjectStageCreation)
async def stage_object(call: RestCall) -> Answer:
    """Make a file outside the lake an object, without a copy."""
    wanted: ObjectStageCreation = call.body
    made = await _branch(call).link(
        call.query.path,
        wanted.physical_address,
        content_type=wanted.content_type,
        metadata=wanted.metadata,
        key=call.key,
    )
    return ObjectStats.of(made, wanted.physical_address)


def _branch(call: RestCall) -> Branch:
    return call.lake.repository(call.name("repository")).branch(call.name("branch"))

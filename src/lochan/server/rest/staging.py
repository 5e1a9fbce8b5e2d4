"""Bytes that a client puts on the store by itself, and then links to a path."""

from __future__ import annotations

import msgspec

from lochan.api.branch import Branch
from lochan.server.api.errors import HttpError
from lochan.server.rest.objects import PathQuery
from lochan.server.rest.operation import Answer, Resource, RestCall
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
_TOKEN = "#token="  # behind an address that was given out: no store has it in a name of ours


class AddressQuery(PathQuery, frozen=True):
    presign: bool = False


class StageQuery(msgspec.Struct, frozen=True):
    path: str


@RESOURCE.operation("GET", _BACKING, {200: StagingLocation}, query=AddressQuery)
async def get_physical_address(call: RestCall) -> Answer:
    """Get an address for an object's bytes, good for one day and one object."""
    if call.query.presign:
        raise HttpError(400, "presigned addresses are not supported: put the bytes with credentials of the store")
    given = await _branch(call).address(call.query.path)
    return StagingLocation(
        physical_address=f"{given.url}{_TOKEN}{given.token}", presigned_url_expiry=seconds(given.expires)
    )


@RESOURCE.operation("PUT", _BACKING, {200: ObjectStats}, query=StageQuery, body=StagingMetadata)
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
        content_type=wanted.content_type,
        metadata=wanted.user_metadata,
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

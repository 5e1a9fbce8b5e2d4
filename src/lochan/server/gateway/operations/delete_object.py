"""DeleteObject: what is not there counts as deleted."""

from lochan.formats.entry import Entry
from lochan.journal.request_key import part_of
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.looking import current
from lochan.server.gateway.places import Place, check_writable, object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.conditions import (
    ANY,
    MATCH_MODIFIED,
    MATCH_SIZE,
    DeleteConditions,
    delete_conditions,
)
from lochan.versioning import objects

ACTION = "fs:DeleteObject"


async def handle(gateway: Gateway, request: Request) -> Response:
    place = await object_place(gateway, request, ACTION, root=True, blind=True)
    check_writable(place)
    headers = request.headers
    wanted = delete_conditions(headers.get("if-match"), headers.get(MATCH_MODIFIED), headers.get(MATCH_SIZE))
    if wanted == ANY or not place.path:
        await delete(gateway, request, place, [place.path])
    else:
        await delete_if(gateway, request, place, wanted)
    return Response(204, [])


async def delete_if(gateway: Gateway, request: Request, place: Place, wanted: DeleteConditions) -> None:
    """Only what is as it should be at the very moment of the deletion. Raises PreconditionFailed, NoSuchKey."""

    def check(there: Entry | None) -> None:
        wanted.check(None if there is None else current(there))

    actor = part_of(gateway.keyed_actor(request, place.path), f"{place.ref}/{place.path}")
    await objects.delete_if(place.repository, place.ref, place.path, check, actor=actor)


async def delete(gateway: Gateway, request: Request, place: Place, paths: list[str]) -> None:
    """Of one branch or workspace, as one event."""
    paths = [path for path in paths if path]  # the root of a branch stays
    # A list of keys may be of several branches, and each is decided by itself.
    actor = part_of(gateway.keyed_actor(request, paths), place.ref)
    if paths:
        await objects.delete(place.repository, place.ref, paths, actor=actor)

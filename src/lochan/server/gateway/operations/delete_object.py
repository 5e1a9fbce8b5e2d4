"""DeleteObject: what is not there counts as deleted."""

from contextlib import suppress

from lochan.formats.entry import Entry
from lochan.formats.refs_events import Staged
from lochan.journal.request_key import CarriedOut, part_of
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.looking import current, find
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
from lochan.versioning.conditional import submit_if
from lochan.versioning.once import check_first
from lochan.versioning.workspaces import writing as workspaces

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

    if place.workspace:  # one writer's: what they look at is what is there
        check(await find(place))
        await delete(gateway, request, place, [place.path])
        return
    event = Staged(place.branch, deletes=(place.path,))
    actor = part_of(gateway.keyed_actor(request, place.path), f"{place.ref}/{place.path}")
    with suppress(CarriedOut):  # sent again with its idempotency key
        await check_first(place.repository, actor)
        await submit_if(place.repository, place.branch, place.path, check, (event,), actor=actor)


async def delete(gateway: Gateway, request: Request, place: Place, paths: list[str]) -> None:
    """Of one branch or workspace, as one event."""
    paths = [path for path in paths if path]  # the root of a branch stays
    # A list of keys may be of several branches, and each is decided by itself.
    actor = part_of(gateway.keyed_actor(request, paths), place.ref)
    if not paths:
        return
    if place.workspace:
        with suppress(CarriedOut):
            await check_first(place.repository, actor)
            await workspaces.delete(place.repository, place.workspace, paths, actor=actor)
    else:
        await objects.delete(place.repository, place.branch, paths, actor=actor)

"""DeleteObject: what is not there counts as deleted."""

from contextlib import suppress

from lochan.formats.refs_events import Staged
from lochan.journal.request_key import CarriedOut, part_of
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.looking import find
from lochan.server.gateway.places import Place, check_writable, object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.conditions import conditions
from lochan.server.gateway.writing import check
from lochan.versioning import objects
from lochan.versioning.conditional import submit_if
from lochan.versioning.once import check_first
from lochan.versioning.workspaces import writing as workspaces

ACTION = "fs:DeleteObject"


async def handle(gateway: Gateway, request: Request) -> Response:
    place = await object_place(gateway, request, ACTION, root=True, blind=True)
    check_writable(place)
    wanted = conditions(request.headers)
    if wanted.match is not None and place.path and not place.workspace:
        actor = gateway.keyed_actor(request)
        with suppress(CarriedOut):  # sent again with its idempotency key
            await check_first(place.repository, actor)
            await submit_if(
                place.repository,
                place.branch,
                place.path,
                lambda there: check(wanted, there),
                (Staged(place.branch, deletes=(place.path,)),),
                actor=actor,
            )
    else:
        if wanted.match is not None and place.path:
            check(wanted, await find(place))
        await delete(gateway, request, place, [place.path])
    return Response(204, [])


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

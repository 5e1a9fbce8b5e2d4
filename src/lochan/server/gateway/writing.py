"""Entries on their way into a branch or a workspace, with the conditions that the request makes."""

from lochan.formats.entry import Entry
from lochan.formats.record import Actor
from lochan.formats.refs_events import Staged
from lochan.journal.request_key import CarriedOut
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.looking import current, find
from lochan.server.gateway.places import Place
from lochan.server.gateway.request import Request
from lochan.server.gateway.wire.conditions import NONE, Conditions, conditions
from lochan.versioning.conditional import submit_if
from lochan.versioning.once import check_first
from lochan.versioning.workspaces import writing as workspaces


async def stage(gateway: Gateway, request: Request, place: Place, entry: Entry, *, read_at: int = 0) -> None:
    """Seen by everybody when it returns. A request that is sent again with its idempotency key and the same bytes was
    carried out, and what came to the path since stays. Raises PreconditionFailed, KeyReused."""
    actor = gateway.keyed_actor(request, entry.etag, request.headers.get("x-amz-copy-source", ""))
    try:
        await check_first(place.repository, actor)  # before the conditions: it may be what they are about
        await _stage(request, place, entry, actor, read_at)
    except CarriedOut:
        return


async def _stage(request: Request, place: Place, entry: Entry, actor: Actor, read_at: int) -> None:
    wanted = conditions(request.headers)
    repository = place.repository
    if place.workspace:
        if wanted != NONE:  # a workspace is one writer's: what they look at is what is there
            check(wanted, await find(place))
        await workspaces.stage(repository, place.workspace, [entry], actor=actor, read_at=read_at)
        return
    event = Staged(place.branch, puts=(entry,), read_at=read_at)
    if wanted.match is None and wanted.none_match is None:
        await repository.submit(actor, event)
    else:
        await submit_if(repository, place.branch, place.path, lambda there: check(wanted, there), (event,), actor=actor)
    repository.staged(place.branch)


def check(wanted: Conditions, there: Entry | None) -> None:
    wanted.check_write(None if there is None else current(there))

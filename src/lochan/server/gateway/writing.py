"""Entries on their way into a branch or a workspace, with the conditions that the request makes."""

from lochan.formats.entry import Entry
from lochan.formats.refs_events import Staged
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.looking import current, find
from lochan.server.gateway.places import Place
from lochan.server.gateway.request import Request
from lochan.server.gateway.wire.conditions import NONE, Conditions, conditions
from lochan.versioning.conditional import submit_if
from lochan.versioning.workspaces import writing as workspaces


async def stage(gateway: Gateway, request: Request, place: Place, entry: Entry, *, read_at: int = 0) -> None:
    """Seen by everybody when it returns. Raises PreconditionFailed."""
    wanted = conditions(request.headers)
    actor = gateway.actor(request)
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

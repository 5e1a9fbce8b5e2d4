"""Entries on their way into a branch or a workspace, with the conditions that the request makes."""

from lochan.formats.entry import Entry
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.looking import current
from lochan.server.gateway.places import Place
from lochan.server.gateway.request import Request
from lochan.server.gateway.wire.conditions import Conditions, conditions
from lochan.versioning import objects


async def stage(gateway: Gateway, request: Request, place: Place, entry: Entry, *, read_at: int = 0) -> None:
    """Seen by everybody when it returns. A request that is sent again with its idempotency key and the same bytes was
    carried out, and what came to the path since stays. Raises PreconditionFailed, KeyReused."""
    actor = gateway.keyed_actor(request, entry.etag, request.headers.get("x-amz-copy-source", ""))
    wanted = conditions(request.headers)
    is_plain = wanted.match is None and wanted.none_match is None
    await objects.stage(
        place.repository,
        place.ref,
        entry,
        actor=actor,
        check=None if is_plain else lambda there: check(wanted, there),
        read_at=read_at,
    )


def check(wanted: Conditions, there: Entry | None) -> None:
    wanted.check_write(None if there is None else current(there))

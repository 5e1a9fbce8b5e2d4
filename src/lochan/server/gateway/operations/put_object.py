"""PutObject: a body, durable and seen by everybody when it is answered.

A small one shares a file and a sync with others that come at the same time; a large one is streamed in bounded memory.
"""

from lochan.formats.entry import Entry
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.looking import checksum_headers, look_up
from lochan.server.gateway.places import Place, check_writable, object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.storing import Body, Incoming, Told, told
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.writing import stage
from lochan.versioning.bodies.body import PACKED_BYTES_MAX, ready

ACTION = "fs:WriteObject"


async def handle(gateway: Gateway, request: Request) -> Response:
    place = await object_place(gateway, request, ACTION, root=True, blind=True)
    check_writable(place)
    incoming = Incoming(request)
    if place.path:
        entry = await written(gateway, place, told(request.headers), incoming)
        await stage(gateway, request, place, entry)
    else:
        entry = await _root(place, incoming)
    return Response(200, [("etag", f'"{entry.etag}"'), *checksum_headers(entry), ("content-length", "0")])


async def _root(place: Place, incoming: Incoming) -> Entry:
    """A client that makes each folder on the way to a file makes this one too, and it is there."""
    if incoming.length:
        raise S3Error("InvalidArgument", f"A path is missing behind {place.ref!r}.")
    await incoming.whole()
    return await look_up(place)


async def written(gateway: Gateway, place: Place, said: Told, incoming: Body) -> Entry:
    """Raises BadDigest and its like with nothing staged."""
    if incoming.length <= PACKED_BYTES_MAX:
        small = ready(
            place.path,
            await incoming.whole(),
            content_type=said.content_type,
            headers=said.headers,
            metadata=said.metadata,
            expected_md5=incoming.expected_md5,
            checksums=incoming.checksums,
        )
        incoming.check_trailer(small.entry.checksums)
        return await gateway.packing(place.repository).write(small)
    entry = await place.repository.bodies.write(
        place.path,
        incoming.pieces(),
        mint=place.repository.journal.tail.state.number,  # G1: what was folded before the first byte
        content_type=said.content_type,
        headers=said.headers,
        metadata=said.metadata,
        expected_md5=incoming.expected_md5,
        checksums=incoming.checksums,
        whole=incoming.hand_over(),
        size=incoming.length,
    )
    incoming.check_trailer(entry.checksums)
    return entry

"""PutObject: a body, durable and seen by everybody when it is answered.

A small one shares a file and a sync with others that come at the same time; a large one is streamed in bounded memory.
"""

from lochan.formats.entry import Entry
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.looking import checksum_headers
from lochan.server.gateway.places import Place, check_writable, object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.storing import Body, Incoming, Told, told
from lochan.server.gateway.writing import stage
from lochan.versioning.bodies.body import PACKED_BYTES_MAX, ready

ACTION = "fs:WriteObject"


async def handle(gateway: Gateway, request: Request) -> Response:
    place = await object_place(gateway, request, ACTION)
    check_writable(place)
    entry = await written(gateway, place, told(request.headers), Incoming(request))
    await stage(gateway, request, place, entry)
    return Response(200, [("etag", f'"{entry.etag}"'), *checksum_headers(entry), ("content-length", "0")])


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
    _, mint = await place.repository.refs()
    entry = await place.repository.bodies.write(
        place.path,
        incoming.pieces(),
        mint=mint,
        content_type=said.content_type,
        headers=said.headers,
        metadata=said.metadata,
        expected_md5=incoming.expected_md5,
        checksums=incoming.checksums,
    )
    incoming.check_trailer(entry.checksums)
    return entry

"""PutObject: a body, durable and seen by everybody when it is answered.

A small one shares a file and a sync with others that come at the same time; a large one is streamed in bounded memory.
"""

from lochan.formats.entry import Entry
from lochan.server.gateway.find_object import ObjectAddress, check_writable, current, get_entry, object_address
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.incoming_body import BodySource, RequestBody
from lochan.server.gateway.object_headers import ObjectHeaders, checksum_headers, kept_headers
from lochan.server.gateway.request import Response, S3Request
from lochan.server.gateway.wire.conditions import Conditions, conditions
from lochan.server.gateway.wire.errors import S3Error
from lochan.versioning import objects
from lochan.versioning.bodies.body import PACKED_BYTES_MAX, ready

ACTION = "fs:WriteObject"


async def put_object(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, ACTION, root=True, blind=True)
    check_writable(address)
    incoming = RequestBody(request)
    if address.path:
        entry = await write_body(address, kept_headers(request.headers), incoming)
        await stage(gateway, request, address, entry)
    else:
        entry = await _root(address, incoming)
    return Response(200, [("etag", f'"{entry.etag}"'), *checksum_headers(entry), ("content-length", "0")])


async def _root(address: ObjectAddress, incoming: RequestBody) -> Entry:
    """A client that makes each folder on the way to a file makes this one too, and it is there."""
    if incoming.length:
        raise S3Error("InvalidArgument", f"The key has no path after {address.ref!r}.")
    await incoming.whole()
    return await get_entry(address)


async def write_body(address: ObjectAddress, said: ObjectHeaders, incoming: BodySource) -> Entry:
    """Raises BadDigest and its like with nothing staged."""
    if incoming.length <= PACKED_BYTES_MAX:
        small = ready(
            address.path,
            await incoming.whole(),
            content_type=said.content_type,
            headers=said.headers,
            metadata=said.metadata,
            expected_md5=incoming.expected_md5,
            checksums=incoming.checksums,
        )
        incoming.check_trailer(small.entry.checksums)
        return await address.repository.packing.write(small)
    entry = await objects.write_body(
        address.repository,
        address.path,
        incoming.pieces(),
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


async def stage(
    gateway: Gateway, request: S3Request, address: ObjectAddress, entry: Entry, *, read_at: int = 0
) -> None:
    """Seen by everybody when it returns. A request that is sent again with its idempotency key and the same bytes was
    carried out, and what came to the path since stays. Raises PreconditionFailed, KeyReused."""
    actor = gateway.keyed_actor(request, entry.etag, request.headers.get("x-amz-copy-source", ""))
    wanted = conditions(request.headers)
    is_plain = wanted.match is None and wanted.none_match is None
    await objects.stage(
        address.repository,
        address.ref,
        entry,
        actor=actor,
        check=None if is_plain else lambda there: check(wanted, there),
        read_at=read_at,
    )


def check(wanted: Conditions, there: Entry | None) -> None:
    wanted.check_write(None if there is None else current(there))

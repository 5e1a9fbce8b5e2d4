"""DeleteObjects: up to a thousand keys; each is deleted, was not there, or says what is wrong with it."""

from collections import defaultdict

from lochan.access import resources
from lochan.errors import LochanError
from lochan.server.gateway.answers import xml
from lochan.server.gateway.failures import as_s3
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.operations.delete_object import ACTION, delete, delete_if
from lochan.server.gateway.places import Place, check_writable, object_place, rights
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.storing import Incoming
from lochan.server.gateway.wire.addressing import checked_key
from lochan.server.gateway.wire.checksums import refuse_other_md5
from lochan.server.gateway.wire.conditions import ANY, delete_conditions
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_in import Deletion, parse_delete
from lochan.server.gateway.wire.xml_out import Deleted, NotDeleted, deleted

_BODY_BYTES_MAX = 8 << 20


async def handle(gateway: Gateway, request: Request) -> Response:
    await _check_bucket(gateway, request)
    incoming = Incoming(request, _BODY_BYTES_MAX)
    body = await incoming.whole()
    _check_digests(incoming, body)
    asked = parse_delete(body)
    failed: list[NotDeleted] = []
    by_ref: dict[str, list[tuple[Deletion, Place]]] = defaultdict(list)
    done: list[Deletion] = []
    for each in asked.objects:
        try:
            place = await _place(gateway, request, each)
            wanted = delete_conditions(each.etag, each.modified, each.size)
            if wanted == ANY or not place.path:
                by_ref[place.ref].append((each, place))
            else:
                await delete_if(gateway, request, place, wanted)
                done.append(each)
        except (S3Error, LochanError) as error:
            failed.append(_failure(gateway, each, error))
    for several in by_ref.values():
        try:
            await delete(gateway, request, several[0][1], [place.path for _, place in several])
            done += [each for each, _ in several]
        except LochanError as error:
            failed += [_failure(gateway, each, error) for each, _ in several]
    told = [] if asked.quiet else [Deleted(each.key, each.version) for each in done]
    return xml(deleted(told, failed))


async def _check_bucket(gateway: Gateway, request: Request) -> None:
    """Raises NoSuchBucket. Who may not know of it is told for each key that they may not, as if it were there."""
    try:
        await gateway.repository(request.bucket)
    except S3Error:
        allowed = await rights(gateway, request)
        if allowed.allow("fs:ListRepositories", resources.repository(request.bucket)):
            raise


async def _place(gateway: Gateway, request: Request, asked: Deletion) -> Place:
    if asked.version not in (None, "null"):
        raise S3Error("NoSuchVersion")
    place = await object_place(gateway, request, ACTION, key=checked_key(asked.key), root=True)
    check_writable(place)
    return place


def _check_digests(incoming: Incoming, body: bytes) -> None:
    import hashlib
    from base64 import b64encode

    from lochan.server.gateway.wire.checksums import HASHERS

    refuse_other_md5(incoming.md5, hashlib.md5(body, usedforsecurity=False).digest())
    if incoming.checksum is not None:
        hasher = HASHERS[incoming.checksum.algorithm]()
        hasher.update(body)
        incoming.checksum.check(b64encode(hasher.digest()).decode())


def _failure(gateway: Gateway, asked: Deletion, error: S3Error | LochanError) -> NotDeleted:
    known = error if isinstance(error, S3Error) else as_s3(error, gateway.lake.store.url)
    fault = known or S3Error("InternalError")
    return NotDeleted(asked.key, fault.code, fault.message, asked.version)

"""DeleteObject, of one key, and DeleteObjects, of up to a thousand. What is not there counts as deleted."""

from collections import defaultdict

from lochan.access import resources
from lochan.errors import LochanError
from lochan.formats.entry import Entry
from lochan.server.gateway.error_codes import as_s3
from lochan.server.gateway.find_object import ObjectAddress, check_writable, current, object_address, rights
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.incoming_body import RequestBody
from lochan.server.gateway.request import Response, S3Request, xml
from lochan.server.gateway.wire.addressing import checked_key
from lochan.server.gateway.wire.checksums import refuse_other_md5
from lochan.server.gateway.wire.conditions import (
    ANY,
    MATCH_MODIFIED,
    MATCH_SIZE,
    DeleteConditions,
    delete_conditions,
)
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_in import Deletion, parse_delete
from lochan.server.gateway.wire.xml_out import DeletedKey, UndeletedKey, deleted
from lochan.versioning import objects

ACTION = "fs:DeleteObject"
_BODY_BYTES_MAX = 8 << 20


async def delete_object(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, ACTION, root=True, blind=True)
    check_writable(address)
    headers = request.headers
    wanted = delete_conditions(headers.get("if-match"), headers.get(MATCH_MODIFIED), headers.get(MATCH_SIZE))
    if wanted == ANY or not address.path:
        await delete(gateway, request, address, [address.path])
    else:
        await delete_if(gateway, request, address, wanted)
    return Response(204, [])


async def delete_if(gateway: Gateway, request: S3Request, address: ObjectAddress, wanted: DeleteConditions) -> None:
    """Only what is as it should be at the very moment of the deletion. Raises PreconditionFailed, NoSuchKey."""

    def check(there: Entry | None) -> None:
        wanted.check(None if there is None else current(there))

    actor = gateway.keyed_actor(request, address.path, part=f"{address.ref}/{address.path}")
    await objects.delete_if(address.repository, address.ref, address.path, check, actor=actor)


async def delete(gateway: Gateway, request: S3Request, address: ObjectAddress, paths: list[str]) -> None:
    """Of one branch or workspace, as one event."""
    paths = [path for path in paths if path]  # the root of a branch stays
    # A list of keys may be of several branches, and each is decided by itself.
    actor = gateway.keyed_actor(request, paths, part=address.ref)
    if paths:
        await objects.delete(address.repository, address.ref, paths, actor=actor)


async def delete_objects(gateway: Gateway, request: S3Request) -> Response:
    await _check_bucket(gateway, request)
    incoming = RequestBody(request, _BODY_BYTES_MAX)
    body = await incoming.whole()
    _check_digests(incoming, body)
    asked = parse_delete(body)
    failed: list[UndeletedKey] = []
    by_ref: dict[str, list[tuple[Deletion, ObjectAddress]]] = defaultdict(list)
    done: list[Deletion] = []
    for each in asked.objects:
        try:
            address = await _address(gateway, request, each)
            wanted = delete_conditions(each.etag, each.modified, each.size)
            if wanted == ANY or not address.path:
                by_ref[address.ref].append((each, address))
            else:
                await delete_if(gateway, request, address, wanted)
                done.append(each)
        except (S3Error, LochanError) as error:
            failed.append(_failure(gateway, each, error))
    for several in by_ref.values():
        try:
            await delete(gateway, request, several[0][1], [address.path for _, address in several])
            done += [each for each, _ in several]
        except LochanError as error:
            failed += [_failure(gateway, each, error) for each, _ in several]
    told = [] if asked.quiet else [DeletedKey(each.key, each.version) for each in done]
    return xml(deleted(told, failed))


async def _check_bucket(gateway: Gateway, request: S3Request) -> None:
    """Raises NoSuchBucket. Who may not know of it is told for each key that they may not, as if it were there."""
    try:
        await gateway.repository(request.bucket)
    except S3Error:
        allowed = await rights(gateway, request)
        if allowed.allow("fs:ListRepositories", resources.repository(request.bucket)):
            raise


async def _address(gateway: Gateway, request: S3Request, asked: Deletion) -> ObjectAddress:
    if asked.version not in (None, "null"):
        raise S3Error("NoSuchVersion")
    address = await object_address(gateway, request, ACTION, key=checked_key(asked.key), root=True)
    check_writable(address)
    return address


def _check_digests(incoming: RequestBody, body: bytes) -> None:
    import hashlib
    from base64 import b64encode

    from lochan.server.gateway.wire.checksums import HASHERS

    refuse_other_md5(incoming.md5, hashlib.md5(body, usedforsecurity=False).digest())
    if incoming.checksum is not None:
        hasher = HASHERS[incoming.checksum.algorithm]()
        hasher.update(body)
        incoming.checksum.check(b64encode(hasher.digest()).decode())


def _failure(gateway: Gateway, asked: Deletion, error: S3Error | LochanError) -> UndeletedKey:
    known = error if isinstance(error, S3Error) else as_s3(error, gateway.lake.store.url)
    fault = known or S3Error("InternalError")
    return UndeletedKey(asked.key, fault.code, fault.message, asked.version)

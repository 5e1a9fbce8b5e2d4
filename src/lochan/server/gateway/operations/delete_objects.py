"""Handles DeleteObject, for one key, and DeleteObjects, for up to a thousand. An object that does not exist counts as
deleted."""

import hashlib
from base64 import b64encode
from collections import defaultdict

from lochan.access import resources
from lochan.api.conditions import NO_CONDITIONS
from lochan.errors import LochanError
from lochan.server.gateway.error_codes import as_s3
from lochan.server.gateway.find_object import ObjectAddress, object_address, rights
from lochan.server.gateway.gateway import Gateway, idempotency_key
from lochan.server.gateway.incoming_body import RequestBody
from lochan.server.gateway.object_headers import MATCH_MODIFIED, MATCH_SIZE, delete_conditions
from lochan.server.gateway.request import Response, S3Request, xml
from lochan.server.gateway.wire.addressing import checked_key
from lochan.server.gateway.wire.checksums import HASHERS, refuse_other_md5
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_in import Deletion, parse_delete
from lochan.server.gateway.wire.xml_out import DeletedKey, UndeletedKey, delete_result

_BODY_BYTES_MAX = 8 << 20


async def delete_object(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, request.action, root=True, blind=True)
    branch = address.writable()
    headers = request.headers
    conditions = delete_conditions(headers.get("if-match"), headers.get(MATCH_MODIFIED), headers.get(MATCH_SIZE))
    key = idempotency_key(request)
    if not address.path:  # the root of a branch is never deleted
        return Response(204, [])
    if conditions == NO_CONDITIONS:
        await branch.delete(address.path, key=key)
    else:
        await branch.delete_if(address.path, conditions, key=key)
    return Response(204, [])


async def delete_objects(gateway: Gateway, request: S3Request) -> Response:
    await _check_bucket(gateway, request)
    incoming = RequestBody(request, _BODY_BYTES_MAX)
    body = await incoming.whole()
    _check_digests(incoming, body)
    deletions = parse_delete(body)
    failed: list[UndeletedKey] = []
    by_ref: dict[str, list[tuple[Deletion, ObjectAddress]]] = defaultdict(list)
    done: list[Deletion] = []
    for each in deletions.objects:
        try:
            address = await _address(gateway, request, each)
            conditions = delete_conditions(each.etag, each.modified, each.size)
            if conditions == NO_CONDITIONS or not address.path:
                by_ref[address.ref].append((each, address))
            else:
                key = idempotency_key(request, part=f"{address.ref}/{address.path}")
                await address.writable().delete_if(address.path, conditions, key=key)
                done.append(each)
        except (S3Error, LochanError) as error:
            failed.append(_failure(gateway, each, error))
    for several in by_ref.values():
        try:
            await _delete(request, [address for _, address in several])
            done += [each for each, _ in several]
        except LochanError as error:
            failed += [_failure(gateway, each, error) for each, _ in several]
    shown = [] if deletions.quiet else [DeletedKey(each.key, each.version) for each in done]
    return xml(delete_result(shown, failed))


async def _delete(request: S3Request, addresses: list[ObjectAddress]) -> None:
    """Deletes the objects of one branch or workspace with one event. Each branch is decided separately."""
    at = addresses[0]
    paths = [address.path for address in addresses if address.path]  # the root of a branch is never deleted
    if paths:
        await at.writable().delete(*paths, key=idempotency_key(request, part=at.ref))


async def _check_bucket(gateway: Gateway, request: S3Request) -> None:
    """Raises NoSuchBucket. A user who may not know about the bucket is refused key by key, as if it existed."""
    try:
        await gateway.repository(request, request.bucket)
    except S3Error:
        allowed = await rights(gateway, request)
        if allowed.allow("fs:ListRepositories", resources.repository(request.bucket)):
            raise


async def _address(gateway: Gateway, request: S3Request, deletion: Deletion) -> ObjectAddress:
    if deletion.version not in (None, "null"):
        raise S3Error("NoSuchVersion")
    address = await object_address(gateway, request, request.action, key=checked_key(deletion.key), root=True)
    address.writable()
    return address


def _check_digests(incoming: RequestBody, body: bytes) -> None:
    refuse_other_md5(incoming.md5, hashlib.md5(body, usedforsecurity=False).digest())
    if incoming.checksum is not None:
        hasher = HASHERS[incoming.checksum.algorithm]()
        hasher.update(body)
        incoming.checksum.check(b64encode(hasher.digest()).decode())


def _failure(gateway: Gateway, deletion: Deletion, error: S3Error | LochanError) -> UndeletedKey:
    known = error if isinstance(error, S3Error) else as_s3(error, gateway.session.lake.url)
    fault = known or S3Error("InternalError")
    return UndeletedKey(deletion.key, fault.code, fault.message, deletion.version)

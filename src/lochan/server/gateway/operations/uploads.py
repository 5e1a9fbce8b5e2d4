"""Uploads in parts: created, listed, aborted."""

from itertools import groupby

from lochan.access import resources
from lochan.formats.repository_events import UploadOpened
from lochan.server.gateway.find_object import (
    bucket_repository,
    check_writable,
    object_address,
    require_at,
    resolve_address,
    rights,
)
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.object_headers import kept_headers
from lochan.server.gateway.operations.list_objects import ACTION as LIST
from lochan.server.gateway.operations.upload_parts import found_upload, still_open
from lochan.server.gateway.request import Response, S3Request, page_size, xml
from lochan.server.gateway.wire import xml_uploads
from lochan.server.gateway.wire.checksums import declared_checksum, declared_type
from lochan.server.gateway.wire.xml_listings import S3Owner
from lochan.server.gateway.wire.xml_uploads import ListedUpload, UploadListing, initiated
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.uploads import abort, open_upload, uploads


async def create_multipart_upload(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, "fs:WriteObject")
    check_writable(address)
    checksum = declared_checksum(request.headers)
    algorithm = checksum.algorithm if checksum else None
    kind = declared_type(request.headers, algorithm)
    said = kept_headers(request.headers)
    id = await open_upload(
        address.repository,
        address.branch,
        address.path,
        actor=gateway.actor(request),
        content_type=said.content_type,
        headers=said.headers,
        metadata=said.metadata,
        checksum=algorithm or "",
        checksum_type=kind or "",
        workspace=address.workspace,
    )
    answer = xml(initiated(request.bucket, request.key, id))
    if algorithm and kind:
        answer.headers.extend([("x-amz-checksum-algorithm", algorithm), ("x-amz-checksum-type", kind)])
    return answer


async def list_multipart_uploads(gateway: Gateway, request: S3Request) -> Response:
    repository = await bucket_repository(gateway, request, "fs:ListRepositories")
    query = request.query
    if gateway.settings.flat or "/" in query.get("prefix", ""):  # else it is of all branches
        address = await resolve_address(gateway, request, request.bucket, query.get("prefix", ""))
        await require_at(gateway, request, LIST, address)
    allowed = await rights(gateway, request)
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    key_marker, id_marker = query.get("key-marker", ""), query.get("upload-id-marker", "")
    limit = page_size(request, "max-uploads")
    found = [
        (key, each)
        for each in await uploads(repository)
        if (key := _key(gateway, repository, each.opened)) is not None
        and key.startswith(prefix)
        and _is_behind(key, each.id, key_marker, id_marker)
        and allowed.allow(LIST, _resource(request, each.opened))
    ]
    found.sort(key=lambda pair: (pair[0].encode(), pair[1].id))  # as markers count; ids go by the second
    items: list[tuple[str, str | None, ListedUpload | None]] = []  # key or prefix, id, upload
    for common, several in groupby(found, lambda pair: _common(pair[0], prefix, delimiter)):
        if common is not None:
            items.append((common, None, None))
            continue
        for key, each in several:
            opened = each.opened
            shown = ListedUpload(key, each.id, each.time, opened.checksum or None, opened.checksum_type or None)
            items.append((key, each.id, shown))
    page = items[:limit]
    more = len(items) > limit and bool(page)
    return xml(
        xml_uploads.list_uploads(
            UploadListing(
                bucket=request.bucket,
                uploads=[upload for _, _, upload in page if upload is not None],
                prefixes=[key for key, _, upload in page if upload is None],
                max_uploads=limit,
                truncated=more,
                owner=S3Owner(request.user, request.user),
                key_marker=key_marker,
                id_marker=id_marker,
                next_key_marker=page[-1][0] if more else None,
                next_id_marker=page[-1][1] if more else None,
                prefix=prefix,
                delimiter=delimiter or None,
                encoding_type=query.get("encoding-type"),
            )
        )
    )


def _key(gateway: Gateway, repository: OpenRepository, opened: UploadOpened) -> str | None:
    """None: this listener does not show it, or its branch is gone and it cannot be completed."""
    if repository.folded().find_branch(opened.branch) is None:
        return None
    if gateway.settings.flat:
        is_here = opened.branch == repository.repository.default_branch and not opened.workspace
        return opened.path if is_here else None
    return f"{opened.branch}+{opened.workspace}/{opened.path}" if opened.workspace else f"{opened.branch}/{opened.path}"


def _resource(request: S3Request, opened: UploadOpened) -> str:
    return resources.object_at(resources.branch(request.bucket, opened.branch), opened.path)


def _is_behind(key: str, id: str, key_marker: str, id_marker: str) -> bool:
    if not key_marker:
        return True
    if key == key_marker:
        return bool(id_marker) and id > id_marker
    return key.encode() > key_marker.encode() and not (key_marker.endswith("/") and key.startswith(key_marker))


def _common(key: str, prefix: str, delimiter: str) -> str | None:
    at = key.find(delimiter, len(prefix)) if delimiter else -1
    return None if at < 0 else key[: at + len(delimiter)]


async def abort_multipart_upload(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, "fs:WriteObject")
    upload = found_upload(address, request, to_abort=True)
    with still_open(upload):
        await abort(address.repository, upload.id, actor=gateway.actor(request))
    return Response(204, [])

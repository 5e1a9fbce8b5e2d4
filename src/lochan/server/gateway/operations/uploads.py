"""Handles uploads in parts: creates them, adds parts that are sent or copied, and lists, completes and aborts them."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby

from lochan.access import resources
from lochan.api.conditions import NO_CONDITIONS
from lochan.api.object_results import PartInfo, UploadInfo
from lochan.api.options import PutOptions
from lochan.api.parts import NamedPart, Upload
from lochan.api.results import microseconds
from lochan.errors import NotFound
from lochan.server.gateway.find_object import (
    ObjectAddress,
    bucket_repository,
    object_address,
    open_object,
    require_at,
    resolve_address,
    rights,
)
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.incoming_body import RequestBody
from lochan.server.gateway.object_headers import COPY_PREFIX, kept_headers, read_conditions, write_conditions
from lochan.server.gateway.operations.copy_object import found_source, source_ref
from lochan.server.gateway.request import Response, S3Request, number, page_size, part_number, xml
from lochan.server.gateway.wire import xml_uploads
from lochan.server.gateway.wire.checksums import declared_checksum, declared_type, type_of
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.header_values import ByteSpan, copied_span
from lochan.server.gateway.wire.xml_in import CompletedPart, parse_complete
from lochan.server.gateway.wire.xml_listings import S3Owner
from lochan.server.gateway.wire.xml_uploads import ListedUpload, PartListing, UploadedPart, UploadListing

_BODY_BYTES_MAX = 4 << 20


async def create_multipart_upload(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, request.action)
    checksum = declared_checksum(request.headers)
    algorithm = checksum.algorithm if checksum else ""
    kind = declared_type(request.headers, algorithm or None) or ""
    kept = kept_headers(request.headers)
    options = PutOptions(content_type=kept.content_type, headers=kept.headers, metadata=kept.metadata)
    made = await address.writable().create_upload(address.path, options, checksum=algorithm, checksum_type=kind)
    answer = xml(xml_uploads.initiate_result(request.bucket, request.key, made.id))
    if algorithm and kind:
        answer.headers.extend([("x-amz-checksum-algorithm", algorithm), ("x-amz-checksum-type", kind)])
    return answer


def _upload(address: ObjectAddress, request: S3Request) -> Upload:
    """Returns the upload. Raises NoSuchUpload if the branch no longer exists."""
    if address.snapshot is None:
        raise _no_upload(request)
    return _any_upload(address, request)


def _any_upload(address: ObjectAddress, request: S3Request) -> Upload:
    return address.repository.branch(address.ref).open_upload(address.path, request.query["uploadId"])


@contextmanager
def _still_open(request: S3Request) -> Iterator[None]:
    """Raises NoSuchUpload for an upload that belongs to another object, or was completed or aborted."""
    try:
        yield
    except NotFound:
        raise _no_upload(request) from None


def _no_upload(request: S3Request) -> S3Error:
    return S3Error("NoSuchUpload", UploadId=request.query["uploadId"][:128])


async def upload_part(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, request.action, blind=True)
    which = part_number(request)
    upload = _upload(address, request)
    with _still_open(request):
        await upload.show()  # this comes before anything is said about the body
        part = await upload.put_part(which, RequestBody(request))
    sums = [(f"x-amz-checksum-{name.lower()}", value) for name, value in part.checksums.items()]
    return Response(200, [("etag", f'"{part.etag}"'), *sums, ("content-length", "0")])


async def upload_part_copy(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, request.action, blind=True)
    which = part_number(request)
    upload = _upload(address, request)
    with _still_open(request):
        await upload.show()
    source = await found_source(gateway, request)
    size = (await open_object(source, NO_CONDITIONS)).size
    text = request.headers.get("x-amz-copy-source-range")
    conditions = read_conditions(request.headers, COPY_PREFIX)
    span = copied_span(text, size) if text else ByteSpan(0, size)
    with _still_open(request):
        part = await upload.copy_part(which, source_ref(source), source.path, *span, conditions=conditions)
    return xml(xml_uploads.copy_result(part.etag, microseconds(part.date), part.checksums, of_part=True))


async def list_parts(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, request.action)
    upload = _upload(address, request)
    with _still_open(request):
        shown = await upload.show()
    limit = page_size(request, "max-parts")
    marker = number(request, "part-number-marker", 0, 0, (1 << 31) - 1)
    with _still_open(request):
        behind = await upload.parts(after=marker)
    page = behind[:limit]
    return xml(
        xml_uploads.list_parts(
            PartListing(
                bucket=request.bucket,
                upload=_listed_upload(request.key, shown),
                parts=[
                    UploadedPart(part.number, microseconds(part.date), part.etag, part.size, part.checksums)
                    for part in page
                ],
                marker=marker,
                next_marker=page[-1].number if page else None,
                max_parts=limit,
                truncated=len(behind) > limit,
                owner=S3Owner(shown.user, shown.user),
                encoding_type=request.query.get("encoding-type"),
            )
        )
    )


def _listed_upload(key: str, upload: UploadInfo) -> ListedUpload:
    date = microseconds(upload.date)
    return ListedUpload(key, upload.id, date, upload.checksum or None, upload.checksum_type or None)


async def list_multipart_uploads(gateway: Gateway, request: S3Request) -> Response:
    repository = await bucket_repository(gateway, request, "fs:ListRepositories")
    query = request.query
    if gateway.settings.flat or "/" in query.get("prefix", ""):  # otherwise the list is about all branches
        address = await resolve_address(gateway, request, request.bucket, query.get("prefix", ""))
        await require_at(gateway, request, request.action, address)
    allowed = await rights(gateway, request)
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    key_marker, id_marker = query.get("key-marker", ""), query.get("upload-id-marker", "")
    limit = page_size(request, "max-uploads")
    default = (await repository.show()).default_branch if gateway.settings.flat else ""
    found = [
        (key, each)
        async for each in repository.uploads()
        if (key := _key(each, default)) is not None
        and key.startswith(prefix)
        and _is_behind(key, each.id, key_marker, id_marker)
        and allowed.allow(request.action, _resource(request, each))
    ]
    found.sort(key=lambda pair: (pair[0].encode(), pair[1].id))  # in the order that markers use: by key, then by id
    items: list[tuple[str, str | None, ListedUpload | None]] = []  # key or prefix, id, and upload
    for common, several in groupby(found, lambda pair: _common(pair[0], prefix, delimiter)):
        if common is None:
            items += [(key, each.id, _listed_upload(key, each)) for key, each in several]
        else:
            items.append((common, None, None))
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


def _key(upload: UploadInfo, default_branch: str) -> str | None:
    """Returns the key of an upload, or None if it is not shown. `default_branch` is that of the flat listener, which
    shows no other branch, or empty."""
    if not default_branch:
        return f"{upload.ref}/{upload.path}"
    return upload.path if upload.ref == default_branch else None


def _resource(request: S3Request, upload: UploadInfo) -> str:
    return resources.object_at(resources.branch(request.bucket, upload.ref.partition("+")[0]), upload.path)


def _is_behind(key: str, id: str, key_marker: str, id_marker: str) -> bool:
    if not key_marker:
        return True
    if key == key_marker:
        return bool(id_marker) and id > id_marker
    return key.encode() > key_marker.encode() and not (key_marker.endswith("/") and key.startswith(key_marker))


def _common(key: str, prefix: str, delimiter: str) -> str | None:
    at = key.find(delimiter, len(prefix)) if delimiter else -1
    return None if at < 0 else key[: at + len(delimiter)]


async def complete_multipart_upload(gateway: Gateway, request: S3Request) -> Response:
    """Makes one object of the parts. A repeated request gets the same answer."""
    address = await object_address(gateway, request, request.action)
    upload = _upload(address, request)
    address.writable()
    parts = parse_complete(await RequestBody(request, _BODY_BYTES_MAX, is_object=False).whole())
    try:
        shown, put = await upload.show(), await upload.parts()
        _check_size(parts, put, request)
        checksum = _checksum(shown, request)
    except NotFound:  # it may have been completed before
        checksum = ""
    named = [NamedPart(part.number, part.etag, part.checksums) for part in parts]
    with _still_open(request):
        made = await upload.complete(named, checksum=checksum, conditions=write_conditions(request.headers))
    kind = type_of(made.checksums)
    place = f"/{request.bucket}/{request.key}", request.bucket, request.key
    return xml(xml_uploads.complete_result(*place, made.etag, made.checksums, kind))


def _check_size(parts: list[CompletedPart], put: list[PartInfo], request: S3Request) -> None:
    """Raises InvalidRequest if the client expects another size than its parts have together."""
    expected = request.headers.get("x-amz-mp-object-size")
    if expected is None:
        return
    numbers = {part.number for part in parts}
    size = sum(part.size for part in put if part.number in numbers)
    if not (expected.isascii() and expected.isdecimal() and len(expected) < 20 and int(expected) == size):
        raise S3Error(
            "InvalidRequest",
            f"The provided 'x-amz-mp-object-size' header value {expected[:32]} is not the size of the parts: {size}",
        )


def _checksum(upload: UploadInfo, request: S3Request) -> str:
    """Returns the checksum that the client declares for the whole object, or an empty string. Raises InvalidRequest if
    the upload was not created for that checksum."""
    checksum = declared_checksum(request.headers, whole=True)
    value = None if checksum is None else checksum.value
    if checksum is not None and value is not None and checksum.algorithm != upload.checksum:
        raise S3Error("InvalidRequest", f"The upload was not created with the checksum algorithm {checksum.algorithm}.")
    if upload.checksum and request.headers.get("x-amz-checksum-type", upload.checksum_type) != upload.checksum_type:
        raise S3Error("InvalidRequest", f"The upload was created with the checksum type {upload.checksum_type}.")
    return value or ""


async def abort_multipart_upload(gateway: Gateway, request: S3Request) -> Response:
    address = await object_address(gateway, request, request.action, blind=True)
    with _still_open(request):
        await _any_upload(address, request).abort()
    return Response(204, [])

"""Handles CopyObject and RenameObject. Within a repository only metadata move. Between repositories the bytes move too,
because they share no address. A rename stays within a branch and is one event, so nobody sees the object twice."""

from msgspec.structs import replace

from lochan.api.options import CopyOptions
from lochan.api.ref import Ref
from lochan.api.results import microseconds
from lochan.errors import NotFound
from lochan.server.gateway.find_object import ObjectAddress, object_address
from lochan.server.gateway.gateway import Gateway, idempotency_key
from lochan.server.gateway.object_headers import COPY_PREFIX, kept_headers, read_conditions, write_conditions
from lochan.server.gateway.request import Response, S3Request, xml
from lochan.server.gateway.wire.addressing import copy_source
from lochan.server.gateway.wire.checksums import HASHERS
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_uploads import copy_result

RENAME_SOURCE = "x-amz-rename-source"


async def copy_object(gateway: Gateway, request: S3Request) -> Response:
    target = await object_address(gateway, request, request.action)
    branch = target.writable()
    source = await found_source(gateway, request)
    options = _options(request, source, target)
    try:
        made = await branch.copy(source_ref(source), source.path, target.path, options, key=idempotency_key(request))
    except NotFound:
        raise S3Error("NoSuchKey", Key=source.path) from None
    return xml(copy_result(made.etag, microseconds(made.mtime), made.checksums))


async def found_source(gateway: Gateway, request: S3Request) -> ObjectAddress:
    """Returns the address of the source that the request names. Raises NoSuchKey."""
    named = copy_source(request.headers["x-amz-copy-source"])
    if named.version not in (None, "null"):
        raise S3Error("NoSuchVersion")
    return await object_address(gateway, request, "fs:ReadObject", named.bucket, named.key)


def source_ref(source: ObjectAddress) -> Ref:
    """Returns the ref by a name that cannot come to mean a commit that its user may not read. Raises NoSuchKey."""
    if source.snapshot is None:
        raise S3Error("NoSuchKey", Key=source.path)
    return source.repository.ref(source.snapshot.lasting_name)


def _options(request: S3Request, source: ObjectAddress, target: ObjectAddress) -> CopyOptions:
    """Returns how the copy should differ from its source. Raises InvalidRequest for a copy that changes nothing."""
    directive = request.headers.get("x-amz-metadata-directive", "COPY").upper()
    options = CopyOptions(
        checksum=_checksum(request),
        conditions=write_conditions(request.headers),
        source_conditions=read_conditions(request.headers, COPY_PREFIX),
    )
    if directive == "COPY":
        if _place(source) == _place(target):
            raise S3Error(
                "InvalidRequest",
                "This copy request is illegal because it is trying to copy an object to itself without changing the "
                "object's metadata, storage class, website redirect location or encryption attributes.",
            )
        return options
    if directive != "REPLACE":
        raise S3Error("InvalidArgument", "Unknown metadata directive.", ArgumentName="x-amz-metadata-directive")
    kept = kept_headers(request.headers)
    return replace(options, content_type=kept.content_type, headers=kept.headers, metadata=kept.metadata)


def _place(address: ObjectAddress) -> tuple[str, str, str]:
    return address.repository.name, address.ref, address.path


def _checksum(request: S3Request) -> str:
    """Returns the name of the checksum that the request asks for, or an empty string."""
    name = request.headers.get("x-amz-checksum-algorithm", "").upper()
    if name and name not in HASHERS:
        raise S3Error("InvalidRequest", f"Checksum algorithm provided is unsupported: {name[:32]}")
    return name


async def rename_object(gateway: Gateway, request: S3Request) -> Response:
    """Renames an object. The user must be allowed to read and delete the source. Raises NoSuchKey and
    PreconditionFailed."""
    target = await object_address(gateway, request, request.action)
    branch = target.writable()
    if RENAME_SOURCE not in request.headers:
        raise S3Error("InvalidArgument", "A rename must name its source.", ArgumentName=RENAME_SOURCE)
    named = copy_source(request.headers[RENAME_SOURCE])
    for action in ("fs:ReadObject", "fs:DeleteObject"):
        source = await object_address(gateway, request, action, named.bucket, named.key)
    if _place(source)[:2] != _place(target)[:2]:
        raise S3Error("InvalidRequest", "An object can only be renamed within its branch; copy it instead.")
    try:
        await branch.move(
            source.path,
            target.path,
            conditions=write_conditions(request.headers),
            source_conditions=read_conditions(request.headers, f"{RENAME_SOURCE}-"),
            key=idempotency_key(request),
        )
    except NotFound:
        raise S3Error("NoSuchKey", Key=named.key) from None
    return Response(200, [("content-length", "0")])

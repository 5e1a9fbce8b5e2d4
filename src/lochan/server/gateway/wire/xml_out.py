"""The short answers: errors, deletions, what a bucket or an object is like."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_listings import Owner, owner_element
from lochan.server.gateway.wire.xml_text import document, element, escaped, readable
from lochan.server.gateway.wire.xml_uploads import Checksums, UploadedPart, checksum_elements


class Deleted(NamedTuple):
    key: str
    version: str | None = None


class NotDeleted(NamedTuple):
    key: str
    code: str
    message: str
    version: str | None = None


class Parts(NamedTuple):
    """Those of an object that was uploaded in parts, one page of them."""

    total: int
    parts: Sequence[UploadedPart]
    marker: int
    next_marker: int
    max_parts: int
    truncated: bool


def error(fault: S3Error, resource: str, request_id: str, host_id: str = "") -> bytes:
    """Clients that cannot read it would have to guess: what XML cannot hold is not shown."""
    parts = [element("Code", fault.code), element("Message", fault.message, readable)]
    parts += [element(name, value, readable) for name, value in fault.fields.items()]
    parts += [
        element("Resource", resource, readable),
        element("RequestId", request_id),
        element("HostId", host_id or request_id),
    ]
    return document("Error", parts, namespace=False)


def deleted(done: Iterable[Deleted], failed: Iterable[NotDeleted]) -> bytes:
    """Nothing is `done` where the client asked to be quiet."""
    good = [f"<Deleted>{element('Key', one.key)}{element('VersionId', one.version)}</Deleted>" for one in done]
    bad = [
        f"<Error>{element('Key', one.key)}{element('VersionId', one.version)}{element('Code', one.code)}"
        f"{element('Message', one.message)}</Error>"
        for one in failed
    ]
    return document("DeleteResult", (*good, *bad))


def location(region: str) -> bytes:
    """The oldest region has no name."""
    return document("LocationConstraint", ("" if region == "us-east-1" else escaped(region),))


def versioning(status: str | None = None) -> bytes:
    """None: it was never switched on."""
    return document("VersioningConfiguration", (element("Status", status),))


def access_control(owner: Owner) -> bytes:
    """Of a bucket or an object without a list of its own: the owner may do everything. Policies decide in truth."""
    schema = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser"'
    grantee = f"{element('ID', owner.id)}{element('DisplayName', owner.name)}"
    grant = f"<Grant><Grantee {schema}>{grantee}</Grantee><Permission>FULL_CONTROL</Permission></Grant>"
    return document("AccessControlPolicy", (owner_element(owner), f"<AccessControlList>{grant}</AccessControlList>"))


def attributes(
    *,
    etag: str | None = None,
    checksums: Checksums | None = None,
    checksum_type: str | None = None,
    parts: Parts | None = None,
    size: int | None = None,
    storage: bool = False,
) -> bytes:
    """Those that were asked for; the tag stands without quotes here."""
    found = checksum_elements(checksums or {})
    checksum = f"<Checksum>{found}{element('ChecksumType', checksum_type)}</Checksum>" if found else ""
    return document(
        "GetObjectAttributesResponse",
        (
            element("ETag", etag),
            checksum,
            _object_parts(parts) if parts is not None else "",
            element("StorageClass", "STANDARD" if storage else None),
            element("ObjectSize", size),
        ),
    )


def _object_parts(parts: Parts) -> str:
    head = (
        element("PartsCount", parts.total),
        element("PartNumberMarker", parts.marker),
        element("NextPartNumberMarker", parts.next_marker),
        element("MaxParts", parts.max_parts),
        element("IsTruncated", parts.truncated),
    )
    listed = [
        f"<Part><PartNumber>{part.number}</PartNumber><Size>{part.size}</Size>{checksum_elements(part.checksums)}</Part>"
        for part in parts.parts
    ]
    return f"<ObjectParts>{''.join((*head, *listed))}</ObjectParts>"

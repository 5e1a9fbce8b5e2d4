"""Writes answers about uploads in parts and by forms, and about copies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from lochan.server.gateway.wire.header_values import iso_millis, quote_etag
from lochan.server.gateway.wire.xml_listings import S3Owner, owner_element
from lochan.server.gateway.wire.xml_out import document, element, encoder, escape, readable

Checksums = Mapping[str, str]  # in base64, by the algorithm

_STORAGE = "<StorageClass>STANDARD</StorageClass>"


class UploadedPart(NamedTuple):
    """A part. The tag has no quotes, and the time is in microseconds since 1970."""

    number: int
    modified: int
    etag: str
    size: int
    checksums: Checksums = MappingProxyType({})


class ListedUpload(NamedTuple):
    key: str
    id: str
    initiated: int
    algorithm: str | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartListing:
    bucket: str
    upload: ListedUpload
    parts: Sequence[UploadedPart]
    marker: int
    next_marker: int | None
    max_parts: int
    truncated: bool
    owner: S3Owner
    encoding_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadListing:
    bucket: str
    uploads: Sequence[ListedUpload]
    prefixes: Sequence[str]
    max_uploads: int
    truncated: bool
    owner: S3Owner
    key_marker: str = ""
    id_marker: str = ""
    next_key_marker: str | None = None
    next_id_marker: str | None = None
    prefix: str = ""
    delimiter: str | None = None
    encoding_type: str | None = None


def initiate_result(bucket: str, key: str, upload_id: str) -> bytes:
    # The client knows the key, so an answer that it can read is worth more than the exact text of the key.
    parts = (element("Bucket", bucket), element("Key", key, readable), element("UploadId", upload_id))
    return document("InitiateMultipartUploadResult", parts)


def complete_result(
    location: str, bucket: str, key: str, etag: str, checksums: Checksums | None = None, type: str | None = None
) -> bytes:
    parts = (
        element("Location", location, readable),
        element("Bucket", bucket),
        element("Key", key, readable),
        element("ETag", quote_etag(etag)),
        checksum_elements(checksums or {}),
        element("ChecksumType", type),
    )
    return document("CompleteMultipartUploadResult", parts)


def post_result(location: str, bucket: str, key: str, etag: str) -> bytes:
    """Answers a form upload that asked for 201."""
    named = (element("Location", location), element("Bucket", bucket), element("Key", key))
    return document("PostResponse", (*named, element("ETag", quote_etag(etag))), namespace=False)


def copy_result(etag: str, modified: int, checksums: Checksums | None = None, of_part: bool = False) -> bytes:
    parts = (
        element("LastModified", iso_millis(modified)),
        element("ETag", quote_etag(etag)),
        checksum_elements(checksums or {}),
    )
    return document("CopyPartResult" if of_part else "CopyObjectResult", parts)


def list_parts(listing: PartListing) -> bytes:
    encode = encoder(listing.encoding_type) if listing.encoding_type else readable
    head = (
        element("Bucket", listing.bucket),
        element("Key", listing.upload.key, encode),
        element("UploadId", listing.upload.id),
        owner_element(listing.owner, "Initiator"),
        owner_element(listing.owner),
        _STORAGE,
        element("PartNumberMarker", listing.marker),
        element("NextPartNumberMarker", listing.next_marker),
        element("MaxParts", listing.max_parts),
        element("EncodingType", listing.encoding_type),
        element("IsTruncated", listing.truncated),
        element("ChecksumAlgorithm", listing.upload.algorithm),
        element("ChecksumType", listing.upload.type),
    )
    parts = [
        f"<Part><PartNumber>{part.number}</PartNumber><LastModified>{iso_millis(part.modified)}</LastModified>"
        f"<ETag>&quot;{escape(part.etag)}&quot;</ETag><Size>{part.size}</Size>{checksum_elements(part.checksums)}</Part>"
        for part in listing.parts
    ]
    return document("ListPartsResult", (*head, *parts))


def list_uploads(listing: UploadListing) -> bytes:
    encode = encoder(listing.encoding_type)
    head = (
        element("Bucket", listing.bucket),
        element("KeyMarker", listing.key_marker, encode),
        element("UploadIdMarker", listing.id_marker),
        element("NextKeyMarker", listing.next_key_marker, encode),
        element("NextUploadIdMarker", listing.next_id_marker),
        element("Prefix", listing.prefix, encode),
        element("Delimiter", listing.delimiter or None, encode),
        element("MaxUploads", listing.max_uploads),
        element("EncodingType", listing.encoding_type),
        element("IsTruncated", listing.truncated),
    )
    owner = owner_element(listing.owner, "Initiator") + owner_element(listing.owner) + _STORAGE
    uploads = [
        f"<Upload><Key>{encode(upload.key)}</Key><UploadId>{escape(upload.id)}</UploadId>{owner}"
        f"<Initiated>{iso_millis(upload.initiated)}</Initiated>{element('ChecksumAlgorithm', upload.algorithm)}"
        f"{element('ChecksumType', upload.type)}</Upload>"
        for upload in listing.uploads
    ]
    prefixes = [f"<CommonPrefixes>{element('Prefix', prefix, encode)}</CommonPrefixes>" for prefix in listing.prefixes]
    return document("ListMultipartUploadsResult", (*head, *uploads, *prefixes))


def checksum_elements(checksums: Checksums) -> str:
    return "".join([element(f"Checksum{algorithm}", value) for algorithm, value in checksums.items()])


class ObjectParts(NamedTuple):
    """One page of the parts of an object that was uploaded in parts."""

    total: int
    parts: Sequence[UploadedPart]
    marker: int
    next_marker: int
    max_parts: int
    truncated: bool


def attributes(
    *,
    etag: str | None = None,
    checksums: Checksums | None = None,
    checksum_type: str | None = None,
    parts: ObjectParts | None = None,
    size: int | None = None,
    storage: bool = False,
) -> bytes:
    """Returns the attributes that were asked for. The ETag has no quotes here."""
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


def _object_parts(parts: ObjectParts) -> str:
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

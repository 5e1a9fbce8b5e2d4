"""Answers with many keys in them: objects, versions, buckets. A page of a thousand keys costs about a millisecond."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lochan.server.gateway.wire.dates import iso_millis
from lochan.server.gateway.wire.xml_text import Encode, document, element, encoder, escaped


class Content(NamedTuple):
    """An object of a listing; the tag without quotes, the time in microseconds since 1970."""

    key: str
    modified: int
    etag: str
    size: int
    checksums: str = ""  # which it has, as elements: ChecksumAlgorithm and ChecksumType


class Columns(NamedTuple):
    """The same of many objects, column by column: for a page, three times as quick."""

    root: str  # what every key begins with
    paths: Sequence[str]
    modified: npt.NDArray[np.int64]
    etags: Sequence[str]
    sizes: Sequence[int]

    def __len__(self) -> int:
        return len(self.paths)


class Owner(NamedTuple):
    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What ListObjects, in all its versions, echoes and answers. None is left out."""

    bucket: str
    contents: Sequence[Content] | Columns
    prefixes: Sequence[str]  # common ones
    truncated: bool
    max_keys: int
    prefix: str = ""
    delimiter: str | None = None
    encoding_type: str | None = None
    owner: Owner | None = None  # of every object, where asked for


def list_objects(listing: Listing, marker: str, next_marker: str | None) -> bytes:
    """Version 1."""
    encode = encoder(listing.encoding_type)
    head = (
        element("Name", listing.bucket),
        element("Prefix", listing.prefix, encode),
        element("Marker", marker, encode),
        element("NextMarker", next_marker, encode),
        *_echoes(listing, encode),
    )
    return document("ListBucketResult", (*head, *_contents(listing, encode), *_prefixes(listing.prefixes, encode)))


def list_objects_v2(listing: Listing, start_after: str | None, token: str | None, next_token: str | None) -> bytes:
    encode = encoder(listing.encoding_type)
    head = (
        element("Name", listing.bucket),
        element("Prefix", listing.prefix, encode),
        element("StartAfter", start_after, encode),
        element("ContinuationToken", token),
        element("NextContinuationToken", next_token),
        element("KeyCount", len(listing.contents) + len(listing.prefixes)),
        *_echoes(listing, encode),
    )
    return document("ListBucketResult", (*head, *_contents(listing, encode), *_prefixes(listing.prefixes, encode)))


def list_versions(listing: Listing, key_marker: str, version_marker: str, next_key_marker: str | None) -> bytes:
    """Of a bucket without versions: each key once, as the version `null`."""
    encode = encoder(listing.encoding_type)
    head = (
        element("Name", listing.bucket),
        element("Prefix", listing.prefix, encode),
        element("KeyMarker", key_marker, encode),
        element("VersionIdMarker", version_marker),
        element("NextKeyMarker", next_key_marker, encode),
        element("NextVersionIdMarker", None if next_key_marker is None else "null"),
        *_echoes(listing, encode),
    )
    return document("ListVersionsResult", (*head, *_versions(listing, encode), *_prefixes(listing.prefixes, encode)))


def list_buckets(owner: Owner, buckets: Iterable[tuple[str, int]], next_token: str | None, prefix: str | None) -> bytes:
    """Names, and when they were made in microseconds since 1970."""
    made = [
        f"<Bucket><Name>{escaped(name)}</Name><CreationDate>{iso_millis(at)}</CreationDate></Bucket>"
        for name, at in buckets
    ]
    tail = (element("ContinuationToken", next_token), element("Prefix", prefix))
    return document("ListAllMyBucketsResult", (owner_element(owner), f"<Buckets>{''.join(made)}</Buckets>", *tail))


def owner_element(owner: Owner | None, name: str = "Owner") -> str:
    if owner is None:
        return ""
    return f"<{name}><ID>{escaped(owner.id)}</ID><DisplayName>{escaped(owner.name)}</DisplayName></{name}>"


def _echoes(listing: Listing, encode: Encode) -> tuple[str, ...]:
    return (
        element("MaxKeys", listing.max_keys),
        element("Delimiter", listing.delimiter or None, encode),
        element("EncodingType", listing.encoding_type),
        element("IsTruncated", listing.truncated),
    )


def _contents(listing: Listing, encode: Encode) -> list[str]:
    owner = owner_element(listing.owner)
    return [
        f"<Contents><Key>{key}</Key><LastModified>{modified}</LastModified>"
        f"<ETag>&quot;{etag}&quot;</ETag>{checksums}<Size>{size}</Size>{owner}"
        "<StorageClass>STANDARD</StorageClass></Contents>"
        for key, modified, etag, size, checksums in _rows(listing.contents, encode)
    ]


def _versions(listing: Listing, encode: Encode) -> list[str]:
    owner = owner_element(listing.owner)
    return [
        f"<Version><Key>{key}</Key><VersionId>null</VersionId><IsLatest>true</IsLatest>"
        f"<LastModified>{modified}</LastModified><ETag>&quot;{etag}&quot;</ETag>{checksums}"
        f"<Size>{size}</Size>{owner}<StorageClass>STANDARD</StorageClass></Version>"
        for key, modified, etag, size, checksums in _rows(listing.contents, encode)
    ]


def _rows(contents: Sequence[Content] | Columns, encode: Encode) -> Iterable[tuple[str, str, str, int, str]]:
    """Encoded, and times as S3 writes them."""
    if not isinstance(contents, Columns):
        return [
            (encode(key), iso_millis(modified), escaped(etag), size, checksums)
            for key, modified, etag, size, checksums in contents
        ]
    root, keys, etags = encode(contents.root), contents.paths, contents.etags
    text = "".join(keys)
    if encode(text) is not text:  # most pages hold nothing to be encoded, and one look at all of it tells
        keys = [encode(key) for key in keys]
    if escaped(text := "".join(etags)) is not text:
        etags = [escaped(etag) for etag in etags]
    moments = np.datetime_as_string(contents.modified.astype("datetime64[us]"), unit="ms", timezone="UTC").tolist()
    return zip([root + key for key in keys], moments, etags, contents.sizes, repeat(""), strict=False)


def _prefixes(prefixes: Sequence[str], encode: Encode) -> list[str]:
    return [f"<CommonPrefixes><Prefix>{encode(prefix)}</Prefix></CommonPrefixes>" for prefix in prefixes]

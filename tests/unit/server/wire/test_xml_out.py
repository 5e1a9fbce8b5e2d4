"""Answers in XML: botocore reads back what went in, whatever the keys contain."""

from time import perf_counter
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.parsers import RestXMLParser
from hypothesis import given, settings
from hypothesis import strategies as st

from lochan.server.gateway.wire import xml_listings, xml_out, xml_uploads
from lochan.server.gateway.wire.errors import CODES, S3Error
from lochan.server.gateway.wire.xml_listings import Content, Listing, ListingColumns, S3Owner
from lochan.server.gateway.wire.xml_out import escape, url_encode
from lochan.server.gateway.wire.xml_uploads import ListedUpload, PartListing, UploadedPart, UploadListing

MODEL = ServiceModel(Loader().load_service_model("s3", "service-2"))
AT = 1_700_000_000_123_456
OWNER = S3Owner("id&", "<me>")
NASTY = "main/a&b<c>\"d' é\t\n\r 😀%20+"


def read(operation: str, body: bytes, status: int = 200) -> dict[str, Any]:
    shape = MODEL.operation_model(operation).output_shape
    parsed: dict[str, Any] = RestXMLParser().parse({"status_code": status, "headers": {}, "body": body}, shape)
    return parsed


def listing(**changes: Any) -> Listing:
    contents = [Content(NASTY, AT, "e" * 32, 5), Content("main/b", AT, "f-2", 2**40)]
    given: dict[str, Any] = {
        "bucket": "repo", "contents": contents, "prefixes": ["main/c&/"], "truncated": True, "max_keys": 3,
        "prefix": "main/", "delimiter": "/", "owner": OWNER,
    }  # fmt: skip
    return Listing(**given | changes)


def test_a_listing_of_version_1() -> None:
    found = read("ListObjects", xml_listings.list_objects(listing(), "m&", "main/c&/"))
    assert (found["Name"], found["Prefix"], found["Delimiter"], found["MaxKeys"]) == ("repo", "main/", "/", 3)
    assert (found["Marker"], found["NextMarker"], found["IsTruncated"]) == ("m&", "main/c&/", True)
    first, second = found["Contents"]
    assert (first["Key"], first["ETag"], first["Size"]) == (NASTY, f'"{"e" * 32}"', 5)
    assert second["Size"] == 2**40 and second["StorageClass"] == "STANDARD"
    assert first["Owner"] == {"ID": "id&", "DisplayName": "<me>"}
    assert first["LastModified"].isoformat() == "2023-11-14T22:13:20.123000+00:00"
    assert found["CommonPrefixes"] == [{"Prefix": "main/c&/"}]


def test_what_all_common_prefixes_begin_with() -> None:
    given = listing(prefixes=["a&/", "é/"], root="m&/", contents=[])
    found = read("ListObjectsV2", xml_listings.list_objects_v2(given, None, None, None))
    assert found["CommonPrefixes"] == [{"Prefix": "m&/a&/"}, {"Prefix": "m&/é/"}] and found["KeyCount"] == 2


def test_a_listing_of_version_2() -> None:
    found = read("ListObjectsV2", xml_listings.list_objects_v2(listing(owner=None), "s&", "tok", "next"))
    assert (found["StartAfter"], found["ContinuationToken"], found["NextContinuationToken"]) == ("s&", "tok", "next")
    assert found["KeyCount"] == 3 and "Owner" not in found["Contents"][0]
    empty = listing(contents=[], prefixes=[], truncated=False, delimiter=None, prefix="")
    bare = read("ListObjectsV2", xml_listings.list_objects_v2(empty, None, None, None))
    assert bare["KeyCount"] == 0 and bare["IsTruncated"] is False
    assert not {"StartAfter", "ContinuationToken", "NextContinuationToken", "Delimiter", "EncodingType"} & bare.keys()


def test_a_listing_of_versions() -> None:
    found = read("ListObjectVersions", xml_listings.list_versions(listing(), "k", "", "main/b"))
    assert [(one["Key"], one["VersionId"], one["IsLatest"]) for one in found["Versions"]] == [
        (NASTY, "null", True),
        ("main/b", "null", True),
    ]
    assert (found["KeyMarker"], found["NextKeyMarker"], found["NextVersionIdMarker"]) == ("k", "main/b", "null")


def test_a_listing_of_buckets() -> None:
    found = read("ListBuckets", xml_listings.list_buckets(OWNER, [("a-repo", AT), ("b-repo", AT)], "t", None))
    assert [bucket["Name"] for bucket in found["Buckets"]] == ["a-repo", "b-repo"]
    assert found["Owner"]["DisplayName"] == "<me>" and found["ContinuationToken"] == "t"


@pytest.mark.thorough
@settings(deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1)), st.text(st.characters(codec="utf-8")))
def test_encoded_listings_hold_any_key(keys: list[str], prefix: str) -> None:
    page = listing(
        contents=[Content(key, AT, "e", 1) for key in keys], prefixes=keys, prefix=prefix, encoding_type="url"
    )
    for operation, body in (
        ("ListObjectsV2", xml_listings.list_objects_v2(page, prefix, None, None)),
        ("ListObjects", xml_listings.list_objects(page, prefix, prefix)),
        ("ListObjectVersions", xml_listings.list_versions(page, prefix, "", prefix)),
    ):
        found = read(operation, body)
        rows = found.get("Contents", found.get("Versions", []))
        assert found["EncodingType"] == "url" and unquote(found["Prefix"]) == prefix
        assert [unquote(row["Key"]) for row in rows] == keys
        assert [unquote(row["Prefix"]) for row in found.get("CommonPrefixes", [])] == keys


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"])))
def test_plain_listings_hold_what_xml_can(key: str) -> None:
    key += "\t\r\n"
    page = listing(contents=[Content(key, AT, "e", 1)])
    assert read("ListObjectsV2", xml_listings.list_objects_v2(page, None, None, None))["Contents"][0]["Key"] == key


@pytest.mark.parametrize("bad", ["\x00", "\x01", "\x0b", "\x1f", "\ufffe", "\uffff"])
def test_what_xml_cannot_hold_is_a_reference_as_in_s3_and_never_another_key(bad: str) -> None:
    assert escape(f"a{bad}b") == f"a&#{ord(bad)};b"
    with pytest.raises(ElementTree.ParseError):
        ElementTree.fromstring(xml_listings.list_objects(listing(contents=[Content(bad, AT, "e", 1)]), "", None))
    assert unquote(url_encode(bad)) == bad


_NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_MOMENTS = st.integers(-(10**15), 4 * 10**15)


@pytest.mark.thorough
@settings(deadline=None)  # Arrow's first steps take a while
@given(
    st.lists(st.tuples(_NAMES, _MOMENTS, _NAMES, st.integers(0, 2**62)), max_size=6),
    st.lists(_NAMES, max_size=4),
    st.sampled_from([None, "url"]),
    st.integers(0, 3),
)
def test_columns_and_rows_make_the_same_page(
    rows: list[tuple[str, int, str, int]], prefixes: list[str], encoding: str | None, skipped: int
) -> None:
    root = "ma&in/"
    kinds = (pa.string(), pa.int64(), pa.string(), pa.int64())
    arrays = [pa.array([row[at] for row in rows], kind) for at, kind in enumerate(kinds)]
    paths, moments, tags, sizes = (array.slice(min(skipped, len(rows))) for array in arrays)
    columns = ListingColumns(root, paths, moments, tags, sizes)
    contents = [Content(root + key, at, etag, size) for key, at, etag, size in rows[skipped:]]
    both = [listing(contents=each, prefixes=prefixes, encoding_type=encoding) for each in (columns, contents)]
    assert len(columns) == len(contents)
    one, other = both
    assert xml_listings.list_objects(one, "m", None) == xml_listings.list_objects(other, "m", None)
    assert xml_listings.list_objects_v2(one, None, None, "n") == xml_listings.list_objects_v2(other, None, None, "n")
    assert xml_listings.list_versions(one, "", "", None) == xml_listings.list_versions(other, "", "", None)


def test_deletions() -> None:
    body = xml_out.delete_result(
        [xml_out.DeletedKey(NASTY), xml_out.DeletedKey("v", "null")],
        [xml_out.UndeletedKey("x<", "AccessDenied", "no & no")],
    )
    found = read("DeleteObjects", body)
    assert found["Deleted"] == [{"Key": NASTY}, {"Key": "v", "VersionId": "null"}]
    assert found["Errors"] == [{"Key": "x<", "Code": "AccessDenied", "Message": "no & no"}]
    assert b"Deleted" not in xml_out.delete_result([], [])


def test_an_upload_from_its_beginning_to_its_end() -> None:
    begun = read("CreateMultipartUpload", xml_uploads.initiate_result("repo", NASTY, "u&1"))
    assert (begun["Bucket"], begun["Key"], begun["UploadId"]) == ("repo", NASTY, "u&1")
    done = read(
        "CompleteMultipartUpload",
        xml_uploads.complete_result("http://h/repo/k?a&b", "repo", NASTY, "e-2", {"CRC32": "AAAAAA=="}, "FULL_OBJECT"),
    )
    assert (done["ETag"], done["ChecksumCRC32"], done["ChecksumType"]) == ('"e-2"', "AAAAAA==", "FULL_OBJECT")
    assert done["Location"] == "http://h/repo/k?a&b" and done["Key"] == NASTY


def test_copies() -> None:
    copied = read("CopyObject", xml_uploads.copy_result("e", AT, {"SHA1": "x"}))["CopyObjectResult"]
    assert (copied["ETag"], copied["ChecksumSHA1"], copied["LastModified"].year) == ('"e"', "x", 2023)
    part = read("UploadPartCopy", xml_uploads.copy_result("e", AT, of_part=True))["CopyPartResult"]
    assert part["ETag"] == '"e"'


def test_the_parts_of_an_upload() -> None:
    parts = [UploadedPart(1, AT, "a", 5, {"CRC32C": "AAAAAA=="}), UploadedPart(3, AT, "b", 6)]
    body = xml_uploads.list_parts(
        PartListing(
            bucket="repo", upload=ListedUpload(NASTY, "u", AT, "CRC32C", "COMPOSITE"), parts=parts,
            marker=0, next_marker=3, max_parts=2, truncated=True, owner=OWNER,
        )
    )  # fmt: skip
    found = read("ListParts", body)
    assert [(one["PartNumber"], one["ETag"], one["Size"]) for one in found["Parts"]] == [(1, '"a"', 5), (3, '"b"', 6)]
    assert found["Parts"][0]["ChecksumCRC32C"] == "AAAAAA==" and found["ChecksumType"] == "COMPOSITE"
    assert (found["NextPartNumberMarker"], found["IsTruncated"], found["Key"]) == (3, True, NASTY)


@pytest.mark.parametrize("encoding", [None, "url"])
def test_the_uploads_of_a_bucket(encoding: str | None) -> None:
    body = xml_uploads.list_uploads(
        UploadListing(
            bucket="repo", uploads=[ListedUpload(NASTY, "u", AT)], prefixes=["p&/"], max_uploads=5, truncated=True,
            owner=OWNER, key_marker="k&", id_marker="i", next_key_marker="n&", next_id_marker="ni", prefix="",
            delimiter="/", encoding_type=encoding,
        )
    )  # fmt: skip
    found = read("ListMultipartUploads", body)
    plain = unquote if encoding else str
    assert plain(found["Uploads"][0]["Key"]) == NASTY and plain(found["NextKeyMarker"]) == "n&"
    assert (found["UploadIdMarker"], found["NextUploadIdMarker"], found["MaxUploads"]) == ("i", "ni", 5)
    assert plain(found["CommonPrefixes"][0]["Prefix"]) == "p&/"


def test_what_a_bucket_is_like() -> None:
    # botocore's own parser leaves the location to a handler.
    assert ElementTree.fromstring(xml_out.location("eu-1")).text == "eu-1"
    assert ElementTree.fromstring(xml_out.location("us-east-1")).text is None
    assert "Status" not in read("GetBucketVersioning", xml_out.versioning())
    assert read("GetBucketVersioning", xml_out.versioning("Suspended"))["Status"] == "Suspended"


def test_what_an_object_is_like() -> None:
    parts = xml_uploads.ObjectParts(2, [UploadedPart(1, AT, "e", 5, {"CRC32": "AAAAAA=="})], 0, 1, 1, True)
    body = xml_uploads.attributes(
        etag="e-2", checksums={"CRC32": "x"}, checksum_type="COMPOSITE", parts=parts, size=9, storage=True
    )
    found = read("GetObjectAttributes", body)
    assert (found["ETag"], found["ObjectSize"], found["StorageClass"]) == ("e-2", 9, "STANDARD")
    assert found["Checksum"] == {"ChecksumCRC32": "x", "ChecksumType": "COMPOSITE"}
    assert found["ObjectParts"]["TotalPartsCount"] == 2 and found["ObjectParts"]["IsTruncated"] is True
    assert found["ObjectParts"]["Parts"] == [{"PartNumber": 1, "Size": 5, "ChecksumCRC32": "AAAAAA=="}]
    assert set(read("GetObjectAttributes", xml_uploads.attributes(size=9))) == {"ObjectSize", "ResponseMetadata"}


def test_an_error() -> None:
    fault = S3Error("NoSuchKey", Key="a<b>&\x01")
    root = ElementTree.fromstring(xml_out.error(S3Error("NoSuchKey", Key="a<b>&"), "/repo/a", "r1"))
    assert {child.tag: child.text for child in root} == {
        "Code": "NoSuchKey", "Message": fault.message, "Key": "a<b>&", "Resource": "/repo/a", "RequestId": "r1",
        "HostId": "r1",
    }  # fmt: skip
    parsed = read("GetObject", xml_out.error(fault, "/repo/a", "r1").replace(b"&#1;", b""), fault.status)
    assert parsed["Error"]["Code"] == "NoSuchKey"


def test_every_code_has_a_status_of_http_and_a_sentence() -> None:
    for code, (status, message) in CODES.items():
        assert status in (301, 304, *range(400, 418), 422, 500, 501, 503), code
        assert message and S3Error(code).status == status


def test_a_page_of_a_thousand_keys_takes_a_millisecond_or_so() -> None:
    contents = [
        Content(f"main/data/year=2026/part-{at:05}.parquet", AT + at * 1000, f"{at:032x}", at) for at in range(1000)
    ]
    page = listing(contents=contents, prefixes=[], encoding_type="url")
    best = min(_spent(page) for _ in range(20))
    assert best < 0.012  # three milliseconds where nothing else runs


def _spent(page: Listing) -> float:
    started = perf_counter()
    xml_listings.list_objects_v2(page, None, None, "next")
    return perf_counter() - started

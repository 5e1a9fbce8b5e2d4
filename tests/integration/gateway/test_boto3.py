"""The gateway through boto3, unmodified: objects, lists, copies, conditions, parts, presigned URLs."""

import base64
import hashlib
import io
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, ParamValidationError

from tests.servers.lochan import LochanServer

BIG = bytes(range(256)) * (6 << 12)  # 6 MiB


def refused(code: str, call: Any, **given: Any) -> dict[str, Any]:
    with pytest.raises(ClientError) as caught:
        call(**given)
    answer: dict[str, Any] = caught.value.response
    assert answer["Error"]["Code"] == code, answer
    assert answer["ResponseMetadata"]["HTTPHeaders"].get("x-amz-request-id")
    return answer


def keys(answer: dict[str, Any]) -> list[str]:
    return [each["Key"] for each in answer.get("Contents", [])]


def prefixes(answer: dict[str, Any]) -> list[str]:
    return [each["Prefix"] for each in answer.get("CommonPrefixes", [])]


def test_what_was_put_comes_back(s3: Any, bucket: str) -> None:
    attributes = {
        "ContentType": "text/csv",
        "CacheControl": "no-cache",
        "ContentDisposition": "attachment",
        "ContentEncoding": "gzip",
        "ContentLanguage": "gd",
        "Metadata": {"owner": "ada"},
    }
    put = s3.put_object(Bucket=bucket, Key="main/data/a.csv", Body=b"one\n", **attributes)
    assert put["ETag"] == '"' + hashlib.md5(b"one\n").hexdigest() + '"'
    got = s3.get_object(Bucket=bucket, Key="main/data/a.csv")
    assert got["Body"].read() == b"one\n"
    head = s3.head_object(Bucket=bucket, Key="main/data/a.csv")
    for answer in (got, head):
        assert {name: answer[name] for name in attributes} == attributes
        assert (answer["ContentLength"], answer["ETag"]) == (4, put["ETag"])
    s3.delete_object(Bucket=bucket, Key="main/data/a.csv")
    refused("NoSuchKey", s3.get_object, Bucket=bucket, Key="main/data/a.csv")
    assert refused("404", s3.head_object, Bucket=bucket, Key="main/data/a.csv")
    s3.delete_object(Bucket=bucket, Key="main/data/a.csv")  # a missing key counts as deleted


def test_buckets_are_repositories(server: LochanServer, s3: Any, bucket: str) -> None:
    assert bucket in [each["Name"] for each in s3.list_buckets()["Buckets"]]
    s3.head_bucket(Bucket=bucket)
    assert s3.get_bucket_location(Bucket=bucket)["LocationConstraint"] is None
    assert "Status" not in s3.get_bucket_versioning(Bucket=bucket)
    assert bucket in server.lochan("ls")
    refused("BucketAlreadyOwnedByYou", s3.create_bucket, Bucket=bucket)
    refused("InvalidBucketName", s3.create_bucket, Bucket="with.dots")
    s3.put_object(Bucket=bucket, Key="main/x", Body=b"")
    refused("BucketNotEmpty", s3.delete_bucket, Bucket=bucket)
    s3.delete_object(Bucket=bucket, Key="main/x")
    s3.delete_bucket(Bucket=bucket)
    refused("404", s3.head_bucket, Bucket=bucket)
    refused("NoSuchBucket", s3.list_objects_v2, Bucket=bucket)


def test_branches_tags_and_commits_are_refs(server: LochanServer, s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"first")
    server.lochan("commit", bucket, "-m", "first")
    server.lochan("tag", "create", f"{bucket}@v1")
    server.lochan("branch", "create", f"{bucket}@dev")
    s3.put_object(Bucket=bucket, Key="dev/a", Body=b"second")
    assert prefixes(s3.list_objects_v2(Bucket=bucket, Delimiter="/")) == ["dev/", "main/"]
    assert prefixes(s3.list_objects_v2(Bucket=bucket, Prefix="de", Delimiter="/")) == ["dev/"]
    for ref, expected in (
        ("main", b"first"),
        ("v1", b"first"),
        ("dev", b"second"),
        ("dev@", b"first"),
        ("dev~0", b"first"),
    ):
        assert s3.get_object(Bucket=bucket, Key=f"{ref}/a")["Body"].read() == expected, ref
    refused("AccessDenied", s3.put_object, Bucket=bucket, Key="v1/a", Body=b"x")
    refused("NoSuchKey", s3.put_object, Bucket=bucket, Key="nowhere/a", Body=b"x")
    refused("NoSuchKey", s3.get_object, Bucket=bucket, Key="nowhere/a")
    server.lochan("branch", "protect", bucket, "main")
    refused("AccessDenied", s3.put_object, Bucket=bucket, Key="main/a", Body=b"x")


def test_lists_in_every_version(s3: Any, bucket: str) -> None:
    names = [f"main/d/{number:03d}" for number in range(25)] + ["main/e/x", "main/top", "main/ü &<>.txt"]
    for name in names:
        s3.put_object(Bucket=bucket, Key=name, Body=name.encode())
    ordered = sorted(names, key=str.encode)
    pages = s3.get_paginator("list_objects_v2").paginate(
        Bucket=bucket, Prefix="main/", PaginationConfig={"PageSize": 7}
    )
    assert [key for page in pages for key in keys(page)] == ordered
    pages = s3.get_paginator("list_objects").paginate(Bucket=bucket, Prefix="main/", PaginationConfig={"PageSize": 7})
    assert [key for page in pages for key in keys(page)] == ordered
    pages = s3.get_paginator("list_object_versions").paginate(
        Bucket=bucket, Prefix="main/", PaginationConfig={"PageSize": 7}
    )
    versions = [each for page in pages for each in page["Versions"]]
    assert [each["Key"] for each in versions] == ordered
    assert {each["VersionId"] for each in versions} == {"null"}
    folded = s3.list_objects_v2(Bucket=bucket, Prefix="main/", Delimiter="/")
    assert prefixes(folded) == ["main/d/", "main/e/"]
    assert keys(folded) == ["main/top", "main/ü &<>.txt"]
    assert folded["KeyCount"] == 4
    after = s3.list_objects_v2(Bucket=bucket, Prefix="main/", StartAfter="main/d/022")
    assert keys(after)[:2] == ["main/d/023", "main/d/024"]
    assert keys(s3.list_objects_v2(Bucket=bucket, Prefix="main/d/", MaxKeys=0)) == []
    assert s3.list_objects_v2(Bucket=bucket, Prefix="main/", FetchOwner=True)["Contents"][0]["Owner"]["ID"] == "admin"
    refused("InvalidArgument", s3.list_objects_v2, Bucket=bucket, Prefix="main/", ContinuationToken="!")


def test_spans_of_an_object(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="main/ten", Body=b"0123456789")
    for asked, expected, shown in (
        ("bytes=2-4", b"234", "bytes 2-4/10"),
        ("bytes=7-", b"789", "bytes 7-9/10"),
        ("bytes=-3", b"789", "bytes 7-9/10"),
        ("bytes=8-99", b"89", "bytes 8-9/10"),
    ):
        got = s3.get_object(Bucket=bucket, Key="main/ten", Range=asked)
        assert (got["Body"].read(), got["ContentRange"]) == (expected, shown)
        assert got["ResponseMetadata"]["HTTPStatusCode"] == 206
    refused("InvalidRange", s3.get_object, Bucket=bucket, Key="main/ten", Range="bytes=10-")
    assert s3.get_object(Bucket=bucket, Key="main/ten", Range="bytes=5-2")["Body"].read() == b"0123456789"
    named = s3.get_object(Bucket=bucket, Key="main/ten", ResponseContentType="x/y", ResponseCacheControl="none")
    assert (named["ContentType"], named["CacheControl"]) == ("x/y", "none")


def test_conditions(s3: Any, bucket: str) -> None:
    key = {"Bucket": bucket, "Key": "main/a"}
    etag = s3.put_object(**key, Body=b"one", IfNoneMatch="*")["ETag"]
    refused("PreconditionFailed", s3.put_object, **key, Body=b"two", IfNoneMatch="*")
    refused("PreconditionFailed", s3.put_object, **key, Body=b"two", IfMatch='"0123"')
    refused("NoSuchKey", s3.put_object, Bucket=bucket, Key="main/none", Body=b"two", IfMatch=etag)
    assert s3.get_object(**key, IfMatch=etag)["Body"].read() == b"one"
    refused("PreconditionFailed", s3.get_object, **key, IfMatch='"0123"')
    refused("304", s3.get_object, **key, IfNoneMatch=etag)
    modified = s3.head_object(**key)["LastModified"]
    refused("304", s3.get_object, **key, IfModifiedSince=modified)
    s3.get_object(**key, IfUnmodifiedSince=modified)
    s3.put_object(**key, Body=b"two", IfMatch=etag)
    refused("PreconditionFailed", s3.delete_object, **key, IfMatch=etag)


def test_copies(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="main/a b/ü+%", Body=b"x", Metadata={"k": "v"}, ContentType="a/b")
    source = {"Bucket": bucket, "Key": "main/a b/ü+%"}
    etag = s3.copy_object(Bucket=bucket, Key="main/c", CopySource=source)["CopyObjectResult"]["ETag"]
    head = s3.head_object(Bucket=bucket, Key="main/c")
    assert (head["ETag"], head["Metadata"], head["ContentType"]) == (etag, {"k": "v"}, "a/b")
    itself = {"Bucket": bucket, "Key": "main/c", "CopySource": f"{bucket}/main/c"}
    s3.copy_object(**itself, MetadataDirective="REPLACE", Metadata={"n": "w"})
    assert s3.head_object(Bucket=bucket, Key="main/c")["Metadata"] == {"n": "w"}
    refused("InvalidRequest", s3.copy_object, **itself)
    refused("NoSuchKey", s3.copy_object, Bucket=bucket, Key="main/d", CopySource=f"{bucket}/main/none")
    refused(
        "PreconditionFailed", s3.copy_object, Bucket=bucket, Key="main/d", CopySource=source, CopySourceIfNoneMatch=etag
    )
    other = f"{bucket}-other"
    s3.create_bucket(Bucket=other)
    s3.copy_object(Bucket=other, Key="main/from-afar", CopySource=source)
    assert s3.get_object(Bucket=other, Key="main/from-afar")["Body"].read() == b"x"


def test_many_deleted_at_once(s3: Any, bucket: str) -> None:
    for number in range(5):
        s3.put_object(Bucket=bucket, Key=f"main/{number}", Body=b"x")
    asked = [{"Key": f"main/{number}"} for number in range(3)] + [{"Key": "main/none"}, {"Key": "v9/x"}]
    answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": asked})
    assert [each["Key"] for each in answer["Deleted"]] == ["main/0", "main/1", "main/2", "main/none"]
    assert [(each["Key"], each["Code"]) for each in answer["Errors"]] == [("v9/x", "NoSuchKey")]
    quiet = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "main/3"}], "Quiet": True})
    assert "Deleted" not in quiet
    assert keys(s3.list_objects_v2(Bucket=bucket, Prefix="main/")) == ["main/4"]


def test_an_upload_in_parts(s3: Any, bucket: str) -> None:
    key = {"Bucket": bucket, "Key": "main/big"}
    id = s3.create_multipart_upload(**key, ContentType="x/y", Metadata={"a": "b"})["UploadId"]
    refused("NoSuchKey", s3.get_object, **key)
    second = s3.upload_part(**key, UploadId=id, PartNumber=2, Body=b"the end")["ETag"]
    first = s3.upload_part(**key, UploadId=id, PartNumber=1, Body=BIG)["ETag"]
    listed = s3.list_parts(**key, UploadId=id)["Parts"]
    assert [(each["PartNumber"], each["Size"], each["ETag"]) for each in listed] == [
        (1, len(BIG), first),
        (2, 7, second),
    ]
    assert s3.list_parts(**key, UploadId=id, MaxParts=1)["NextPartNumberMarker"] == 1
    [upload] = s3.list_multipart_uploads(Bucket=bucket)["Uploads"]
    assert (upload["Key"], upload["UploadId"]) == ("main/big", id)
    wanted = {"Parts": [{"PartNumber": 1, "ETag": first}, {"PartNumber": 2, "ETag": second}]}
    wrong = {"Parts": [{"PartNumber": 1, "ETag": '"0"'}]}
    refused("InvalidPart", s3.complete_multipart_upload, **key, UploadId=id, MultipartUpload=wrong)
    refused(
        "InvalidPartOrder",
        s3.complete_multipart_upload,
        **key,
        UploadId=id,
        MultipartUpload={"Parts": wanted["Parts"][::-1]},
    )
    done = s3.complete_multipart_upload(**key, UploadId=id, MultipartUpload=wanted)
    assert done["ETag"].endswith('-2"')
    assert s3.complete_multipart_upload(**key, UploadId=id, MultipartUpload=wanted)["ETag"] == done["ETag"]
    got = s3.get_object(**key)
    assert got["Body"].read() == BIG + b"the end"
    assert (got["ContentType"], got["Metadata"], got["ETag"]) == ("x/y", {"a": "b"}, done["ETag"])
    part = s3.get_object(**key, PartNumber=2)
    assert (part["Body"].read(), part["PartsCount"]) == (b"the end", 2)
    attributes = s3.get_object_attributes(**key, ObjectAttributes=["ETag", "ObjectParts", "ObjectSize"])
    assert (attributes["ObjectSize"], attributes["ObjectParts"]["TotalPartsCount"]) == (len(BIG) + 7, 2)


def test_an_upload_that_is_given_up(s3: Any, bucket: str) -> None:
    key = {"Bucket": bucket, "Key": "main/big"}
    id = s3.create_multipart_upload(**key)["UploadId"]
    small = [s3.upload_part(**key, UploadId=id, PartNumber=number, Body=b"x")["ETag"] for number in (1, 2)]
    parts = [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(small, 1)]
    refused("EntityTooSmall", s3.complete_multipart_upload, **key, UploadId=id, MultipartUpload={"Parts": parts})
    refused("InvalidArgument", s3.upload_part, **key, UploadId=id, PartNumber=10_001, Body=b"x")
    s3.abort_multipart_upload(**key, UploadId=id)
    refused("NoSuchUpload", s3.abort_multipart_upload, **key, UploadId=id)
    refused("NoSuchUpload", s3.upload_part, **key, UploadId=id, PartNumber=1, Body=b"x")
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)


def test_parts_copied_from_an_object(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="main/source", Body=BIG)
    key = {"Bucket": bucket, "Key": "main/copy"}
    id = s3.create_multipart_upload(**key)["UploadId"]
    parts = []
    for number, asked in enumerate((f"bytes=0-{len(BIG) - 1}", "bytes=5-9"), 1):
        answer = s3.upload_part_copy(
            **key, UploadId=id, PartNumber=number, CopySource=f"{bucket}/main/source", CopySourceRange=asked
        )
        parts.append({"PartNumber": number, "ETag": answer["CopyPartResult"]["ETag"]})
    s3.complete_multipart_upload(**key, UploadId=id, MultipartUpload={"Parts": parts})
    assert s3.get_object(**key)["Body"].read() == BIG + BIG[5:10]


@pytest.mark.parametrize("algorithm, kind", [("SHA256", "COMPOSITE"), ("CRC32C", "FULL_OBJECT")])
def test_parts_copied_into_an_upload_that_wants_a_checksum(s3: Any, bucket: str, algorithm: str, kind: str) -> None:
    """Parts from the same repository and from another, beside a part that was put."""
    other = f"{bucket}-other"
    s3.create_bucket(Bucket=other)
    for each in (bucket, other):
        s3.put_object(Bucket=each, Key="main/source", Body=BIG)
    key = {"Bucket": bucket, "Key": "main/copy"}
    id = s3.create_multipart_upload(**key, ChecksumAlgorithm=algorithm, ChecksumType=kind)["UploadId"]
    name, parts = f"Checksum{algorithm}", []
    for number, source in enumerate((bucket, other), 1):
        answer = s3.upload_part_copy(**key, UploadId=id, PartNumber=number, CopySource=f"{source}/main/source")
        parts.append({"PartNumber": number, **{each: answer["CopyPartResult"][each] for each in ("ETag", name)}})
    last = s3.upload_part(**key, UploadId=id, PartNumber=3, Body=b"end", ChecksumAlgorithm=algorithm)
    parts.append({"PartNumber": 3, "ETag": last["ETag"], name: last[name]})
    done = s3.complete_multipart_upload(**key, UploadId=id, MultipartUpload={"Parts": parts})
    if kind == "FULL_OBJECT":
        whole = s3.put_object(Bucket=bucket, Key="main/whole", Body=BIG + BIG + b"end", ChecksumAlgorithm=algorithm)
        assert done[name] == whole[name]
    else:
        digests = b"".join(hashlib.sha256(each).digest() for each in (BIG, BIG, b"end"))
        assert done[name] == base64.b64encode(hashlib.sha256(digests).digest()).decode() + "-3"
    assert s3.head_object(**key, ChecksumMode="ENABLED")[name] == done[name]


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_checksums_are_kept_and_compared(s3: Any, bucket: str, algorithm: str) -> None:
    key = {"Bucket": bucket, "Key": "main/a"}
    put = s3.put_object(**key, Body=b"hello", ChecksumAlgorithm=algorithm)
    name = f"Checksum{algorithm}"
    assert s3.head_object(**key, ChecksumMode="ENABLED")[name] == put[name]
    wrong = "A" * (len(put[name]) - put[name].count("=")) + "=" * put[name].count("=")
    refused("BadDigest", s3.put_object, **key, Body=b"hello!", **{name: wrong})
    assert s3.get_object(**key)["Body"].read() == b"hello"


def test_the_transfer_manager(s3: Any, bucket: str, folder: Path) -> None:
    data = bytes(range(256)) * (80 << 10)  # 20 MiB
    (folder / "file").write_bytes(data)
    s3.upload_file(str(folder / "file"), bucket, "main/file", ExtraArgs={"Metadata": {"a": "b"}})
    s3.download_file(bucket, "main/file", str(folder / "back"))
    assert (folder / "back").read_bytes() == data
    out = io.BytesIO()
    s3.download_fileobj(bucket, "main/file", out)
    assert out.getvalue() == data
    s3.copy({"Bucket": bucket, "Key": "main/file"}, bucket, "main/copy")
    assert s3.head_object(Bucket=bucket, Key="main/copy")["ContentLength"] == len(data)


@pytest.mark.parametrize("version", ["s3v4", "s3"])
def test_presigned_urls(server: LochanServer, bucket: str, version: str) -> None:
    with closing(server.boto3(signature_version=version)) as s3:
        url = s3.generate_presigned_url("put_object", {"Bucket": bucket, "Key": "main/p q"}, ExpiresIn=60)
        with urllib.request.urlopen(
            urllib.request.Request(url, b"signed", {"Content-Type": ""}, method="PUT")
        ) as answer:
            assert answer.status == 200
        url = s3.generate_presigned_url("get_object", {"Bucket": bucket, "Key": "main/p q"}, ExpiresIn=60)
        with urllib.request.urlopen(url) as answer:
            assert answer.read() == b"signed"
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(url.replace("main/p", "main/q"))
        assert caught.value.code == 403
        assert b"SignatureDoesNotMatch" in caught.value.read()
        caught.value.close()


@pytest.mark.parametrize("version", ["s3v4", "s3"])
def test_signatures_of_both_versions(server: LochanServer, bucket: str, version: str) -> None:
    with closing(server.boto3(signature_version=version)) as s3:
        s3.put_object(Bucket=bucket, Key="main/a b", Body=b"x")
        assert keys(s3.list_objects_v2(Bucket=bucket, Prefix="main/")) == ["main/a b"]
    with closing(server.boto3(secret="another", signature_version=version)) as s3:
        refused("SignatureDoesNotMatch", s3.list_buckets)
    with closing(server.boto3(key="NOBODY", signature_version=version)) as s3:
        refused("InvalidAccessKeyId", s3.list_buckets)


def test_a_bucket_as_a_whole_shows_its_branches_as_folders(server: LochanServer, s3: Any, bucket: str) -> None:
    """Tags and commits are not listed."""
    s3.put_object(Bucket=bucket, Key="main/a/b", Body=b"x")
    server.lochan("commit", f"{bucket}@main", "-m", "one")
    server.lochan("tag", "create", f"{bucket}@v1", "--from", "main")
    for name in ("dev", "dev-2", "other"):
        server.lochan("branch", "create", f"{bucket}@{name}", "--from", "main")
    every = ["dev-2/", "dev/", "main/", "other/"]  # by their bytes: a dash comes before a slash
    for list_in in (s3.list_objects, s3.list_objects_v2, s3.list_object_versions):
        answer = list_in(Bucket=bucket, Delimiter="/")
        assert (prefixes(answer), keys(answer), answer.get("Versions")) == (every, [], None)
        assert prefixes(list_in(Bucket=bucket, Prefix="dev", Delimiter="/")) == every[:2]
        assert prefixes(list_in(Bucket=bucket, Prefix="v", Delimiter="/")) == []
    for name in ("list_objects", "list_objects_v2", "list_object_versions"):
        pages = s3.get_paginator(name).paginate(Bucket=bucket, Delimiter="/", PaginationConfig={"PageSize": 1})
        assert [prefixes(page) for page in pages] == [[each] for each in every], name


def test_a_bucket_without_a_delimiter_lists_every_branch(server: LochanServer, s3: Any, bucket: str) -> None:
    """A client that mirrors a bucket deletes what the list does not show."""
    for name in ("dev", "dev-2", "empty", "zoo"):
        server.lochan("branch", "create", f"{bucket}@{name}", "--from", "main")
    every = ["dev-2/a", "dev-2/b/c", "dev/a-x", "dev/b", "main/a", "main/b/c-1", "main/b/c-2", "zoo/ü"]
    for key in every:
        s3.put_object(Bucket=bucket, Key=key, Body=b"x")
    server.lochan("commit", f"{bucket}@dev", "-m", "some are committed, others staged")
    for prefix in ("", "d", "dev", "main", "none"):
        for delimiter in ("", "-", "a"):
            expected = rolled_up([key for key in every if key.startswith(prefix)], prefix, delimiter)
            for size in (1, 2, 3, 1000):
                for list_in in ("list_objects", "list_objects_v2"):
                    asked = {"Bucket": bucket, "Prefix": prefix, "Delimiter": delimiter}
                    pages = list(s3.get_paginator(list_in).paginate(**asked, PaginationConfig={"PageSize": size}))
                    found = ([key for page in pages for key in keys(page)], [c for p in pages for c in prefixes(p)])
                    assert found == expected, (prefix, delimiter, size, list_in)
                    assert len(pages) == max(1, -(-len(expected[0] + expected[1]) // size)), (prefix, delimiter, size)
    assert [each["Key"] for each in s3.list_object_versions(Bucket=bucket)["Versions"]] == every
    assert keys(s3.list_objects_v2(Bucket=bucket, StartAfter="dev/b")) == every[4:]
    assert prefixes(s3.list_objects_v2(Bucket=bucket, StartAfter="dev/b", Delimiter="/"))[0] == "dev/"
    refused("NotImplemented", s3.list_objects_v2, Bucket=bucket, Delimiter="/a")


def rolled_up(keys: list[str], prefix: str, delimiter: str) -> tuple[list[str], list[str]]:
    """Keys and common prefixes, as S3 describes them."""
    contents: list[str] = []
    common: dict[str, None] = {}
    for key in keys:
        at = key.find(delimiter, len(prefix)) if delimiter else -1
        if at < 0:
            contents.append(key)
        else:
            common[key[: at + len(delimiter)]] = None
    return contents, list(common)


def test_a_ref_that_does_not_exist_lists_as_empty(s3: Any, bucket: str) -> None:
    for list_in in (s3.list_objects, s3.list_objects_v2, s3.list_object_versions):
        answer = list_in(Bucket=bucket, Prefix="none/a")
        assert (keys(answer), prefixes(answer), answer["IsTruncated"]) == ([], [], False)


def test_the_flat_listener(server: LochanServer) -> None:
    with closing(server.boto3(flat=True)) as s3, closing(server.boto3()) as deep:
        s3.create_bucket(Bucket="flat-bucket")
        s3.put_object(Bucket="flat-bucket", Key="a/b", Body=b"x")
        assert keys(s3.list_objects_v2(Bucket="flat-bucket")) == ["a/b"]
        assert deep.get_object(Bucket="flat-bucket", Key="main/a/b")["Body"].read() == b"x"
        s3.delete_object(Bucket="flat-bucket", Key="a/b")
        s3.delete_bucket(Bucket="flat-bucket")


def test_a_bucket_with_dots_in_its_name(server: LochanServer) -> None:
    """They are made on the flat listener, as S3 has them, and called by their names everywhere."""
    with closing(server.boto3(flat=True)) as s3, closing(server.boto3()) as deep:
        for name in ("a..b", "a.-b", "a-.b", ".ab", "ab.", "192.168.5.4", "a." + "b" * 62, "A.b"):
            with pytest.raises((ClientError, ParamValidationError), match=r"InvalidBucketName|Invalid bucket name"):
                s3.create_bucket(Bucket=name)
        refused("NoSuchBucket", s3.list_objects_v2, Bucket="log.example.com")
        s3.create_bucket(Bucket="log.example.com")
        refused("BucketAlreadyOwnedByYou", s3.create_bucket, Bucket="log.example.com")
        s3.put_object(Bucket="log.example.com", Key="a/b", Body=b"x")
        assert keys(s3.list_objects_v2(Bucket="log.example.com")) == ["a/b"]
        assert deep.get_object(Bucket="log.example.com", Key="main/a/b")["Body"].read() == b"x"
        assert "log.example.com" in [each["Name"] for each in deep.list_buckets()["Buckets"]]
        assert server.lochan("fs", "cat", "log.example.com@main/a/b") == "x"
        server.lochan("commit", "log.example.com@main", "-m", "all")
        s3.delete_object(Bucket="log.example.com", Key="a/b")
        s3.delete_bucket(Bucket="log.example.com")
        refused("404", s3.head_bucket, Bucket="log.example.com")


def test_workspaces_are_refs_too(server: LochanServer, s3: Any, bucket: str) -> None:
    import json

    s3.put_object(Bucket=bucket, Key="main/a", Body=b"first")
    server.lochan("commit", bucket, "-m", "first")
    id = json.loads(server.lochan("workspace", "create", bucket, "-f", "json"))["id"]
    s3.put_object(Bucket=bucket, Key=f"main+{id}/b", Body=b"in it", ContentType="x/y")
    assert keys(s3.list_objects_v2(Bucket=bucket, Prefix=f"main+{id}/")) == [f"main+{id}/a", f"main+{id}/b"]
    assert keys(s3.list_objects_v2(Bucket=bucket, Prefix="main/")) == ["main/a"]
    refused("PreconditionFailed", s3.delete_object, Bucket=bucket, Key=f"main+{id}/a", IfMatch='"another"')
    key = {"Bucket": bucket, "Key": f"main+{id}/b"}
    upload = s3.create_multipart_upload(**key)["UploadId"]
    part = {"PartNumber": 1, "ETag": s3.upload_part(**key, UploadId=upload, PartNumber=1, Body=b"x")["ETag"]}
    whole = {**key, "UploadId": upload, "MultipartUpload": {"Parts": [part]}}
    refused("PreconditionFailed", s3.complete_multipart_upload, **whole, IfNoneMatch="*")
    s3.delete_object(Bucket=bucket, Key=f"main+{id}/a")
    server.lochan("workspace", "commit", bucket, id, "--all", "-m", "done")
    assert keys(s3.list_objects_v2(Bucket=bucket, Prefix="main/")) == ["main/b"]
    refused("AccessDenied", s3.put_object, Bucket=bucket, Key=f"main+{id}/c", Body=b"late")


def test_who_may_not(server: LochanServer, s3: Any, bucket: str) -> None:
    import json

    s3.put_object(Bucket=bucket, Key="main/a", Body=b"x")
    user = f"user-{bucket}"
    server.lochan("auth", "users", "create", user)
    made = json.loads(server.lochan("auth", "keys", "create", user, "-f", "json"))
    with closing(server.boto3(key=made["access_key_id"], secret=made["secret_access_key"])) as theirs:
        assert theirs.list_buckets()["Buckets"] == []
        refused("AccessDenied", theirs.get_object, Bucket=bucket, Key="main/a")
        refused("AccessDenied", theirs.list_objects_v2, Bucket=bucket, Prefix="main/")
        server.lochan("auth", "attach", user, "Analyst")
        assert theirs.get_object(Bucket=bucket, Key="main/a")["Body"].read() == b"x"
        refused("AccessDenied", theirs.put_object, Bucket=bucket, Key="main/a", Body=b"y")
        server.lochan("auth", "keys", "revoke", made["access_key_id"], "--yes")
        refused("InvalidAccessKeyId", theirs.get_object, Bucket=bucket, Key="main/a")


def test_what_a_lake_does_not_keep_is_answered_as_by_a_bucket_without_any(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"x")
    assert s3.get_bucket_acl(Bucket=bucket)["Grants"][0]["Permission"] == "FULL_CONTROL"
    assert s3.get_object_acl(Bucket=bucket, Key="main/a")["Owner"]["ID"] == "admin"
    assert s3.get_object_tagging(Bucket=bucket, Key="main/a")["TagSet"] == []
    assert s3.get_bucket_request_payment(Bucket=bucket)["Payer"] == "BucketOwner"
    assert "LoggingEnabled" not in s3.get_bucket_logging(Bucket=bucket)
    for code, ask in (
        ("NoSuchCORSConfiguration", s3.get_bucket_cors),
        ("NoSuchLifecycleConfiguration", s3.get_bucket_lifecycle_configuration),
        ("NoSuchBucketPolicy", s3.get_bucket_policy),
        ("NoSuchTagSet", s3.get_bucket_tagging),
        ("ServerSideEncryptionConfigurationNotFoundError", s3.get_bucket_encryption),
        ("ObjectLockConfigurationNotFoundError", s3.get_object_lock_configuration),
        ("NoSuchPublicAccessBlockConfiguration", s3.get_public_access_block),
    ):
        refused(code, ask, Bucket=bucket)
        refused("NoSuchBucket", ask, Bucket="no-such-bucket")
    refused("NoSuchKey", s3.get_object_tagging, Bucket=bucket, Key="main/none")
    refused("NotImplemented", s3.put_bucket_cors, Bucket=bucket, CORSConfiguration={"CORSRules": []})
    refused("NotImplemented", s3.put_object_tagging, Bucket=bucket, Key="main/a", Tagging={"TagSet": []})
    refused("NotImplemented", s3.list_bucket_metrics_configurations, Bucket=bucket)


def test_an_object_is_renamed(server: LochanServer, s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"x", Metadata={"k": "v"})
    s3.put_object(Bucket=bucket, Key="main/there", Body=b"y")
    rename = {"Bucket": bucket, "Key": "main/b", "RenameSource": f"{bucket}/main/a"}
    refused("PreconditionFailed", s3.rename_object, **rename, SourceIfMatch='"0"')
    refused("PreconditionFailed", s3.rename_object, **{**rename, "Key": "main/there"}, DestinationIfNoneMatch="*")
    server.lochan("branch", "create", f"{bucket}@dev")
    refused("InvalidRequest", s3.rename_object, **{**rename, "Key": "dev/b"})
    refused("NoSuchKey", s3.rename_object, **{**rename, "RenameSource": f"{bucket}/main/none"})
    assert keys(s3.list_objects_v2(Bucket=bucket, Prefix="main/")) == ["main/a", "main/there"]
    s3.rename_object(**rename, DestinationIfNoneMatch="*")
    assert keys(s3.list_objects_v2(Bucket=bucket, Prefix="main/")) == ["main/b", "main/there"]
    assert s3.head_object(Bucket=bucket, Key="main/b")["Metadata"] == {"k": "v"}

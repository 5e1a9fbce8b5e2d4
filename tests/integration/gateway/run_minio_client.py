"""Runs in another interpreter with MinIO's client: uses every verb that programs use on the branch `main` of a bucket,
and fails with an assertion if something is wrong. It leaves `kept/` behind.
"""

import io
import sys
import urllib.request
from datetime import timedelta
from pathlib import Path

from minio import Minio  # type: ignore[import-not-found]
from minio.commonconfig import REPLACE, ComposeSource, CopySource  # type: ignore[import-not-found]
from minio.deleteobjects import DeleteObject  # type: ignore[import-not-found]
from minio.error import S3Error  # type: ignore[import-not-found]

LARGE = bytes(range(256)) * (48 << 10)  # 12 MiB


def main(host: str, key: str, secret: str, bucket: str, folder: str) -> None:
    client = Minio(host, access_key=key, secret_key=secret, secure=False)
    assert client.bucket_exists(bucket)
    assert not client.bucket_exists("no-such-bucket")
    assert bucket in [each.name for each in client.list_buckets()]
    put_and_get(client, bucket, Path(folder))
    copy(client, bucket)
    listed(client, bucket)
    presigned(client, bucket)
    for error in client.remove_objects(bucket, [DeleteObject(f"main/many/{number}") for number in range(25)]):
        raise AssertionError(error)
    client.remove_object(bucket, "main/copies/tagged")
    assert not list(client.list_objects(bucket, "main/many/", recursive=True))


def put_and_get(client: Minio, bucket: str, folder: Path) -> None:
    client.put_object(bucket, "main/kept/a b+ü.txt", io.BytesIO(b"one"), 3, "text/x", metadata={"owner": "ada"})
    client.put_object(bucket, "main/kept/empty", io.BytesIO(), 0)
    client.put_object(bucket, "main/kept/large", io.BytesIO(LARGE), -1, part_size=5 << 20)
    (folder / "file").write_bytes(LARGE)
    client.fput_object(bucket, "main/kept/file", str(folder / "file"), part_size=5 << 20)
    client.fget_object(bucket, "main/kept/file", str(folder / "back"))
    assert (folder / "back").read_bytes() == LARGE
    answer = client.get_object(bucket, "main/kept/large", offset=1_000, length=300)
    assert answer.read() == LARGE[1_000:1_300]
    answer.close()
    status = client.stat_object(bucket, "main/kept/a b+ü.txt")
    assert (status.size, status.content_type, status.metadata["x-amz-meta-owner"]) == (3, "text/x", "ada")
    try:
        client.stat_object(bucket, "main/none")
    except S3Error as error:
        assert error.code == "NoSuchKey", error
    else:
        raise AssertionError("it is not there")


def copy(client: Minio, bucket: str) -> None:
    client.copy_object(bucket, "main/copies/large", CopySource(bucket, "main/kept/large"))
    source = CopySource(bucket, "main/kept/a b+ü.txt")
    client.copy_object(bucket, "main/copies/tagged", source, metadata={"n": "1"}, metadata_directive=REPLACE)
    assert client.stat_object(bucket, "main/copies/tagged").metadata["x-amz-meta-n"] == "1"
    sources = [ComposeSource(bucket, "main/kept/large"), ComposeSource(bucket, "main/kept/a b+ü.txt")]
    client.compose_object(bucket, "main/kept/composed", sources)
    answer = client.get_object(bucket, "main/kept/composed")
    assert answer.read() == LARGE + b"one"
    answer.close()
    client.remove_object(bucket, "main/copies/large")


def listed(client: Minio, bucket: str) -> None:
    for number in range(25):
        client.put_object(bucket, f"main/many/{number}", io.BytesIO(b"x"), 1)
    names = [each.object_name for each in client.list_objects(bucket, "main/many/")]
    assert names == sorted(f"main/many/{number}" for number in range(25))
    folders = [each.object_name for each in client.list_objects(bucket, "main/") if each.is_dir]
    assert folders == ["main/copies/", "main/kept/", "main/many/"], folders
    assert [each.object_name for each in client.list_objects(bucket)] == ["main/"]
    old = client.list_objects(bucket, "main/many/", use_api_v1=True, start_after="main/many/8")
    assert [each.object_name for each in old] == ["main/many/9"]


def presigned(client: Minio, bucket: str) -> None:
    url = client.presigned_put_object(bucket, "main/kept/signed", expires=timedelta(minutes=1))
    with urllib.request.urlopen(urllib.request.Request(url, b"signed", method="PUT")) as answer:
        assert answer.status == 200
    url = client.presigned_get_object(bucket, "main/kept/signed", expires=timedelta(minutes=1))
    with urllib.request.urlopen(url) as answer:
        assert answer.read() == b"signed"


if __name__ == "__main__":
    main(*sys.argv[1:])

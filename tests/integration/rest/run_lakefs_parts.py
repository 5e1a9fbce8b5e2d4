"""Uploads in presigned parts with the published `lakefs_sdk`, unmodified: begun, put without credentials, completed,
completed again, copied, aborted; and what is wrong is refused."""

import sys
from collections.abc import Callable
from typing import Any
from urllib.request import Request, urlopen

import lakefs_sdk
from lakefs_sdk import ApiException

PART = 5 << 20


def main(url: str, key: str, secret: str, repository: str) -> None:
    client = lakefs_sdk.ApiClient(lakefs_sdk.Configuration(host=f"{url}/api/v1", username=key, password=secret))
    api, objects = lakefs_sdk.ExperimentalApi(client), lakefs_sdk.ObjectsApi(client)
    lakefs_sdk.RepositoriesApi(client).create_repository(
        lakefs_sdk.RepositoryCreation(name=repository, storage_namespace="s3://anything/")
    )
    of = (repository, "main")
    upload = api.create_presign_multipart_upload(*of, path="big/ü 1.bin", parts=2)
    assert len(upload.presigned_urls) == 2
    parts = [
        put(url, number, data)
        for number, url, data in zip((1, 2), upload.presigned_urls, (b"a" * PART, b"end"), strict=True)
    ]
    at: dict[str, Any] = {"upload_id": upload.upload_id, "path": "big/ü 1.bin"}
    done = lakefs_sdk.CompletePresignMultipartUpload(
        physical_address=upload.physical_address, parts=parts, user_metadata={"n": "1"}, content_type="text/x"
    )
    swapped = lakefs_sdk.CompletePresignMultipartUpload(
        physical_address=upload.physical_address, parts=list(reversed(parts))
    )
    refused(400, lambda: api.complete_presign_multipart_upload(*of, **at, complete_presign_multipart_upload=swapped))
    made = api.complete_presign_multipart_upload(*of, **at, complete_presign_multipart_upload=done)
    again = api.complete_presign_multipart_upload(*of, **at, complete_presign_multipart_upload=done)
    assert (made.size_bytes, again.checksum) == (PART + 3, made.checksum)
    stat = objects.stat_object(repository, "main", "big/ü 1.bin")
    assert (stat.size_bytes, stat.content_type, stat.metadata) == (PART + 3, "text/x", {"n": "1"})
    one_by_one(api, objects, repository)
    wrong(api, repository)
    print("done")


def one_by_one(api: lakefs_sdk.ExperimentalApi, objects: lakefs_sdk.ObjectsApi, repository: str) -> None:
    of = (repository, "main")
    upload = api.create_presign_multipart_upload(*of, path="copied")
    at: dict[str, Any] = {"upload_id": upload.upload_id, "path": "copied"}
    source = lakefs_sdk.CopyPartSource(
        repository=repository, ref="main", path="big/ü 1.bin", range=f"bytes=0-{PART - 1}"
    )
    copied = lakefs_sdk.UploadPartCopyFrom(physical_address=upload.physical_address, copy_source=source)
    answer = api.upload_part_copy_with_http_info(*of, **at, part_number=1, upload_part_copy_from=copied)
    place = lakefs_sdk.UploadPartFrom(physical_address=upload.physical_address)
    target = api.upload_part(*of, **at, part_number=2, upload_part_from=place)
    parts = [lakefs_sdk.UploadPart(part_number=1, etag=answer.headers["etag"]), put(target.presigned_url, 2, b"tail")]
    done = lakefs_sdk.CompletePresignMultipartUpload(physical_address=upload.physical_address, parts=parts)
    assert (
        api.complete_presign_multipart_upload(*of, **at, complete_presign_multipart_upload=done).size_bytes == PART + 4
    )
    assert objects.get_object(repository, "main", "copied")[-5:] == b"atail"


def wrong(api: lakefs_sdk.ExperimentalApi, repository: str) -> None:
    of = (repository, "main")
    upload = api.create_presign_multipart_upload(*of, path="none", parts=1)
    at: dict[str, Any] = {"upload_id": upload.upload_id, "path": "none"}
    place = lakefs_sdk.AbortPresignMultipartUpload(physical_address="lochan://other/main/none")
    refused(400, lambda: api.abort_presign_multipart_upload(*of, **at, abort_presign_multipart_upload=place))
    other: dict[str, Any] = {**at, "path": "other"}
    refused(404, lambda: api.abort_presign_multipart_upload(*of, **other))
    refused(400, lambda: api.create_presign_multipart_upload(*of, path="none", parts=10_001))
    refused(404, lambda: api.create_presign_multipart_upload(repository, "nowhere", path="none"))
    nothing = lakefs_sdk.CompletePresignMultipartUpload(physical_address=upload.physical_address, parts=[])
    refused(400, lambda: api.complete_presign_multipart_upload(*of, **at, complete_presign_multipart_upload=nothing))
    refused(400, lambda: api.complete_presign_multipart_upload(*of, **at))
    api.abort_presign_multipart_upload(*of, **at)
    refused(404, lambda: api.abort_presign_multipart_upload(*of, **at))
    refused(404, lambda: put(upload.presigned_urls[0], 1, b"x"))


def put(url: str, number: int, data: bytes) -> lakefs_sdk.UploadPart:
    """Without credentials."""
    with urlopen(Request(url, data=data, method="PUT"), timeout=60) as answer:
        return lakefs_sdk.UploadPart(part_number=number, etag=answer.headers["etag"])


def refused(status: int, call: Callable[[], object]) -> None:
    try:
        call()
    except ApiException as error:
        assert error.status == status, (status, error.status, error.body)
    except OSError as error:
        assert getattr(error, "code", 0) == status, (status, error)
    else:
        raise AssertionError(f"{status} was expected")


if __name__ == "__main__":
    main(*sys.argv[1:5])

"""Lakes that earlier code has written, over S3: they read as before, and an upload that was left open is finished."""

import hashlib
import json
import tarfile
from pathlib import Path

import pytest

from tests.golden.read_lake import BOB_KEY, BOB_SECRET, missing, read_by_s3
from tests.servers.lochan import lochan_server

LAKES = sorted((Path(__file__).parents[1] / "golden" / "lakes").iterdir())


@pytest.mark.parametrize("place", LAKES, ids=lambda place: place.name)
def test_a_server_of_today(place: Path, tmp_path: Path) -> None:
    expected = json.loads((place / "expected.json").read_text())["s3"]
    with tarfile.open(place / "lake.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    with lochan_server(tmp_path / "lake", init=False) as server:
        assert missing(expected, read_by_s3(server)) == []

        client = server.boto3(key=BOB_KEY, secret=BOB_SECRET)
        [upload] = expected["uploads"]
        there = {"Bucket": "shop", "Key": upload["key"]}
        end = client.upload_part(**there, UploadId=upload["id"], PartNumber=2, Body=b"at last")
        parts = [*((number, etag) for number, etag, _ in upload["parts"]), (2, end["ETag"])]
        client.complete_multipart_upload(
            **there,
            UploadId=upload["id"],
            MultipartUpload={"Parts": [{"PartNumber": number, "ETag": etag} for number, etag in parts]},
        )
        size = sum(size for _, _, size in upload["parts"])
        body = client.get_object(**there)["Body"].read()
        assert hashlib.sha256(body).digest() == hashlib.sha256(bytes(size) + b"at last").digest()
        assert not client.list_multipart_uploads(Bucket="shop").get("Uploads")
        client.close()
        server.lochan("commit", "shop", "-m", "finished")
        assert server.traceback() == ""

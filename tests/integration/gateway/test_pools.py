"""A pool through S3: its data objects are read as plain files, and nothing is written."""

import asyncio
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lochan.lake import Lake
from lochan.store.open import open_store
from tests.servers.lochan import LochanServer
from tests.unit.pools.place import Pool


def load(lake: str, pool: str, *objects: str) -> list[str]:
    async def play() -> list[str]:
        opened = await Lake.open(open_store(lake, {}))
        repository = await opened.open_repository(pool)
        ids = await Pool(repository).load("main", *objects)
        await repository.close()
        await opened.close()
        return ids

    return asyncio.run(play())


def test_objects_are_read_without_what_the_lake_knows_of_them(server: LochanServer, s3: Any) -> None:
    server.lochan("create", "s3-logs")
    (id,) = load(server.lake, "s3-logs", "a b")
    key = f"main/{id}.parquet"
    listed = s3.list_objects_v2(Bucket="s3-logs", Prefix="main/")
    assert [(each["Key"], each["Size"]) for each in listed["Contents"]] == [(key, 3)]
    got = s3.get_object(Bucket="s3-logs", Key=key)
    assert got["Body"].read() == b"a b"
    for answer in (got, s3.head_object(Bucket="s3-logs", Key=key)):
        assert answer["Metadata"] == {}
        assert answer["ContentType"] == "application/vnd.apache.parquet"
        assert "x-amz-missing-meta" not in answer["ResponseMetadata"]["HTTPHeaders"]


@pytest.mark.parametrize("name", ["s3_logs", "p"])
def test_a_pool_is_a_bucket_also_by_a_name_that_no_new_bucket_can_have(
    server: LochanServer, s3: Any, name: str
) -> None:
    server.lochan("create", name)
    (id,) = load(server.lake, name, "a b")
    assert name in [each["Name"] for each in s3.list_buckets()["Buckets"]]
    got = s3.get_object(Bucket=name, Key=f"main/{id}.parquet")
    assert got["Body"].read() == b"a b"


def test_nothing_is_written(server: LochanServer, s3: Any) -> None:
    server.lochan("create", "s3-refused")
    (id,) = load(server.lake, "s3-refused", "a")
    key, bucket = f"main/{id}.parquet", "s3-refused"
    copy = {"Bucket": bucket, "Key": key}
    for call, given in (
        (s3.put_object, {"Key": "main/a", "Body": b"x"}),
        (s3.put_object, {"Key": key, "Body": b"x" * (1 << 20)}),
        (s3.delete_object, {"Key": key}),
        (s3.copy_object, {"Key": "main/b", "CopySource": copy}),
        (s3.create_multipart_upload, {"Key": "main/big"}),
    ):
        with pytest.raises(ClientError) as caught:
            call(Bucket=bucket, **given)
        assert caught.value.response["Error"]["Code"] == "AccessDenied"
        assert "is a pool of rows" in caught.value.response["Error"]["Message"]
    answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key}]})
    assert [each["Code"] for each in answer["Errors"]] == ["AccessDenied"]
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == b"a"


def test_names_that_a_file_was_given_are_shown_whatever_they_are(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"x", Metadata={"lochan-note": "mine"})
    assert s3.head_object(Bucket=bucket, Key="main/a")["Metadata"] == {"lochan-note": "mine"}

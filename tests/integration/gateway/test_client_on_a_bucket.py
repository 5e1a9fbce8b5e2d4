"""A lake in a bucket, served by two processes: clients write to one and read from the other."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import obstore
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
import pytest
from botocore.exceptions import ClientError
from obstore.exceptions import AlreadyExistsError
from obstore.store import S3Store

from tests.integration.gateway.test_client_pyarrow import TABLE
from tests.integration.gateway.test_client_rclone import rclone_of
from tests.integration.gateway.trees import LARGE, ODD, files, objects, same, sizes, staged, write
from tests.run import run
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.minio import MinioServer

TREE = {**ODD, "large.bin": LARGE}


@pytest.fixture(scope="module")
def server(minio_server: MinioServer) -> Iterator[LochanServer]:
    env = {
        "LOCHAN_BLOCKSTORE__S3__REGION": "us-east-1",
        "LOCHAN_BLOCKSTORE__S3__ENDPOINT": minio_server.endpoint,
        "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_KEY_ID": minio_server.access_key,
        "LOCHAN_BLOCKSTORE__S3__CREDENTIALS__ACCESS_SECRET_KEY": minio_server.secret_key,
    }
    with lochan_server(f"s3://{minio_server.bucket('under-the-lake')}/lake", env=env, workers=2) as running:
        yield running
        log, traceback = running.log.read_text(), running.traceback()
    assert not traceback, traceback
    assert "InternalError" not in log, log


def test_rclone(server: LochanServer, s3: Any, bucket: str, folder: Path) -> None:
    rclone = rclone_of(server, server.endpoint, folder)
    write(folder / "here", TREE)
    there = f"lake:{bucket}/main"
    rclone("sync", folder / "here", f"{there}/one")
    rclone("copy", f"{there}/one", f"{there}/two")
    rclone("check", "--download", f"{there}/one", f"{there}/two")
    rclone("sync", f"{there}/two", folder / "back")
    same(files(folder / "back"), TREE)
    assert staged(server, bucket, "one/") == sizes(TREE)
    rclone("purge", f"{there}/one")
    same(objects(s3, bucket, "main/"), {f"two/{path}": data for path, data in TREE.items()})


def test_pyarrow_reads_spans_of_a_table(server: LochanServer, bucket: str) -> None:
    fs = pa_fs.S3FileSystem(
        endpoint_override=server.s3,
        scheme="http",
        region="us-east-1",
        access_key=server.access_key,
        secret_key=server.secret_key,
    )
    pq.write_table(TABLE, f"{bucket}/main/t.parquet", filesystem=fs, row_group_size=1_000)
    with pq.ParquetFile(f"{bucket}/main/t.parquet", filesystem=fs) as file:
        assert file.read_row_group(7).equals(TABLE.slice(7_000, 1_000))
        assert file.read(columns=["digest"]).equals(TABLE.select(["digest"]))


def test_of_eight_creators_one_wins(server: LochanServer, bucket: str) -> None:
    stores = [
        S3Store(
            bucket,
            prefix="main",
            endpoint=server.endpoint,
            access_key_id=server.access_key,
            secret_access_key=server.secret_key,
            region="us-east-1",
            client_options={"allow_http": True},
        )
        for _ in range(8)  # connections of their own, so to both processes
    ]

    async def create(number: int, path: str) -> bytes | None:
        try:
            await obstore.put_async(stores[number], path, str(number).encode(), mode="create")
        except AlreadyExistsError:
            return None
        return str(number).encode()

    async def play(path: str) -> None:
        answers = await asyncio.gather(*(create(number, path) for number in range(8)))
        [won] = [answer for answer in answers if answer is not None]
        for store in stores:
            assert bytes(await (await obstore.get_async(store, path)).bytes_async()) == won

    for round in range(5):
        run(play(f"race/{round}"))


def test_what_becomes_of_a_bucket_is_known_everywhere_at_once(server: LochanServer) -> None:
    with ExitStack() as clients:
        several = [clients.enter_context(closing(server.boto3())) for _ in range(6)]
        for _ in range(3):
            several[0].create_bucket(Bucket="now-and-then")
            for number, s3 in enumerate(several):
                s3.put_object(Bucket="now-and-then", Key=f"main/{number}", Body=b"x")
            for s3 in several:
                assert set(objects(s3, "now-and-then", "main/")) == set("012345")
            keys = [{"Key": f"main/{number}"} for number in range(6)]
            several[1].delete_objects(Bucket="now-and-then", Delete={"Objects": keys})
            several[2].delete_bucket(Bucket="now-and-then")
            for s3 in several:
                with pytest.raises(ClientError, match="NoSuchBucket"):
                    s3.put_object(Bucket="now-and-then", Key="main/late", Body=b"x")

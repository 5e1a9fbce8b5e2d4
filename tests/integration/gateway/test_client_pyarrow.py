"""pyarrow's S3FileSystem, unmodified. It needs an endpoint, `scheme="http"` and a region."""

from hashlib import md5
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FileSelector, FileType, S3FileSystem

from tests.integration.gateway.trees import LARGE, ODD, objects, same, sizes, staged
from tests.servers.lochan import LochanServer

TABLE = pa.table(
    {
        "id": pa.array(range(30_000), pa.int64()),
        "part": pa.array([f"p {number % 3}" for number in range(30_000)]),
        "digest": pa.array([md5(str(number).encode()).digest() for number in range(30_000)]),
    }
)


@pytest.fixture
def fs(server: LochanServer) -> S3FileSystem:
    return _file_system(server, server.s3)


def _file_system(server: LochanServer, host: str, **options: Any) -> S3FileSystem:
    return S3FileSystem(
        endpoint_override=host,
        scheme="http",
        region="us-east-1",
        access_key=server.access_key,
        secret_key=server.secret_key,
        **options,
    )


def test_a_dataset_is_written_and_read(fs: S3FileSystem, server: LochanServer, s3: Any, bucket: str) -> None:
    there = f"{bucket}/main/data/set"
    partitioning = ds.partitioning(pa.schema([("part", pa.string())]), flavor="hive")
    ds.write_dataset(TABLE, there, filesystem=fs, format="parquet", partitioning=partitioning)
    dataset = ds.dataset(there, filesystem=fs, format="parquet", partitioning=partitioning)
    read = dataset.to_table(columns=TABLE.column_names).sort_by("id")
    assert read.equals(TABLE)
    some = dataset.to_table(filter=(pc.field("part") == "p 1") & (pc.field("id") < 10), columns=["id"])
    assert some["id"].to_pylist() == [1, 4, 7]
    written = {path: data for path, data in objects(s3, bucket, "main/data/set/").items() if data}
    assert sorted(written) == [f"part=p%20{number}/part-0.parquet" for number in range(3)]
    back = pa.concat_tables([pq.read_table(pa.BufferReader(data), partitioning=None) for data in written.values()])
    assert back.num_rows == TABLE.num_rows
    ds.write_dataset(
        TABLE.slice(0, 10),
        there,
        filesystem=fs,
        format="parquet",
        partitioning=partitioning,
        existing_data_behavior="delete_matching",
    )
    assert ds.dataset(there, filesystem=fs, format="parquet", partitioning=partitioning).count_rows() == 10
    assert sum(size > 0 for size in staged(server, bucket, "data/set/").values()) == 3


def test_files_byte_for_byte(fs: S3FileSystem, server: LochanServer, s3: Any, bucket: str) -> None:
    tree = {**ODD, "large.bin": LARGE}
    for path, data in tree.items():
        with fs.open_output_stream(f"{bucket}/main/{path}", metadata={"Content-Type": "x/y"}) as stream:
            stream.write(data)
    same(objects(s3, bucket, "main/"), tree)
    assert staged(server, bucket) == sizes(tree)
    assert s3.head_object(Bucket=bucket, Key="main/a.txt")["ContentType"] == "x/y"
    for path, data in tree.items():
        with fs.open_input_stream(f"{bucket}/main/{path}") as stream:
            assert stream.read() == data
    with fs.open_input_file(f"{bucket}/main/large.bin") as file:
        assert file.size() == len(LARGE)
        assert file.read_at(1_000, 77_777) == LARGE[77_777:78_777]
    infos = fs.get_file_info(FileSelector(f"{bucket}/main", recursive=True))
    found = {info.path.removeprefix(f"{bucket}/main/"): info.size for info in infos if info.type == FileType.File}
    assert found == sizes(tree)
    assert {info.path for info in infos if info.type == FileType.Directory} == {
        f"{bucket}/main/{name}" for name in ("sub", "sub/deep", "sub/deep/er", "with space", "odd")
    }
    fs.copy_file(f"{bucket}/main/large.bin", f"{bucket}/main/copy.bin")
    fs.move(f"{bucket}/main/copy.bin", f"{bucket}/main/moved/to.bin")
    assert s3.get_object(Bucket=bucket, Key="main/moved/to.bin")["Body"].read() == LARGE
    assert fs.get_file_info(f"{bucket}/main/copy.bin").type == FileType.NotFound


@pytest.mark.parametrize("root", ["main/", ""])
def test_folders_are_made_and_deleted(server: LochanServer, s3: Any, bucket: str, root: str) -> None:
    fs = _file_system(server, server.s3 if root else server.flat)
    top = f"{bucket}/{root}one"
    fs.create_dir(f"{top}/two/three", recursive=True)
    kinds = {info.path: info.type for info in fs.get_file_info([top, f"{top}/two", f"{top}/two/three", f"{top}/four"])}
    assert kinds == {
        top: FileType.Directory,
        f"{top}/two": FileType.Directory,
        f"{top}/two/three": FileType.Directory,
        f"{top}/four": FileType.NotFound,
    }
    for path, data in ODD.items():
        with fs.open_output_stream(f"{top}/two/{path}") as stream:
            stream.write(data)
    fs.delete_dir(f"{top}/two/sub")
    assert fs.get_file_info(f"{top}/two/sub").type == FileType.NotFound
    fs.delete_dir_contents(f"{top}/two")
    assert fs.get_file_info(FileSelector(f"{top}/two", recursive=True)) == []
    assert fs.get_file_info(f"{top}/two").type == FileType.Directory
    fs.delete_dir(top)
    assert not [path for path, data in objects(s3, bucket, "main/").items() if path.strip("/")]


def test_buckets_are_made_on_the_flat_listener(server: LochanServer, s3: Any) -> None:
    fs = _file_system(server, server.flat, allow_bucket_creation=True, allow_bucket_deletion=True)
    fs.create_dir("pyarrow-flat")
    pq.write_table(TABLE, "pyarrow-flat/t.parquet", filesystem=fs)
    assert pq.read_table("pyarrow-flat/t.parquet", filesystem=fs).equals(TABLE)
    assert "pyarrow-flat" in {info.path for info in fs.get_file_info(FileSelector(""))}
    assert list(staged(server, "pyarrow-flat")) == ["t.parquet"]
    fs.delete_dir("pyarrow-flat")
    assert fs.get_file_info("pyarrow-flat").type == FileType.NotFound

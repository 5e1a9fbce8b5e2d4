"""obstore, unmodified. It needs an endpoint, keys, a region and plain HTTP; its prefix is the branch.

It is what a lake itself stands on, so a served branch is also held to the contract of a store: a lake within a lake.
"""

from itertools import count
from typing import TYPE_CHECKING, Any

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError, NotModifiedError, PreconditionError
from obstore.store import S3Store

from lochan.clock import SystemClock
from lochan.ids import Ids
from lochan.store.open import open_store
from lochan.store.probe import probe
from lochan.store.protocol import Store
from tests.integration.gateway.trees import LARGE, ODD, objects, same, sizes, staged
from tests.run import run
from tests.servers.lochan import LochanServer
from tests.store_contract import MIB, StoreContract, paths

if TYPE_CHECKING:  # it is a type only, and not there when it runs
    from obstore import UpdateVersion

_prefixes = count()


@pytest.fixture
def store(server: LochanServer, bucket: str) -> S3Store:
    return S3Store(
        bucket,
        prefix="main",
        endpoint=server.endpoint,
        access_key_id=server.access_key,
        secret_access_key=server.secret_key,
        region="us-east-1",
        client_options={"allow_http": True},
    )


def test_a_whole_bucket_is_listed(server: LochanServer, s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="main/a/b", Body=b"x")
    whole = S3Store(
        bucket,
        endpoint=server.endpoint,
        access_key_id=server.access_key,
        secret_access_key=server.secret_key,
        region="us-east-1",
        client_options={"allow_http": True},
    )
    assert [each["path"] for page in obstore.list(whole) for each in page] == ["main/a/b"]


def test_objects_byte_for_byte(store: S3Store, server: LochanServer, s3: Any, bucket: str) -> None:
    tree = {**ODD, "large.bin": LARGE}
    for path, data in tree.items():
        obstore.put(store, path, data)
    same(objects(s3, bucket, "main/"), tree)
    assert staged(server, bucket) == sizes(tree)
    same({path: bytes(obstore.get(store, path).bytes()) for path in tree}, tree)
    listed = [each for page in obstore.list(store) for each in page]
    assert {each["path"]: each["size"] for each in listed} == sizes(tree)
    top = obstore.list_with_delimiter(store)
    assert sorted(top["common_prefixes"]) == ["odd", "sub", "with space"]
    assert sorted(each["path"] for each in top["objects"]) == ["a.txt", "empty", "large.bin"]
    spans = obstore.get_ranges(store, "large.bin", starts=[0, 9_000_000], ends=[10, 9_000_300])
    assert [bytes(span) for span in spans] == [LARGE[:10], LARGE[9_000_000:9_000_300]]
    assert bytes(obstore.get_range(store, "large.bin", start=len(LARGE) - 5, length=5)) == LARGE[-5:]
    obstore.copy(store, "large.bin", "copies/one.bin")
    obstore.rename(store, "copies/one.bin", "copies/two.bin")
    assert s3.get_object(Bucket=bucket, Key="main/copies/two.bin")["Body"].read() == LARGE
    obstore.delete(store, [*tree, "copies/two.bin", "never there"])
    assert staged(server, bucket) == {}


def test_conditions(store: S3Store) -> None:
    first: UpdateVersion = {"e_tag": obstore.put(store, "a", b"1", mode="create")["e_tag"]}
    with pytest.raises(AlreadyExistsError):
        obstore.put(store, "a", b"2", mode="create")
    second = obstore.put(store, "a", b"2", mode=first)
    assert bytes(obstore.get(store, "a").bytes()) == b"2"
    with pytest.raises(PreconditionError):
        obstore.put(store, "a", b"3", mode=first)
    with pytest.raises(PreconditionError):
        obstore.get(store, "a", options={"if_match": first["e_tag"]})
    with pytest.raises(NotModifiedError):
        obstore.get(store, "a", options={"if_none_match": second["e_tag"]})
    assert obstore.head(store, "a")["e_tag"] == second["e_tag"] != first["e_tag"]


def test_a_copy_that_replaces_nothing(server: LochanServer, bucket: str) -> None:
    store = S3Store(
        bucket,
        prefix="main",
        endpoint=server.endpoint,
        access_key_id=server.access_key,
        secret_access_key=server.secret_key,
        region="us-east-1",
        copy_if_not_exists="multipart",
        client_options={"allow_http": True},
    )
    obstore.put(store, "a", b"1")
    obstore.put(store, "b", b"2")
    obstore.copy(store, "a", "c", overwrite=False)
    with pytest.raises(AlreadyExistsError):
        obstore.copy(store, "a", "b", overwrite=False)
    assert [bytes(obstore.get(store, path).bytes()) for path in "abc"] == [b"1", b"2", b"1"]


def test_streams_in_and_out(store: S3Store, s3: Any, bucket: str) -> None:
    with obstore.open_writer(store, "streamed", attributes={"Content-Type": "x/y"}) as writer:
        for start in range(0, len(LARGE), 1 << 20):
            writer.write(LARGE[start : start + (1 << 20)])
    got = s3.get_object(Bucket=bucket, Key="main/streamed")
    assert (got["Body"].read(), got["ContentType"]) == (LARGE, "x/y")
    assert b"".join(bytes(piece) for piece in obstore.get(store, "streamed").stream()) == LARGE
    reader = obstore.open_reader(store, "streamed")
    reader.seek(1_000)
    assert bytes(reader.read(10)) == LARGE[1_000:1_010]


class TestAsAStore(StoreContract):
    stream_bytes_max = 40 * MIB

    @pytest.fixture(autouse=True)
    def served(self, server: LochanServer, bucket: str) -> None:
        self.options = options(server)
        self.bucket = bucket

    def make_store(self) -> Store:
        return open_store(f"s3://{self.bucket}/main/a lake+%41/{next(_prefixes)}", self.options)


def options(server: LochanServer) -> dict[str, str]:
    return {
        "endpoint": server.endpoint,
        "access_key_id": server.access_key,
        "secret_access_key": server.secret_key,
        "region": "us-east-1",
    }


def test_a_lake_would_accept_it(server: LochanServer, bucket: str) -> None:
    async def play() -> None:
        store = open_store(f"s3://{bucket}/main", options(server))
        assert abs((await probe(store, Ids(), SystemClock())).skew_s) < 2
        assert await paths(store) == []

    run(play())

"""Many objects are deleted by few requests, whatever their names are."""

from lochan.clock import SystemClock
from lochan.ids import Ids
from lochan.store.bulk_delete import delete_all
from lochan.store.capabilities import BulkDelete, capability
from lochan.store.open import open_store, stack
from tests.run import run
from tests.servers.minio import minio

NAMES = ["plain", "ünïcode/é 文", "percent/%41%2F", "plus+and&amp;<x>", "quote\"'", "dots..x/~", "sp ace/ a"]


def test_names_that_are_not_plain_are_deleted_and_others_stay() -> None:
    async def play(url: str, options: dict[str, str]) -> None:
        store = stack(open_store(url, options), clock=SystemClock(), ids=Ids())
        assert capability(store, BulkDelete) is not None
        for name in NAMES:
            await store.put(f"d/{name}", b"x")
            await store.put(f"k/{name}", b"x")
        await delete_all(store, [f"d/{name}" for name in NAMES] + ["d/absent"])
        assert [stat.path async for stat in store.list("d/")] == []
        assert [stat.path async for stat in store.list("k/")] == sorted(f"k/{name}" for name in NAMES)
        await delete_all(store, [f"d/{name}" for name in NAMES])  # once more, as after a crash

    with minio() as server:
        run(play(f"s3://{server.bucket('bulk')}/lake", dict(server.options)))

"""Deletes many objects, with few requests if the store supports that."""

from collections.abc import Sequence

from lochan.concurrency import map_concurrently
from lochan.errors import LochanError
from lochan.store.capabilities import BulkDelete, capability
from lochan.store.protocol import Store

_AT_ONCE = 32
BATCH = 1_000  # the most that S3 takes in one request


async def delete_all(store: Store, paths: Sequence[str]) -> None:
    """Deletes the objects, without an error for absent ones. Objects that a request for many did not delete are deleted
    one by one, with the store's own retries. Raises the first error of these."""
    bulk = capability(store, BulkDelete)
    for start in range(0, len(paths), BATCH):
        some = paths[start : start + BATCH]
        if bulk is None or not await _deleted(bulk, some):
            await map_concurrently(store.delete, some, _AT_ONCE)


async def _deleted(bulk: BulkDelete, paths: Sequence[str]) -> bool:
    try:
        await bulk.delete_many(paths)
    except LochanError:
        return False
    return True

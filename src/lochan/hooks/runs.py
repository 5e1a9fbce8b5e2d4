"""The records of runs: writing them, listing them from the newest on, and deleting old ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

from lochan.errors import Corrupt, LochanError, NotFound
from lochan.formats import hook_run
from lochan.formats.hook_run import HookRunRecord
from lochan.store.checked_reads import get_decoded
from lochan.store.protocol import Store

_OLD_AT_ONCE = 50
_SECOND = 1_000_000


async def put_run(store: Store, repository: str, run: HookRunRecord) -> None:
    await store.put(hook_run.path_of(repository, run.id), hook_run.encode(run))


async def get_run(store: Store, repository: str, id: str) -> HookRunRecord:
    """Returns the record of a run. Raises NotFound."""
    hint = "`lochan hooks runs REPO` lists those that are kept"
    if not (id.isascii() and id.isalnum()):
        raise NotFound(f"no run of hooks {id!r}", hint=hint)
    path = hook_run.path_of(repository, id)
    try:
        return await get_decoded(store, path, lambda data: hook_run.decode(data, path))
    except NotFound:
        raise NotFound(f"no run of hooks {id!r}", hint=hint) from None


async def list_runs(store: Store, repository: str, after: str = "") -> AsyncIterator[HookRunRecord]:
    """Yields the records, the newest first; with `after`, only those that began before that one. A damaged record is
    left out."""
    prefix = f"{repository}/{hook_run.FOLDER}"
    names = [stat.path async for stat in store.list(prefix)]
    for path in reversed(names):
        id = path.removeprefix(prefix).removesuffix(".json")
        if after and id >= after:
            continue
        try:
            yield await get_decoded(store, path, partial(hook_run.decode, name=path))
        except (NotFound, Corrupt):
            continue


async def delete_old_runs(store: Store, repository: str, now: int, keep_days: float) -> None:
    """Deletes some of the old records: each run deletes those that have become too old since the last, by the store's
    times. Errors are ignored: the next run tries again."""
    oldest = now / _SECOND - keep_days * 86_400
    prefix, seen = f"{repository}/{hook_run.FOLDER}", 0
    try:
        async for stat in store.list(prefix):
            seen += 1
            if stat.modified >= oldest or seen > _OLD_AT_ONCE:
                return
            await store.delete(stat.path)
    except (LochanError, OSError):
        return  # the next run tries again

"""Stages many changes of a branch as one event: inside the event, or, if there are very many, as runs that it names.

It also has what work on whole folders needs: all entries that a reader of a ref sees under a prefix, and a check that
the bytes of entries still exist before a copy names them again."""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Gone, NotFound
from lochan.failpoints import fp
from lochan.formats.entry import ENTRY_SCHEMA, RUN_SCHEMA, Entry, Tombstone
from lochan.formats.entry_table import EntryRows, as_batch, concat
from lochan.formats.record import Actor
from lochan.formats.repository_events import RunsStaged, Staged
from lochan.formats.run import changes_of, changes_table, column
from lochan.tree.rows import with_changes
from lochan.versioning.open_repository import Decide, OpenRepository
from lochan.versioning.revisions.resolve import ResolvedRef

INLINE_MAX = 500  # with paths of 1 KiB still far from the 4 MiB of a journal's entry
_AT_ONCE = 32

Head = Callable[[str], Awaitable[object]]  # the head of an address; raises NotFound
Seen = Callable[[int], None]  # called with the number of files that were found


async def stage(
    repository: OpenRepository,
    branch: str,
    changes: pa.Table,
    *,
    actor: Actor,
    read_at: int,
    still: Decide | None = None,
) -> None:
    """Stages changes. `changes` (RUN_SCHEMA, in path order, no path twice) were read from the state `read_at`, and name
    only files that are named there. `still` may refuse, and gets the very state that the event is added to."""
    event = await staging_event(repository, branch, changes, read_at)
    await repository.submit_decided(actor, lambda refs: (*(still(refs) if still else ()), event))
    fp("bulk.landed")
    repository.staged(branch)


def puts(entries: pa.Table) -> pa.Table:
    """Returns entries as changes."""
    return entries.append_column(RUN_SCHEMA.field("deleted"), pa.repeat(pa.scalar(False), len(entries)))


def tombstones(paths: pa.Array) -> pa.Table:
    one = changes_table([Tombstone("")])
    return one.take(np.zeros(len(paths), np.int64)).set_column(0, RUN_SCHEMA.field("path"), paths)


def together(entries: pa.Table, gone: pa.Array) -> pa.Table:
    """Returns entries and tombstones in path order. If a path is in both, the entry stays."""
    gone = gone.filter(pc.invert(pc.is_in(gone, value_set=entries["path"])))
    changes = pa.concat_tables([puts(entries), tombstones(gone)])
    return changes.take(pc.sort_indices(changes["path"]))


async def together_in_order(changes: AsyncIterable[pa.Table], gone: pa.Array) -> AsyncIterator[pa.Table]:
    """Yields the same as `together` for changes without tombstones that come as several tables, in path order. `gone`
    ascends."""
    done = 0
    async for table in changes:
        end = int(pc.sum(pc.less_equal(gone, table["path"][-1])).as_py() or 0)
        yield together(table.select(ENTRY_SCHEMA.names), gone.slice(done, end - done))
        done = end
    if done < len(gone):
        yield tombstones(gone.slice(done))


async def staging_event(
    repository: OpenRepository, branch: str, changes: pa.Table, read_at: int
) -> Staged | RunsStaged:
    """Returns the event for changes as `stage` takes them."""
    if len(changes) > INLINE_MAX:
        runs = await repository.runs.adopt(changes, read_at)
        fp("bulk.runs_written")
        return RunsStaged(branch, runs, read_at=read_at)
    each = changes_of(changes)
    entries = tuple(change for change in each if isinstance(change, Entry))
    gone = tuple(change.path for change in each if isinstance(change, Tombstone))
    return Staged(branch, entries, gone, read_at=read_at)


async def visible(repository: OpenRepository, resolved: ResolvedRef, prefix: str) -> pa.Table:
    """Returns the entries that a reader of the ref sees under the prefix (ENTRY_SCHEMA), in path order."""
    batches = [batch async for batch in scan(repository, resolved, prefix)]
    return pa.Table.from_batches(batches, ENTRY_SCHEMA)


async def scan(repository: OpenRepository, resolved: ResolvedRef, prefix: str) -> AsyncIterator[pa.RecordBatch]:
    """Yields the same entries, a range at a time: the committed rows with the staged changes applied."""
    tree = await repository.tree(resolved.commit)
    changes = as_batch(await (await repository.view(resolved)).changes(prefix))
    staged, done = EntryRows(changes), 0
    async for batch in tree.scan(prefix):
        last = EntryRows(batch).path(batch.num_rows - 1)
        end = staged.seek(last + b"\0", done)
        if end > done:
            edited = with_changes(batch, changes.slice(done, end - done), restate=True).rows
            batch, done = batch if edited is None else concat([each.batch for each in edited]), end
        if batch.num_rows:
            yield batch
    rest = changes.slice(done)
    live = rest.filter(pc.invert(rest.column("deleted"))).select(ENTRY_SCHEMA.names)
    if live.num_rows:
        yield live


def silent(count: int) -> None:
    pass


async def check_present(head: Head, entries: pa.Table, seen: Seen = silent) -> None:
    """Checks that the files of the entries exist, with one request for each file, however many entries share it. Raises
    Gone, which names a missing file."""
    from asyncio import gather

    addresses = pc.struct_field(column(entries, "blocks").flatten(), "address")
    distinct = addresses.unique()
    for start in range(0, len(distinct), _AT_ONCE):
        chunk = distinct.slice(start, _AT_ONCE).to_pylist()
        for address, there in zip(chunk, await gather(*(_is_there(head, each) for each in chunk)), strict=True):
            if not there:
                raise _gone_error(entries, addresses, address)
        seen(len(chunk))


async def _is_there(head: Head, address: str) -> bool:
    try:
        await head(address)
    except NotFound:
        return False
    return True


def _gone_error(entries: pa.Table, addresses: pa.Array, address: str) -> Gone:
    block = pc.index(addresses, address).as_py()
    row = pc.list_parent_indices(column(entries, "blocks"))[block].as_py()
    return Gone(
        f"{entries['path'][row].as_py()!r}: its bytes at {address} are gone",
        hint="was it deleted by hand, or by a lifecycle rule of the bucket?",
    )

"""All that a reader of a ref sees under a prefix, as tables: for work on whole folders, where a page is too small."""

from collections.abc import AsyncIterator

import pyarrow as pa
import pyarrow.compute as pc

from lochan.formats.entry import ENTRY_SCHEMA
from lochan.formats.entry_table import EntryRows, as_batch, concat
from lochan.tree.rows import with_changes
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.resolve import Resolved


async def visible(repository: OpenRepository, resolved: Resolved, prefix: str) -> pa.Table:
    """ENTRY_SCHEMA, in path order."""
    batches = [batch async for batch in scan(repository, resolved, prefix)]
    return pa.Table.from_batches(batches, ENTRY_SCHEMA)


async def scan(repository: OpenRepository, resolved: Resolved, prefix: str) -> AsyncIterator[pa.RecordBatch]:
    """The same, a range at a time: the committed rows with what is staged put in."""
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

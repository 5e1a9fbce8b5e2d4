"""Makes aliases by rule G7. It checks what the fold cannot check, because the fold reads no tables.

state S, its tables ──▶ new rows, checked ──▶ a table on the store ──▶ an event, valid only while S's tables stand
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import ConcurrentCommit, Refused
from lochan.failpoints import fp
from lochan.formats import alias_table
from lochan.formats.alias_table import ALIAS_SCHEMA
from lochan.formats.collection_events import AliasNames, AliasTablesSet
from lochan.formats.record import Actor
from lochan.versioning.bodies.aliases import SPAN_SCHEMA, Aliases, overlaps, resolve
from lochan.versioning.collection.marks import needed_rows
from lochan.versioning.collection.plan import NEVER, look_and_scan
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.collection import Stale
from lochan.versioning.state.refs import Refs

_TABLES_MAX = 8  # more tables are merged into one


async def add_aliases(
    repository: OpenRepository, added: pa.Table, names: AliasNames, aliases: Aliases, read_at: int, *, actor: Actor
) -> AliasNames:
    """Adds the rows `added` (ALIAS_SCHEMA) to the aliases of the state `read_at`. Aliases that led to a span that moves
    lead to its new place from now on. Raises Stale if a plan or other aliases came since, and Refused for aliases that
    would make a chain. REQUIRES: every target was read and has the bytes of its span; it is live at `read_at`, or was
    written since."""
    kept = retarget(_of_tables(aliases, names), added)
    every = Aliases([kept, added], dict(names.files))
    check_chains(every)
    retargets = not kept.equals(_of_tables(aliases, names))
    whole = retargets or len(names.tables) >= _TABLES_MAX
    name = await _write(repository, pa.concat_tables([kept, added]) if whole else added, read_at)
    tables = (name,) if whole else (*names.tables, name)
    fp("aliases.written")
    await repository.submit(actor, AliasTablesSet(tables, names.tables, read_at, aliases=len(every)))
    fp("aliases.set")
    return names._replace(tables=tables)


async def drop_aliases(repository: OpenRepository, lake: str, *, actor: Actor) -> int:
    """Drops the aliases whose spans nothing names, and returns how many there were. Drops none if other writers
    interfere: the next collection does it."""
    refs, _ = await repository.refs()
    if not refs.collection.alias_tables:
        return 0
    look, scan = await look_and_scan(repository, NEVER)
    names = look.aliases
    try:
        aliases = await repository.places.load(names)
        needed = await needed_rows(repository, look)
    except ConcurrentCommit:  # others have replaced the tables
        return 0
    dropped = _of_tables(aliases, names, np.invert(needed))
    if not len(dropped):
        return 0
    kept = _of_tables(aliases, names, needed)
    tables = (await _write(repository, kept, look.marked),) if len(kept) else ()
    fp("aliases.written")

    def decide(refs: Refs) -> tuple[AliasTablesSet, ...]:
        roots = scan.peek(refs)
        spans = [each for each in roots.blocks if aliases.place(each) != each]
        if roots.needs_reading or spans or refs.collection.alias_names != names:
            raise Stale("others wrote meanwhile", hint="the next collection drops the aliases")
        last = refs.collection.last
        return (AliasTablesSet(tables, names.tables, last, marked=last, aliases=len(kept)),)

    try:
        await repository.submit_decided(actor, decide)
    except Stale:
        return 0
    return len(dropped)


def retarget(aliases: pa.Table, added: pa.Table) -> pa.Table:
    """Returns the aliases. A target that the added aliases move is replaced by its new place."""
    targets = pa.table([aliases["target"], aliases["target_offset"], aliases["size"]], SPAN_SCHEMA)
    added = alias_table.in_order(added)
    moved = resolve(targets, added)
    row = pc.if_else(pc.greater_equal(moved["alias"], 0), moved["alias"], None)
    whole = [pc.coalesce(added[name].take(row), aliases[name]) for name in ("target_size", "target_sha256")]
    columns = [*(aliases[name] for name in SPAN_SCHEMA.names), moved["address"], moved["offset"], *whole]
    return pa.table(columns, ALIAS_SCHEMA)


def check_chains(aliases: Aliases) -> None:
    """Raises Refused if an alias leads to another alias (G7)."""
    table = aliases.table
    targets = pa.table([table["target"], table["target_offset"], table["size"]], SPAN_SCHEMA)
    chained = overlaps(targets, table)
    if chained.any():
        address = table["address"][int(np.flatnonzero(chained)[0])].as_py()
        raise Refused(f"an alias leads straight to where the bytes are: that of {address} would lead to an alias")


def _of_tables(aliases: Aliases, names: AliasNames, chosen: npt.NDArray[np.bool_] | None = None) -> pa.Table:
    """Returns the aliases without those of whole files, which the state itself holds."""
    mask = np.ones(len(aliases), bool) if chosen is None else chosen
    if names.files:
        mask = mask & np.invert(np.isin(np.asarray(aliases.table["address"]), [each for each, _ in names.files]))
    return aliases.table.filter(pa.array(mask))


async def _write(repository: OpenRepository, rows: pa.Table, mint: int) -> str:
    id = repository.repository.id
    name, data = alias_table.encode(rows, id, mint)
    await repository.store.put(f"{id}/{name}", data)
    return name

"""Rows leave a branch of a pool, by what they hold. Copy on write: objects without such a row stay as they are, those
with nothing else are dropped, and of the others the rest is written anew.

It depends on the rows that are there, so it is computed again on every head that came meanwhile (S6).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from lochan.engines.duckdb.files import Files
from lochan.engines.duckdb.limits import STANDARD, Limits
from lochan.engines.duckdb.objects_at import entries_at, placed, sessions, snapshot_of, stored
from lochan.engines.duckdb.rewrite import Rewriting, matched
from lochan.errors import NothingToDo
from lochan.formats.record import Actor
from lochan.journal.request_key import CarriedOut
from lochan.pools.commit_objects import Swap, change_objects
from lochan.pools.repeated_result import landed_first
from lochan.query import ast
from lochan.query.compile.plan import row_test
from lochan.query.sources.bounds import of_expression
from lochan.query.sources.pool import PoolSource
from lochan.query.sources.scans import Scans
from lochan.query.syntax.parse import parse_expression
from lochan.tree.tree import Tree
from lochan.versioning.head_moves import NOTHING, CommitMessage
from lochan.versioning.history_join import MoveBase
from lochan.versioning.idempotency import once
from lochan.versioning.open_repository import OpenRepository


class Deleted(NamedTuple):
    head: str
    rows: int
    objects: int  # that were dropped or written anew


async def _deleted_first(repository: OpenRepository, before: CarriedOut) -> Deleted:
    landed = await landed_first(repository, before)
    return Deleted(landed.commit, landed.rows_removed - landed.rows_added, len(landed.removed))


@once(_deleted_first)
async def delete_where(
    repository: OpenRepository,
    branch: str,
    where: str,
    files: Files,
    said: CommitMessage = NOTHING,
    *,
    actor: Actor,
    limits: Limits = STANDARD,
) -> Deleted:
    """Rows for which the expression is true. Raises QueryError, and NothingToDo where there are none."""
    test = parse_expression(where)
    last = (0, 0)

    async def decide(on: MoveBase, tree: Tree) -> Swap:
        nonlocal last
        swap, rows = await _decided(repository, on, tree, test, where, files, limits)
        last = rows, len(swap.removed)
        return swap

    head = await change_objects(repository, branch, "delete", decide, said, actor=actor)
    return Deleted(head, *last)


async def _decided(
    repository: OpenRepository, on: MoveBase, tree: Tree, test: ast.Expr, text: str, files: Files, limits: Limits
) -> tuple[Swap, int]:
    snapshot = await snapshot_of(repository, on.id, tree)
    now = repository.clock.wall()
    source = PoolSource(snapshot, Scans(), test=of_expression(test, now))
    source.widen()  # a field of objects that need not be read is no mistake
    tested = row_test(source, test, text, now)
    with sessions(files, limits) as engines:
        indices = source.objects.tolist()
        paths = await placed(files, snapshot, indices, engines.main.folder, recheck=False)
        by_form = {form: [paths[index] for index in each] for form, each in source.read.items()}
        counts = dict(await engines.apart(partial(matched, engines.main, source.knowledge, tested, by_form)))
        hit = [index for index in indices if paths[index] in counts]
        if not hit:
            raise NothingToDo("no row is like that", hint="nothing was changed")
        await placed(files, snapshot, hit, engines.main.folder)  # once more, before they are written anew
        size = int(snapshot.sizes[hit].sum())
        rewriting = Rewriting(*engines, snapshot.settings, source.knowledge, size)
        for form, each in source.read.items():
            left = [index for index in each if 0 < counts.get(paths[index], 0) < snapshot.rows[index]]
            if left:
                await engines.apart(partial(rewriting.add, form, [paths[index] for index in left], tested))
        added = await stored(repository, on.mint, rewriting.written(), engines.apart)
        rows = sum(counts.values())
        message = f"Delete {rows:,} row{'' if rows == 1 else 's'} where {text}"
        return Swap(entries_at(snapshot, hit), added, message), rows

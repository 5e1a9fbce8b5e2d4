"""Deletes rows from a branch of a pool by a predicate. Objects without such a row stay as they are, objects with
nothing else are dropped, and the remaining rows of all others are rewritten.

The result depends on the rows of the head, so it is computed again if the head has moved (S6).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from lochan.engines.duckdb.data_objects import entries_at, place_objects, sessions, snapshot_of, store_objects
from lochan.engines.duckdb.files import Files
from lochan.engines.duckdb.limits import STANDARD, Limits
from lochan.engines.duckdb.rewrite import ObjectRewriter, count_matches
from lochan.errors import NothingToDo
from lochan.formats.record import Actor
from lochan.journal.keys import CarriedOut
from lochan.pools.commit_objects import Swap, change_objects, committed_objects
from lochan.query import ast
from lochan.query.compile.plan import row_test
from lochan.query.sources.bounds import of_expression
from lochan.query.sources.pool import PoolSource
from lochan.query.sources.scans import Scans
from lochan.query.syntax.parse import parse_expression
from lochan.tree.tree import Tree
from lochan.versioning.heads.joins import MoveBase
from lochan.versioning.heads.moves import NOTHING, CommitMessage
from lochan.versioning.idempotency import once
from lochan.versioning.open_repository import OpenRepository


class DeleteTest(NamedTuple):
    expression: ast.Expr
    text: str
    now: int


class DeleteCommit(NamedTuple):
    head: str
    rows: int
    objects: int  # objects that were dropped or rewritten


async def _earlier_deletion(repository: OpenRepository, before: CarriedOut) -> DeleteCommit:
    landed = await committed_objects(repository, before)
    return DeleteCommit(landed.commit, landed.rows_removed - landed.rows_added, len(landed.removed))


@once(_earlier_deletion)
async def delete_where(
    repository: OpenRepository,
    branch: str,
    where: str,
    files: Files,
    message: CommitMessage = NOTHING,
    *,
    actor: Actor,
    limits: Limits = STANDARD,
) -> DeleteCommit:
    """Deletes the rows for which the expression is true. Raises QueryError, or NothingToDo if there are none."""
    test = parse_expression(where)
    last = (0, 0)

    async def decide(on: MoveBase, tree: Tree) -> Swap:
        nonlocal last
        tested = DeleteTest(test, where, repository.clock.wall())
        swap, rows = await rows_deleted(repository, on, tree, tested, files, limits)
        last = rows, len(swap.removed)
        return swap

    head = await change_objects(repository, branch, "delete", decide, message, actor=actor)
    return DeleteCommit(head, *last)


async def rows_deleted(
    repository: OpenRepository, on: MoveBase, tree: Tree, test: DeleteTest, files: Files, limits: Limits = STANDARD
) -> tuple[Swap, int]:
    """Returns the swap of the objects with such rows for their remaining rows, and the number of deleted rows. Raises
    QueryError, NothingToDo."""
    snapshot = await snapshot_of(repository, on.id, tree)
    source = PoolSource(snapshot, Scans(), test=of_expression(test.expression, test.now))
    source.widen()  # the test may name fields of objects that need not be read
    tested = row_test(source, test.expression, test.text, test.now)
    with sessions(files, limits) as engines:
        indices = source.objects.tolist()
        paths = await place_objects(files, snapshot, indices, engines.main.folder, recheck=False)
        by_form = {form: [paths[index] for index in each] for form, each in source.read.items()}
        found = await engines.apart(partial(count_matches, engines.main, source.knowledge, tested, by_form))
        counts = {index: found.get((form, paths[index]), 0) for form, each in source.read.items() for index in each}
        hit = [index for index in indices if counts[index]]
        if not hit:
            raise NothingToDo("no row matches", hint="nothing was changed")
        await place_objects(files, snapshot, hit, engines.main.folder)  # it checks them again before they are rewritten
        size = int(snapshot.sizes[hit].sum())
        rewriting = ObjectRewriter(*engines, snapshot.settings, source.knowledge, size)
        for form, each in source.read.items():
            left = [index for index in each if 0 < counts[index] < snapshot.rows[index]]
            if left:
                await engines.apart(partial(rewriting.add, form, [paths[index] for index in left], tested))
        added = await store_objects(repository, on.mint, rewriting.written(), engines.apart)
        rows = sum(counts.values())
        message = f"Delete {rows:,} row{'' if rows == 1 else 's'} where {test.text}"
        return Swap(entries_at(snapshot, hit), added, message), rows

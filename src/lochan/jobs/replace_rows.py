"""An overwrite of the rows that pass a test. The new rows must pass it too, and the commit that adds them removes the
others.

The removed rows are computed on the head that the commit is based on, as for any delete. So rows that came meanwhile
are replaced too, and others are never touched."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lochan.errors import Invalid, NothingToDo
from lochan.formats.entry import Block, Entry
from lochan.formats.entry_table import table_of
from lochan.formats.pool_settings import PoolSettings
from lochan.pools.commit_objects import Swap

if TYPE_CHECKING:
    from lochan.engines.duckdb.files import Files
    from lochan.engines.duckdb.load.objects import WrittenObject
    from lochan.query.sources.pool import PoolSource
    from lochan.tree.tree import Tree
    from lochan.versioning.heads.joins import MoveBase
    from lochan.versioning.open_repository import OpenRepository


class ReplaceTest(NamedTuple):
    """The test of the rows that are replaced. It can be pickled."""

    text: str  # an expression of the pipe language
    now: int  # the value of `now` in it, at every place and time


async def check_test(repository: OpenRepository, head: str, test: ReplaceTest) -> None:
    """Checks the test before anything is written. Raises QueryError for a test that makes no sense for the existing
    rows."""
    from lochan.engines.duckdb.data_objects import snapshot_of
    from lochan.query.compile.plan import row_test
    from lochan.query.sources.pool import PoolSource
    from lochan.query.sources.scans import Scans
    from lochan.query.syntax.parse import parse_expression

    parsed = parse_expression(test.text)
    snapshot = await snapshot_of(repository, head, await repository.tree(repository.folded().commit(head)))
    if snapshot.count:
        row_test(PoolSource(snapshot, Scans()), parsed, test.text, test.now)


async def replaced_rows(repository: OpenRepository, on: MoveBase, tree: Tree, test: ReplaceTest, files: Files) -> Swap:
    """Returns the objects that hold such rows, and what is left of them. Raises Gone or Corrupt."""
    from lochan.engines.duckdb.delete import DeleteTest, rows_deleted
    from lochan.query.syntax.parse import parse_expression

    if not tree.count:
        return Swap()
    try:
        tested = DeleteTest(parse_expression(test.text), test.text, test.now)
        swap, _ = await rows_deleted(repository, on, tree, tested, files)
    except NothingToDo:
        return Swap()
    return swap


def check_rows(settings: PoolSettings, test: ReplaceTest, written: WrittenObject) -> None:
    """Checks the rows of an object that is not on the store yet, in the task that wrote it. Raises Invalid."""
    from lochan.engines.duckdb.limits import Limits
    from lochan.engines.duckdb.rewrite import count_matches
    from lochan.engines.duckdb.session import DuckSession
    from lochan.engines.spark.executors import TASK_MEMORY_BYTES
    from lochan.query.compile.plan import row_test
    from lochan.query.syntax.parse import parse_expression

    source = _source(settings, written)
    tested = row_test(source, parse_expression(test.text), test.text, test.now)
    file = str(written.file)
    with DuckSession(Limits(TASK_MEMORY_BYTES // 4, threads=1), folders=[str(written.file.parent)]) as session:
        counts = count_matches(session, source.knowledge, tested, {form: [file] for form in source.read})
    wrong = written.facts.rows - sum(counts.values())
    if wrong:
        raise Invalid(
            f"{wrong:,} of the rows to be written do not pass the test {test.text!r} of those to be replaced",
            hint="nothing was changed; write rows that pass it, or change the test",
        )


def _source(settings: PoolSettings, written: WrittenObject) -> PoolSource:
    """Returns a source for an object that is not in any tree yet."""
    from lochan.pools.facts import to_metadata
    from lochan.pools.objects import object_path
    from lochan.pools.snapshot import Owner, Snapshot
    from lochan.query.sources.pool import PoolSource
    from lochan.query.sources.scans import Scans

    size = written.file.stat().st_size
    block, metadata = Block("", 0, size, b""), to_metadata(written.facts)
    entry = Entry(object_path("0" * 27), (block,), size, "", "", 0, metadata=metadata)
    return PoolSource(Snapshot([Owner("", "")], settings, [table_of([entry])]), Scans())

"""Files outside the lake become objects of a branch, without a copy, as one commit.

    import   adds the files of some folders; other objects of the branch stay
    ingest   makes the tree under a prefix equal to one folder: adds, changes and removes objects

Both are head moves of their own (rule S6): nothing is staged, they are computed again if the head has moved, and they
are refused if a path that they change has a staged change (rule S5).

The files are gathered first: listed, made into entries, and kept in path order until the commit lands. A few are kept
in memory, many in a mapped file on this machine. So a listing of millions takes little memory, and need not be repeated
if the branch has moved meanwhile.
"""

import os
from collections.abc import AsyncIterator, Callable, Sequence
from tempfile import mkstemp
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Invalid, NotFound, NothingToDo
from lochan.failpoints import fp
from lochan.formats.entry import ENTRY_SCHEMA, RUN_SCHEMA
from lochan.formats.record import Actor
from lochan.formats.repository_events import Moved
from lochan.formats.run import ascends
from lochan.journal.keys import CarriedOut
from lochan.store.scratch import place
from lochan.tree.diff import ADDED, CHANGED, REMOVED, count
from lochan.tree.tree import Tree
from lochan.versioning.bodies.outside_files import OutsideFiles
from lochan.versioning.heads.commit import commit_record
from lochan.versioning.heads.land import PathTest, PreparedMove, land
from lochan.versioning.heads.moves import NOTHING, CommitMessage
from lochan.versioning.heads.subtree import SubtreeChanges, SubtreeRequest, common_prefix, compare, same_file
from lochan.versioning.idempotency import once
from lochan.versioning.open_repository import OpenRepository

_IN_MEMORY_MAX = 100_000  # entries; 40 MB

Seen = Callable[[int], None]  # called with the number of files that were found


class ImportFolder(NamedTuple):
    url: str  # of a folder or prefix
    to: str  # what the paths begin with instead of it


async def gather(outside: OutsideFiles, sources: Sequence[ImportFolder], seen: Seen) -> pa.Table:
    """All files of the sources as entries (ENTRY_SCHEMA), in path order. Raises NotFound for an empty source, Refused
    for files of a lake, and Invalid for names that cannot be stored and for two files at one path."""
    ordered = sorted(sources, key=lambda source: source.to.encode(errors="surrogatepass"))
    with _Gathered() as gathered:
        for source in ordered:
            async for table in _listed_files(outside, source):
                gathered.add(table)
                seen(len(table))
        return _in_order(gathered.table())


async def _listed_files(outside: OutsideFiles, source: ImportFolder) -> AsyncIterator[pa.Table]:
    try:
        async for table in outside.files(source.url, source.to):
            yield table
    except NotFound as error:
        raise NotFound(error.message, hint="is it a folder? `lochan fs link URL REPO/PATH` links one file") from error


class _Gathered:
    def __init__(self) -> None:
        self._tables: list[pa.Table] = []
        self._count = 0
        self._path = ""
        self._writer: pa.ipc.RecordBatchFileWriter | None = None

    def __enter__(self) -> "_Gathered":
        return self

    def __exit__(self, *_: object) -> None:
        """A mapped file needs no name."""
        if self._writer is not None:
            self._writer.close()
        if self._path:
            os.unlink(self._path)  # noqa: PTH108

    def add(self, table: pa.Table) -> None:
        if self._writer is not None:
            self._writer.write_table(table)
            return
        self._tables.append(table)
        self._count += len(table)
        if self._count > _IN_MEMORY_MAX:
            self._spill()

    def table(self) -> pa.Table:
        if self._writer is None:
            return pa.concat_tables(self._tables)
        self._writer.close()
        self._writer = None
        return pa.ipc.open_file(pa.memory_map(self._path)).read_all()

    def _spill(self) -> None:
        handle, self._path = mkstemp(prefix="lochan-import-", dir=place())
        os.close(handle)
        self._writer = pa.ipc.new_file(self._path, ENTRY_SCHEMA)
        for table in self._tables:
            self._writer.write_table(table)
        self._tables.clear()


def _in_order(entries: pa.Table) -> pa.Table:
    """Each source is in order already. Only if the paths of two sources interleave is there anything to do."""
    if _ascends(entries["path"]):
        return entries
    entries = entries.take(pc.sort_indices(entries["path"]))
    if not _ascends(entries["path"]):
        paths = entries["path"].combine_chunks()
        twice = paths[1:].filter(pc.equal(paths[:-1], paths[1:]))[0].as_py()
        raise Invalid(f"two files would become the object {twice!r}", hint="give the sources different prefixes")
    return entries


def _ascends(paths: pa.ChunkedArray) -> bool:
    """Checks chunk by chunk: the whole column at once would be copied."""
    last = b""
    for chunk in paths.chunks:
        if not len(chunk):
            continue
        if chunk[0].as_py().encode() <= last or not ascends(chunk):
            return False
        last = chunk[-1].as_py().encode()
    return True


class ImportCounts(NamedTuple):
    added: int = 0
    changed: int = 0
    removed: int = 0
    bytes: int = 0  # of the objects that are added or changed

    def plus(self, part: SubtreeChanges) -> "ImportCounts":
        kinds = {each["values"]: each["counts"] for each in pc.value_counts(part.kinds).to_pylist()}
        return ImportCounts(
            self.added + kinds.get(ADDED, 0),
            self.changed + kinds.get(CHANGED, 0),
            self.removed + kinds.get(REMOVED, 0),
            self.bytes + (pc.sum(part.changes["size"]).as_py() or 0),
        )


class ImportPlan(NamedTuple):
    """The files that were found, and how to bring them in."""

    why: str  # import, ingest
    sources: Sequence[ImportFolder]
    files: pa.Table  # ENTRY_SCHEMA, in path order
    request: SubtreeRequest


class ImportOutcome(NamedTuple):
    commit: str
    counts: ImportCounts


async def for_import(
    repository: OpenRepository, sources: Sequence[ImportFolder], seen: Seen = lambda count: None
) -> ImportPlan:
    prefix = common_prefix([source.to for source in sources])
    return ImportPlan("import", sources, await _files(repository, sources, seen), SubtreeRequest(prefix))


async def for_ingest(
    repository: OpenRepository, source: ImportFolder, *, keep_removed: bool = False, seen: Seen = lambda count: None
) -> ImportPlan:
    """A source without files is refused: it was more likely mistyped than emptied."""
    files = await _files(repository, [source], seen)
    return ImportPlan("ingest", [source], files, SubtreeRequest(source.to, same_file, not keep_removed))


async def differences(repository: OpenRepository, branch: str, gathered: ImportPlan) -> AsyncIterator[SubtreeChanges]:
    """What landing the plan would change now."""
    refs, _ = await repository.refs()
    tree = await repository.tree(refs.commit(refs.branch(branch).head))
    async for part in compare(tree, gathered.files, gathered.request):
        yield part


async def _landed_first(repository: OpenRepository, before: CarriedOut) -> ImportOutcome:
    made = repository.folded().recorded(before.result)
    trees = await repository.tree(repository.folded().recorded(made.parents[0])), await repository.tree(made)
    found = await count(repository.trees, *trees)
    return ImportOutcome(before.result, ImportCounts(found.added, found.changed, found.removed, found.bytes_added))


@once(_landed_first)
async def bring_in(
    repository: OpenRepository, branch: str, gathered: ImportPlan, message: CommitMessage = NOTHING, *, actor: Actor
) -> ImportOutcome:
    """Raises NothingToDo, and PathsInTheWay for paths with uncommitted changes."""
    counts = ImportCounts()

    async def prepare(turn: str) -> PreparedMove:
        nonlocal counts
        refs, mint = await repository.refs()
        found = refs.branch(branch)
        head = refs.commit(found.head)
        base = await repository.tree(head)
        changes, counts = await _changes(base, gathered)
        tree = await repository.trees.apply(base, changes, mint)
        if tree.ref.id == base.ref.id:
            raise NothingToDo(f"branch {branch!r} has all of it already", hint="there is nothing to commit")
        fp("import.computed")
        commit = commit_record(tree, {found.head: head}, _message(gathered, message), actor, repository.clock.wall())
        event = Moved(
            branch, found.incarnation, found.head, commit.id, gathered.why, (commit,), read_at=mint, turn=turn
        )
        return PreparedMove(event, await _test(repository, branch, changes["path"].combine_chunks()))

    id: str = await land(repository, branch, prepare, actor=actor)
    fp("import.landed")
    return ImportOutcome(id, counts)


async def _files(repository: OpenRepository, sources: Sequence[ImportFolder], seen: Seen) -> pa.Table:
    if repository.outside is None:
        raise Invalid(
            "files outside the lake cannot be reached from here",
            hint="this lake was opened without access to other stores",
        )
    return await gather(repository.outside, sources, seen)


async def _changes(base: Tree, gathered: ImportPlan) -> tuple[pa.Table, ImportCounts]:
    counts = ImportCounts()
    tables = []
    async for part in compare(base, gathered.files, gathered.request):
        tables.append(part.changes)
        counts = counts.plus(part)
    return pa.concat_tables(tables) if tables else RUN_SCHEMA.empty_table(), counts


async def _test(repository: OpenRepository, branch: str, changed: pa.StringArray) -> PathTest:
    test = PathTest(branch, changed)
    refs, _ = await repository.refs()
    found = refs.branch(branch)
    await test.look(await repository.view_of(refs.commit(found.head), found.layers), found.layers)
    return test


def _message(gathered: ImportPlan, message: CommitMessage) -> CommitMessage:
    what = ", ".join(source.url for source in gathered.sources)
    return message if message.message else message._replace(message=f"{gathered.why.capitalize()} {what}")

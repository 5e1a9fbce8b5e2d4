"""Files outside the lake become objects of a branch, without a copy, as one commit.

    import   adds the files of some folders, and single files; other objects of the branch stay
    ingest   makes the tree under a prefix equal to one folder: adds, changes and removes objects

Both are head moves of their own (rule S6): nothing is staged, they are computed again if the head has moved, and they
are refused if a path that they change has a staged change (rule S5).

The files are gathered first: listed, or read from an inventory, and kept in path order until the commit lands. A few
are kept in memory, many in a mapped file on this machine. So a listing of millions takes little memory, and need not be
repeated if the branch has moved meanwhile. What changes goes into the tree a piece at a time, too.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Invalid, NotFound, NothingToDo
from lochan.failpoints import fp
from lochan.formats.range import RangeRef
from lochan.formats.record import Actor
from lochan.formats.repository_events import Moved
from lochan.journal.keys import CarriedOut
from lochan.staging.layers import Layers
from lochan.staging.view import View
from lochan.tree.diff import count
from lochan.tree.rows import PathSpan, encode_path, span
from lochan.tree.tree import Tree
from lochan.versioning.bodies.file_list import FileList, FileSpool, ListedBatch, MappedTables, SortedFiles
from lochan.versioning.bodies.inventory import check_listed, inventory_parts, read_part
from lochan.versioning.bodies.outside_files import OutsideFiles, OutsideFolder
from lochan.versioning.heads.commit import commit_record
from lochan.versioning.heads.land import LookAgain, PathTest, PreparedMove, land
from lochan.versioning.heads.moves import NOTHING, CommitMessage
from lochan.versioning.heads.subtree import SubtreeChanges, SubtreeRequest, common_prefix, compare, same_file
from lochan.versioning.idempotency import once
from lochan.versioning.open_repository import OpenRepository

NOWHERE = PathSpan(b"\xff", b"")
Seen = Callable[[int], None]  # gets the number of files that were found


class ImportFolder(NamedTuple):
    url: str  # the URL of a folder or prefix
    to: str  # the beginning of the paths, in its place
    inventory: str = ""  # the URL of a list of its files, which is used in place of a listing
    verify: bool = False  # whether the store is asked for every file of the inventory, or only for a sample
    file: bool = False  # whether the URL is of one file, and `to` its whole path


async def gather(outside: OutsideFiles, sources: Sequence[ImportFolder], seen: Seen) -> FileList:
    """Returns all files of the sources. Raises NotFound for an empty source, Refused for files of a lake, and Invalid
    for names that cannot be stored, and for an inventory that is not true. Two files at one path are only noticed when
    the list is read."""
    batches: list[ListedBatch] = []
    for source in sources:
        at = await place_of(outside, source)
        with FileSpool(at.addresses(source.to)) as spool:
            async for table in _read_inventory(outside, source, at) if source.inventory else at.files(source.to):
                spool.add_files(table)
                seen(len(table))
            found = spool.listed()
        await _check(source, at, SortedFiles(found))
        batches += found
    return SortedFiles(batches)


async def place_of(outside: OutsideFiles, source: ImportFolder) -> OutsideFolder:
    """Returns the place of the source. Raises Invalid, NotFound, Refused."""
    if not source.file:
        return await outside.place(source.url)
    if source.inventory:
        raise Invalid(f"{source.url} is one file, and has no inventory", hint="leave out the inventory")
    return await outside.single(source.url)


async def _read_inventory(outside: OutsideFiles, source: ImportFolder, at: OutsideFolder) -> AsyncIterator[pa.Table]:
    target = at.addresses(source.to)
    for part in await inventory_parts(outside, source.inventory, target):
        async for table in read_part(outside.find(part.root)[0], part, target):
            yield table


async def _check(source: ImportFolder, at: OutsideFolder, files: SortedFiles) -> None:
    """Checks the files of a source. Raises NotFound if there are none, and Invalid for an inventory that is not
    true."""
    if source.inventory:
        if not files.count:
            raise NotFound(f"{source.inventory} lists nothing under {source.url}", hint="is it of another prefix?")
        await check_listed(at.store, at.addresses(source.to), files, every=source.verify)
    elif not files.count:
        raise NotFound(
            f"there is nothing to import under {source.url}",
            hint="is it a folder? `lochan fs link URL REPO/PATH` links one file",
        )


class ImportCounts(NamedTuple):
    added: int = 0
    changed: int = 0
    removed: int = 0
    bytes: int = 0  # the bytes of the objects that are added or changed

    def plus(self, part: SubtreeChanges) -> "ImportCounts":
        added, removed = part.before.null_count, pc.sum(part.changes["deleted"]).as_py() or 0
        return ImportCounts(
            self.added + added,
            self.changed + len(part.before) - added - removed,
            self.removed + removed,
            self.bytes + (pc.sum(part.changes["size"]).as_py() or 0),
        )


class ListedRanges(NamedTuple):
    """All files of a list as ranges that are on the store already, though no event names them yet."""

    ranges: tuple[RangeRef, ...]
    mint: int  # the mint number of their files

    @property
    def counts(self) -> ImportCounts:
        return ImportCounts(added=sum(ref.count for ref in self.ranges), bytes=sum(ref.bytes for ref in self.ranges))

    def fit(self, base: Tree, within: PathSpan) -> bool:
        """Returns whether the tree has no object between theirs, nor in that span."""
        low = min(encode_path(self.ranges[0].min_path), within.low)
        high = max(encode_path(self.ranges[-1].max_path) + b"\0", within.high)
        return not any(encode_path(ref.max_path) >= low and encode_path(ref.min_path) < high for ref in base.ranges)


class BringInPlan(Protocol):
    """The plan of an import."""

    @property
    def why(self) -> str: ...
    @property
    def sources(self) -> Sequence[ImportFolder]: ...
    @property
    def closes(self) -> tuple[str, ...]:
        """The jobs that hold files open until the commit names them."""

    def ranges_for(self, base: Tree) -> ListedRanges | None:
        """Returns the files as ranges if they can be added without a comparison, or None."""

    def changes(self, base: Tree) -> AsyncIterator[SubtreeChanges]:
        """Yields the changes that a tree would need, in path order. No part is empty. It may be called again."""


class ImportPlan(NamedTuple):
    """The files that were found, and how to import them."""

    why: str  # import, ingest
    sources: Sequence[ImportFolder]
    files: FileList
    request: SubtreeRequest
    closes: tuple[str, ...] = ()
    ranges: ListedRanges | None = None

    def ranges_for(self, base: Tree) -> ListedRanges | None:
        """Returns the ranges if the tree has nothing in their place. An ingest removes everything else under its
        prefix, so nothing may be there either."""
        within = span(self.request.prefix) if self.request.remove else NOWHERE
        return self.ranges if self.ranges is not None and self.ranges.fit(base, within) else None

    def changes(self, base: Tree) -> AsyncIterator[SubtreeChanges]:
        return compare(base, self.files, self.request)


class ImportOutcome(NamedTuple):
    commit: str
    counts: ImportCounts


async def for_import(
    repository: OpenRepository, sources: Sequence[ImportFolder], seen: Seen = lambda count: None
) -> ImportPlan:
    return import_plan(sources, await _files(repository, sources, seen))


def import_plan(sources: Sequence[ImportFolder], files: FileList) -> ImportPlan:
    return ImportPlan("import", sources, files, SubtreeRequest(common_prefix([source.to for source in sources])))


async def for_ingest(
    repository: OpenRepository, source: ImportFolder, *, keep_removed: bool = False, seen: Seen = lambda count: None
) -> ImportPlan:
    """Makes the plan of an ingest. A source without files is refused: it was more likely mistyped than emptied."""
    return ingest_plan(source, await _files(repository, [source], seen), keep_removed=keep_removed)


def ingest_plan(source: ImportFolder, files: FileList, *, keep_removed: bool) -> ImportPlan:
    if source.file:  # everything else whose path begins with its path would be removed
        raise Invalid(f"{source.url} is one file, and folders are followed", hint="import the file instead")
    return ImportPlan("ingest", [source], files, SubtreeRequest(source.to, same_file, not keep_removed))


async def differences(repository: OpenRepository, branch: str, gathered: BringInPlan) -> AsyncIterator[SubtreeChanges]:
    """Yields the changes that landing the plan would make now."""
    refs, _ = await repository.refs()
    tree = await repository.tree(refs.commit(refs.branch(branch).head))
    async for part in gathered.changes(tree):
        yield part


async def _earlier_import(repository: OpenRepository, before: CarriedOut) -> ImportOutcome:
    made = repository.folded().recorded(before.result)
    trees = await repository.tree(repository.folded().recorded(made.parents[0])), await repository.tree(made)
    found = await count(repository.trees, *trees)
    return ImportOutcome(before.result, ImportCounts(found.added, found.changed, found.removed, found.bytes_added))


@once(_earlier_import)
async def bring_in(
    repository: OpenRepository, branch: str, gathered: BringInPlan, message: CommitMessage = NOTHING, *, actor: Actor
) -> ImportOutcome:
    """Lands the plan as one commit. Raises NothingToDo, and PathsInTheWay for paths with uncommitted changes."""
    counts = ImportCounts()

    async def prepare(turn: str) -> PreparedMove:
        nonlocal counts
        refs, mint = await repository.refs()
        found = refs.branch(branch)
        head = refs.commit(found.head)
        base = await repository.tree(head)
        counts, paths = ImportCounts(), opened.enter_context(_ChangedPaths())

        async def changes() -> AsyncIterator[pa.Table]:
            nonlocal counts
            async for part in gathered.changes(base):
                counts = counts.plus(part)
                paths.add_paths(part.changes["path"])
                yield part.changes

        ready = gathered.ranges_for(base) if found.layers.empty else None
        if ready is None:
            tree = await repository.trees.apply(base, changes(), mint)
        else:
            tree, counts = await repository.trees.insert(base, ready.ranges, mint), ready.counts
        if tree.ref.id == base.ref.id:
            raise NothingToDo(f"branch {branch!r} has all of it already", hint="there is nothing to commit")
        fp("import.computed")
        commit = commit_record(tree, {found.head: head}, _message(gathered, message), actor, repository.clock.wall())
        event = Moved(
            branch,
            found.incarnation,
            found.head,
            commit.id,
            gathered.why,
            (commit,),
            read_at=mint,
            turn=turn,
            mint=0 if ready is None else ready.mint,
            closes=gathered.closes,
        )
        if ready is not None:
            return PreparedMove(event, _NothingStaged(branch, found.layers))
        return PreparedMove(event, await _test(repository, branch, paths))

    with ExitStack() as opened:
        id: str = await land(repository, branch, prepare, actor=actor)
    fp("import.landed")
    return ImportOutcome(id, counts)


async def _files(repository: OpenRepository, sources: Sequence[ImportFolder], seen: Seen) -> FileList:
    return await gather(outside_of(repository), sources, seen)


def outside_of(repository: OpenRepository) -> OutsideFiles:
    """Returns the files outside that the repository may import. Raises Invalid."""
    if repository.outside is None:
        raise Invalid(
            "files outside the lake cannot be reached from here",
            hint="this lake was opened without access to other stores",
        )
    return repository.outside


class _ChangedPaths(MappedTables):
    """The paths that an import changes, in order."""

    def __init__(self) -> None:
        super().__init__(pa.schema([pa.field("path", pa.string(), nullable=False)]))

    def add_paths(self, paths: pa.ChunkedArray) -> None:
        for chunk in paths.chunks:
            if len(chunk):
                self.add(pa.record_batch([chunk], schema=self.schema))


class _ManyPathsTest(PathTest):
    """The test of S5 for more paths than fit into memory."""

    def __init__(self, branch: str, changed: Sequence[pa.StringArray]) -> None:
        super().__init__(branch, pa.array([], pa.string()))
        self._parts = [PathTest(branch, each) for each in changed]

    async def look(self, view: View, layers: Layers) -> None:
        await super().look(view, layers)
        if not layers.empty:
            for part in self._parts:
                await part.look(view, layers)

    def changes(self, path: str) -> bool:
        return any(part.changes(path) for part in self._parts)


class _NothingStaged(PathTest):
    """The test of S5 if the paths are not known: nothing was staged, and nothing is staged meanwhile; otherwise the
    import is computed again, path by path."""

    def __init__(self, branch: str, layers: Layers) -> None:
        super().__init__(branch, pa.nulls(0, pa.string()))
        self._looked = layers

    def changes(self, path: str) -> bool:
        raise LookAgain("something was staged meanwhile", hint="try again")


async def _test(repository: OpenRepository, branch: str, changed: _ChangedPaths) -> PathTest:
    test = _ManyPathsTest(branch, [batch.column("path") for batch in changed.batches()])
    refs, _ = await repository.refs()
    found = refs.branch(branch)
    await test.look(await repository.view_of(refs.commit(found.head), found.layers), found.layers)
    return test


def _message(gathered: BringInPlan, message: CommitMessage) -> CommitMessage:
    what = ", ".join(source.url for source in gathered.sources)
    return message if message.message else message._replace(message=f"{gathered.why.capitalize()} {what}")

"""Files outside the lake become objects of a branch, without a copy, as one commit.

    import   the files of some folders come in; what the branch has besides stays
    ingest   one folder *is* the tree under a prefix from now on: what was added, changed and removed there since

Either is a head move of its own (rule S6): never staged, computed anew on the new head where somebody else was first,
and refused where a path that it changes has something staged (rule S5).
"""

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Invalid, NothingToDo
from lochan.failpoints import fp
from lochan.formats.commit import Commit
from lochan.formats.entry import RUN_SCHEMA
from lochan.formats.record import Actor
from lochan.formats.repository_events import Moved
from lochan.journal.request_key import CarriedOut
from lochan.tree.diff import ADDED, CHANGED, REMOVED, count
from lochan.tree.tree import Tree
from lochan.versioning.gathering import Seen, Source, gather
from lochan.versioning.landing import Prepared, land
from lochan.versioning.moving import NOTHING, Said
from lochan.versioning.once import once
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.path_test import PathTest
from lochan.versioning.subtree import Part, Wish, common_prefix, compare, same_file


class Counts(NamedTuple):
    added: int = 0
    changed: int = 0
    removed: int = 0
    bytes: int = 0  # of the objects that come in

    def plus(self, part: Part) -> "Counts":
        kinds = {each["values"]: each["counts"] for each in pc.value_counts(part.kinds).to_pylist()}
        return Counts(
            self.added + kinds.get(ADDED, 0),
            self.changed + kinds.get(CHANGED, 0),
            self.removed + kinds.get(REMOVED, 0),
            self.bytes + (pc.sum(part.changes["size"]).as_py() or 0),
        )


class Gathered(NamedTuple):
    """What was found outside, and how it is to come in."""

    why: str  # import, ingest
    sources: Sequence[Source]
    files: pa.Table  # ENTRY_SCHEMA, in path order
    wish: Wish


class Landed(NamedTuple):
    commit: str
    counts: Counts


async def for_import(
    repository: OpenRepository, sources: Sequence[Source], seen: Seen = lambda count: None
) -> Gathered:
    prefix = common_prefix([source.to for source in sources])
    return Gathered("import", sources, await _files(repository, sources, seen), Wish(prefix))


async def for_ingest(
    repository: OpenRepository, source: Source, *, keep_removed: bool = False, seen: Seen = lambda count: None
) -> Gathered:
    """A source without a single file is refused: more likely it was mistyped than emptied."""
    files = await _files(repository, [source], seen)
    return Gathered("ingest", [source], files, Wish(source.to, same_file, not keep_removed))


async def differences(repository: OpenRepository, branch: str, gathered: Gathered) -> AsyncIterator[Part]:
    """What landing it would change now."""
    refs, _ = await repository.refs()
    tree = await repository.tree(refs.commit(refs.branch(branch).head))
    async for part in compare(tree, gathered.files, gathered.wish):
        yield part


async def _landed_first(repository: OpenRepository, before: CarriedOut) -> Landed:
    made = repository.folded().recorded(before.result)
    trees = await repository.tree(repository.folded().recorded(made.parents[0])), await repository.tree(made)
    found = await count(repository.trees, *trees)
    return Landed(before.result, Counts(found.added, found.changed, found.removed, found.bytes_added))


@once(_landed_first)
async def bring_in(
    repository: OpenRepository, branch: str, gathered: Gathered, said: Said = NOTHING, *, actor: Actor
) -> Landed:
    """Raises NothingToDo, PathsInTheWay for paths with uncommitted changes."""
    counts = Counts()

    async def prepare(turn: str) -> Prepared:
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
        commit = _commit(tree, found.head, head, _said(gathered, said), actor, repository.clock.wall())
        event = Moved(
            branch, found.incarnation, found.head, commit.id, gathered.why, (commit,), read_at=mint, turn=turn
        )
        return Prepared(event, await _test(repository, branch, changes["path"].combine_chunks()))

    id: str = await land(repository, branch, prepare, actor=actor)
    fp("import.landed")
    return Landed(id, counts)


async def _files(repository: OpenRepository, sources: Sequence[Source], seen: Seen) -> pa.Table:
    if repository.outside is None:
        raise Invalid("files outside the lake cannot be reached from here", hint="nobody told how to open them")
    return await gather(repository.outside, sources, seen)


async def _changes(base: Tree, gathered: Gathered) -> tuple[pa.Table, Counts]:
    counts = Counts()
    tables = []
    async for part in compare(base, gathered.files, gathered.wish):
        tables.append(part.changes)
        counts = counts.plus(part)
    return pa.concat_tables(tables) if tables else RUN_SCHEMA.empty_table(), counts


async def _test(repository: OpenRepository, branch: str, changed: pa.StringArray) -> PathTest:
    test = PathTest(branch, changed)
    refs, _ = await repository.refs()
    found = refs.branch(branch)
    await test.look(await repository.view_of(refs.commit(found.head), found.layers), found.layers)
    return test


def _said(gathered: Gathered, said: Said) -> Said:
    what = ", ".join(source.url for source in gathered.sources)
    return said if said.message else said._replace(message=f"{gathered.why.capitalize()} {what}")


def _commit(tree: Tree, id: str, head: Commit, said: Said, actor: Actor, now: int) -> Commit:
    return Commit(
        parents=(id,),
        author=said.author or actor.name,
        committer=actor.user,
        message=said.message,
        date=now if said.date is None else said.date,
        metadata=dict(said.metadata),
        tree=tree.ref.id,
        tree_file=tree.ref.file,
        generation=head.generation + 1,
    )

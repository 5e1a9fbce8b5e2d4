"""Commits the staged changes of a branch (rules S1, S4).

    seal S ──▶ build the tree from the layers below S, without the journal ──▶ committed, valid only while S stands

Writers never wait: what they stage meanwhile lies above the seal and stays staged."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import NothingToDo
from lochan.failpoints import fp
from lochan.formats.commit import Commit
from lochan.formats.record import Actor
from lochan.formats.repository_events import Committed, Sealed
from lochan.journal.keys import CarriedOut
from lochan.staging import covering_tree
from lochan.staging.layers import Layers
from lochan.staging.view import View
from lochan.tree.tree import Tree
from lochan.versioning.heads.joins import NamedTree
from lochan.versioning.heads.land import PreparedMove, land
from lochan.versioning.idempotency import once
from lochan.versioning.lineage import lineage_metadata
from lochan.versioning.names import regex
from lochan.versioning.open_repository import OpenRepository


class CommitRequest(NamedTuple):
    message: str
    metadata: Mapping[str, str] = {}
    author: str = ""  # empty for the actor
    date: int | None = None  # microseconds since 1970; None for now
    allow_empty: bool = False
    paths: Sequence[str] = ()  # only these paths, exact or as globs; empty for all


class CommitText(Protocol):
    """The parts of a commit that users write."""

    @property
    def message(self) -> str: ...

    @property
    def metadata(self) -> Mapping[str, str]: ...

    @property
    def author(self) -> str: ...

    @property
    def date(self) -> int | None: ...


def commit_record(
    tree: NamedTree, parents: Mapping[str, Commit], text: CommitText, actor: Actor, now: int, *, traced: bool = True
) -> Commit:
    """Returns a new commit of this tree. `parents` are in order, by id. With `traced`, the commit says where its data
    came from, unless its text says that itself; commits that are copied, and those of upkeep, come from no program of a
    user."""
    return Commit(
        parents=tuple(parents),
        author=text.author or actor.name,
        committer=actor.user,
        message=text.message,
        date=now if text.date is None else text.date,
        metadata={**(lineage_metadata() if traced else {}), **text.metadata},
        tree=tree.ref.id,
        tree_file=tree.ref.file,
        generation=1 + max(parent.generation for parent in parents.values()),
    )


async def _earlier_commit(repository: OpenRepository, before: CarriedOut) -> tuple[str, Commit]:
    return before.result, repository.folded().recorded(before.result)


@once(_earlier_commit)
async def commit(
    repository: OpenRepository, branch: str, request: CommitRequest, *, actor: Actor
) -> tuple[str, Commit]:
    """Commits the staged changes. Raises NothingToDo if there is nothing to commit."""

    async def attempt(turn: str) -> PreparedMove | None:
        event = await prepare(repository, branch, request, turn, actor)
        return None if event is None else PreparedMove(event)

    id: str = await land(repository, branch, attempt, actor=actor)
    fp("commit.landed")
    return id, repository.folded().commit(id)


async def prepare(
    repository: OpenRepository, branch: str, request: CommitRequest, turn: str, actor: Actor
) -> Committed | None:
    """Returns the event, with all its files written, or None if its seal is gone already."""
    await _check_something(repository, branch, request)
    seal: int = await repository.submit(actor, Sealed(branch, turn))
    fp("commit.sealed")
    refs, mint = await repository.refs()
    found = refs.branch(branch)
    if seal not in found.layers.seals:
        return None
    parent = refs.commit(found.head)
    base = await repository.tree(parent)
    staged = View(found.layers.below(seal), base, repository.runs)
    sieve = _Sieve(request.paths)
    tree = await _build(repository, base, found.layers.below(seal), staged, sieve, mint)
    fp("commit.tree_written")
    if tree.ref.id == base.ref.id and not request.allow_empty:
        raise NothingToDo(f"what is staged on branch {branch!r} changes nothing", hint="there is nothing to commit")
    kept = await repository.runs.write_cut(sieve.rest(staged.scan_changes()), 1, mint) if sieve.left else ()
    record = commit_record(tree, {found.head: parent}, request, actor, repository.clock.wall())
    return Committed(branch, seal, record, kept, read_at=mint, turn=turn)


async def _build(
    repository: OpenRepository, base: Tree, layers: Layers, staged: View, sieve: "_Sieve", mint: int
) -> Tree:
    made = None if sieve.patterns else await covering_tree.committed_tree(layers, base, repository.trees)
    if made is not None:  # upkeep has made it before
        return made
    tree = await repository.trees.apply(base, sieve.chosen(staged.scan_changes()), mint)
    if sieve.patterns and not sieve.matched:
        raise NothingToDo(f"nothing that is staged matches {', '.join(sieve.patterns)}")
    return tree


async def _check_something(repository: OpenRepository, branch: str, request: CommitRequest) -> None:
    refs, _ = await repository.refs()
    if refs.branch(branch).layers.empty and not request.allow_empty:
        raise NothingToDo(f"nothing is staged on branch {branch!r}", hint="there is nothing to commit")


class _Sieve:
    """Splits the staged changes into those that are committed now and those that stay. They are read once for each
    part: holding the second part while the tree is built could mean holding all of them."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns = patterns
        self.matched = self.left = 0  # counts of changes

    async def chosen(self, changes: AsyncIterator[pa.Table]) -> AsyncIterator[pa.Table]:
        async for table in changes:
            found = table.filter(self._match_paths(table)) if self.patterns else table
            self.matched += len(found)
            self.left += len(table) - len(found)
            yield found

    async def rest(self, changes: AsyncIterator[pa.Table]) -> AsyncIterator[pa.Table]:
        async for table in changes:
            yield table.filter(pc.invert(self._match_paths(table)))

    def _match_paths(self, changes: pa.Table) -> pa.ChunkedArray:
        return pc.match_substring_regex(changes["path"], regex(self.patterns))

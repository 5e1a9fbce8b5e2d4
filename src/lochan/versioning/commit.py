"""Committing what is staged on a branch (rules S1, S4).

    seal S ──▶ build the tree from what lies below S, off the journal ──▶ committed, valid only while S stands

Writers never wait: what they stage meanwhile lies above the seal, and stays staged.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Conflict, Invalid
from lochan.failpoints import fp
from lochan.formats.commit import Commit
from lochan.formats.record import Actor
from lochan.formats.refs_events import Committed, Sealed
from lochan.tree.tree import Tree
from lochan.versioning.globs import regex
from lochan.versioning.open_repository import OpenRepository

_ATTEMPTS = 10  # each follows a head move by somebody else


class Wish(NamedTuple):
    """What the commit is to say."""

    message: str
    metadata: Mapping[str, str] = {}
    author: str = ""  # the actor, unless told otherwise
    date: int | None = None  # now, unless told otherwise; microseconds since 1970
    allow_empty: bool = False
    paths: Sequence[str] = ()  # only these, exact or as globs; nothing: all


async def commit(repository: OpenRepository, branch: str, wish: Wish, *, actor: Actor) -> tuple[str, Commit]:
    """Raises Invalid if there is nothing to commit, Conflict if the branch was moved too often meanwhile."""
    for _ in range(_ATTEMPTS):
        await _check_something(repository, branch, wish)
        seal: int = await repository.submit(actor, Sealed(branch))
        fp("commit.sealed")
        prepared = await _prepare(repository, branch, seal, wish, actor)
        if prepared is None:
            continue
        try:
            await repository.submit(actor, prepared)
        except Conflict:
            continue  # the seal fell: another's head move. What is staged is still there, so seal anew.
        fp("commit.landed")
        return prepared.commit.id, prepared.commit
    raise Conflict(f"branch {branch!r} was moved {_ATTEMPTS} times while it was committed", hint="try again")


async def _check_something(repository: OpenRepository, branch: str, wish: Wish) -> None:
    refs, _ = await repository.refs()
    if refs.branch(branch).layers.empty and not wish.allow_empty:
        raise Invalid(f"nothing is staged on branch {branch!r}", hint="there is nothing to commit")


async def _prepare(repository: OpenRepository, branch: str, seal: int, wish: Wish, actor: Actor) -> Committed | None:
    """The event, with all its files written; None: the seal has fallen already."""
    refs, mint = await repository.refs()
    found = refs.branch(branch)
    if seal not in found.layers.seals:
        return None
    parent = refs.commit(found.head)
    view = await repository.view_of(parent, found.layers.below(seal))
    changes, leftovers = _split(await view.changes(), wish.paths)
    base = await repository.tree(parent)
    tree = await repository.trees.apply(base, changes, mint) if len(changes) else base
    fp("commit.tree_written")
    if tree.ref.id == base.ref.id and not wish.allow_empty:
        raise Invalid(f"what is staged on branch {branch!r} changes nothing", hint="there is nothing to commit")
    kept = await repository.runs.write_cut(leftovers, 1, mint) if len(leftovers) else ()
    record = _record(tree, found.head, parent, wish, actor, repository.clock.wall())
    return Committed(branch, seal, record, kept)


def _record(tree: Tree, head: str, parent: Commit, wish: Wish, actor: Actor, now: int) -> Commit:
    return Commit(
        parents=(head,),
        author=wish.author or actor.user,
        committer=actor.user,
        message=wish.message,
        date=now if wish.date is None else wish.date,
        metadata=dict(wish.metadata),
        tree=tree.ref.id,
        tree_file=tree.ref.file,
        generation=parent.generation + 1,
    )


def _split(changes: pa.Table, patterns: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """What is committed now, and what stays staged."""
    if not patterns:
        return changes, changes.slice(0, 0)
    matched = pc.match_substring_regex(changes["path"], regex(patterns))
    if not pc.any(matched).as_py():
        raise Invalid(f"nothing that is staged matches {', '.join(patterns)}")
    return changes.filter(matched), changes.filter(pc.invert(matched))

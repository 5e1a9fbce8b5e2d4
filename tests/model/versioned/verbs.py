"""Carries out the requests of the model on a real lake."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import NamedTuple

from lochan.errors import Corrupt, LochanError, NotFound, Retry
from lochan.formats.entry import Entry, Tombstone
from lochan.formats.record import Actor
from lochan.formats.repository_events import RunsStaged
from lochan.formats.run import changes_table
from lochan.staging.compaction import CompactionLimits
from lochan.tree.merge import Strategy
from lochan.versioning import branches, copy, links, objects, upkeep
from lochan.versioning import branches as branch_protection
from lochan.versioning import stash as stash_module
from lochan.versioning.heads import imports as import_
from lochan.versioning.heads import moves as head_moves
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.heads.imports import ImportFolder
from lochan.versioning.heads.moves import CommitMessage
from lochan.versioning.heads.rebase import rebase
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.unstage import unstage
from lochan.versioning.workspaces import commit as workspace_commit
from lochan.versioning.workspaces import write
from lochan.versioning.workspaces import write as registry
from tests.model.versioned.requests import DEFAULT, Request

ANN = Actor("ann", "test", "here")
TINY = CompactionLimits(inline_count=1, runs=1, ratio=4, tombstones=1)
NOT_DONE = "not done"  # it failed, and says that nothing has happened
UNKNOWN = "unknown"  # it failed, and nobody can tell


class Answer(NamedTuple):
    kind: str  # empty: done
    value: object = ""

    @property
    def is_open(self) -> bool:
        return self.kind in (NOT_DONE, UNKNOWN)


class NewCommit(str):
    """A commit's id in the lake, which dictionaries know by another name."""


async def play(repository: OpenRepository, request: Request, name: str) -> Answer:
    try:
        return Answer("", await _VERBS[request.verb](repository, name, *request.words))
    except LochanError as error:
        if isinstance(error, Retry | Corrupt):
            said = error.kind in ("transient", "disk-full") and request.verb not in _OF_FILES
            return Answer(NOT_DONE if said else UNKNOWN, str(error))
        return Answer(error.kind)


_OF_FILES = ("put_workspace", "delete_workspace")  # no event decides, but a store whose answer may be lost


async def once(data: str) -> AsyncIterator[bytes]:
    yield data.encode()


# --- objects ---------------------------------------------------------------------------------------------------------
async def _put(at: OpenRepository, name: str, branch: str, path: str, data: str) -> str:
    await objects.put(at, branch, path, once(data), actor=ANN)
    return ""


async def _put_many(at: OpenRepository, name: str, branch: str, puts: Mapping[str, str]) -> str:
    _, mint = await at.refs()
    await objects.put_many(at, branch, [await _body(at, *put, mint) for put in puts.items()], actor=ANN)
    return ""


async def _link(at: OpenRepository, name: str, branch: str, path: str, data: str) -> str:
    """The client puts the bytes to the store by itself."""
    given = await links.physical_address(at, branch, path, actor=ANN)
    await at.store.put(given.address, data.encode())
    await links.link(at, branch, path, given.token, actor=ANN)
    return ""


async def _put_runs(at: OpenRepository, name: str, branch: str, changes: Mapping[str, str | None]) -> str:
    """Like a client that prepares everything by itself and then appends one event."""
    _, mint = await at.refs()
    each = [
        Tombstone(path) if data is None else await _body(at, path, data, mint)
        for path, data in sorted(changes.items(), key=lambda change: change[0].encode())
    ]
    await at.submit(ANN, RunsStaged(branch, await at.runs.adopt(changes_table(each), mint), mint=mint))
    return ""


async def _body(at: OpenRepository, path: str, data: str, mint: int) -> Entry:
    return await at.bodies.write(path, once(data), mint=mint)


async def _delete(at: OpenRepository, name: str, branch: str, paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(await objects.delete(at, branch, paths, actor=ANN))


async def _delete_folder(at: OpenRepository, name: str, branch: str, prefix: str) -> int:
    return (await copy.delete_folder(at, branch, prefix, actor=ANN)).objects


async def _copy(at: OpenRepository, name: str, ref: str, source: str, branch: str, target: str) -> str:
    await copy.copy(at, ref, source, branch, target, actor=ANN)
    return ""


async def _copy_folder(at: OpenRepository, name: str, ref: str, prefix: str, branch: str, to: str) -> int:
    return (await copy.copy_folder(at, ref, prefix, branch, to, actor=ANN)).objects


async def _move(at: OpenRepository, name: str, branch: str, source: str, target: str) -> str:
    await copy.move(at, branch, source, target, actor=ANN)
    return ""


async def _move_folder(at: OpenRepository, name: str, branch: str, prefix: str, to: str) -> int:
    return (await copy.move_folder(at, branch, prefix, to, actor=ANN)).objects


async def _compact(at: OpenRepository, name: str, branch: str) -> str:
    while await upkeep.compact(at, branch, TINY):
        pass
    await upkeep.cover(at, branch, TINY)
    return ""


# --- commits and head moves ------------------------------------------------------------------------------------------
async def _commit(at: OpenRepository, name: str, branch: str, patterns: tuple[str, ...], empty: bool) -> str:
    return NewCommit((await commit(at, branch, CommitRequest(name, allow_empty=empty, paths=patterns), actor=ANN))[0])


async def _merge(
    at: OpenRepository,
    name: str,
    ref: str,
    branch: str,
    strategy: str,
    squash: bool,
    staged: bool,
    first: tuple[str, ...] | None,
) -> str:
    return NewCommit(
        await head_moves.merge(
            at,
            ref,
            branch,
            CommitMessage(name),
            actor=ANN,
            strategy=Strategy(strategy),
            squash=squash,
            staged_source=staged,
            commit_first=_first(first, name),
        )
    )


async def _revert(at: OpenRepository, name: str, branch: str, ref: str, first: tuple[str, ...] | None) -> str:
    return NewCommit(
        await head_moves.revert(at, branch, ref, CommitMessage(name), actor=ANN, commit_first=_first(first, name))
    )


async def _cherry_pick(at: OpenRepository, name: str, branch: str, ref: str, first: tuple[str, ...] | None) -> str:
    return NewCommit(
        await head_moves.cherry_pick(at, branch, ref, CommitMessage(name), actor=ANN, commit_first=_first(first, name))
    )


def _first(patterns: tuple[str, ...] | None, name: str) -> CommitRequest | None:
    return None if patterns is None else CommitRequest(f"first {name}", paths=patterns)


async def _bring_in(at: OpenRepository, name: str, branch: str, url: str, to: str, whole: bool) -> str:
    source = ImportFolder(url, to)
    gathered = await (import_.for_ingest(at, source) if whole else import_.for_import(at, [source]))
    return NewCommit((await import_.bring_in(at, branch, gathered, CommitMessage(name), actor=ANN)).commit)


async def _rebase(at: OpenRepository, name: str, branch: str, ref: str) -> str:
    return NewCommit((await rebase(at, branch, ref, actor=ANN)).head)


async def _hard_reset(at: OpenRepository, name: str, branch: str, ref: str) -> str:
    return NewCommit(await branches.hard_reset(at, branch, ref, actor=ANN))


async def _reset_staged(at: OpenRepository, name: str, branch: str) -> str:
    await branches.reset_staged(at, branch, actor=ANN)
    return ""


async def _unstage(at: OpenRepository, name: str, branch: str, paths: tuple[str, ...], prefix: str | None) -> str:
    await unstage(at, branch, paths, prefix, actor=ANN)
    return ""


# --- branches and tags -----------------------------------------------------------------------------------------------
async def _create_branch(at: OpenRepository, name: str, branch: str, ref: str) -> str:
    return NewCommit(await branches.create_branch(at, branch, ref, actor=ANN))


async def _delete_branch(at: OpenRepository, name: str, branch: str) -> str:
    await branches.delete_branch(at, branch, DEFAULT, actor=ANN)
    return ""


async def _restore_branch(at: OpenRepository, name: str, branch: str) -> str:
    return NewCommit(await branches.restore_branch(at, branch, actor=ANN))


async def _rename_branch(at: OpenRepository, name: str, branch: str, to: str) -> str:
    return NewCommit(await branches.rename_branch(at, branch, to, DEFAULT, actor=ANN))


async def _create_tag(at: OpenRepository, name: str, tag: str, ref: str) -> str:
    return NewCommit(await branches.create_tag(at, tag, ref, actor=ANN))


async def _delete_tag(at: OpenRepository, name: str, tag: str) -> str:
    await branches.delete_tag(at, tag, actor=ANN)
    return ""


# --- workspaces ------------------------------------------------------------------------------------------------------
async def _open_workspace(at: OpenRepository, name: str, branch: str) -> str:
    await registry.open_workspace(at, branch, name, actor=ANN)
    return ""


async def _newest(at: OpenRepository) -> str:
    opened = await registry.open_workspaces(at)
    if not opened:
        raise NotFound("no workspace is open")
    return opened[-1].id


async def _put_workspace(at: OpenRepository, name: str, path: str, data: str) -> str:
    await write.put(at, await _newest(at), path, once(data), actor=ANN)
    return ""


async def _delete_workspace(at: OpenRepository, name: str, path: str) -> tuple[str, ...]:
    return tuple(await write.delete(at, await _newest(at), [path], actor=ANN))


async def _commit_workspace(at: OpenRepository, name: str) -> str:
    request = CommitRequest(name)
    return NewCommit((await workspace_commit.commit(at, await _newest(at), request, actor=ANN, everything=True))[0])


async def _drop_workspace(at: OpenRepository, name: str) -> str:
    await registry.drop(at, await _newest(at), actor=ANN)
    return ""


# --- stashes and guards ----------------------------------------------------------------------------------------------
async def _push(at: OpenRepository, name: str, branch: str) -> str:
    await stash_module.push(at, branch, name, actor=ANN)
    return ""


async def _pop(at: OpenRepository, name: str, branch: str, of: str) -> str:
    stash = ""
    if of:
        refs, _ = await at.refs()
        refs.branch(branch)
        kept = refs.stashes.all(of)
        if not kept:
            raise NotFound(f"nothing was stashed on {of}")
        stash = kept[0].id
    return (await stash_module.pop(at, branch, stash, actor=ANN)).message


async def _drop(at: OpenRepository, name: str, branch: str) -> str:
    await stash_module.drop(at, branch, actor=ANN)
    return ""


async def _protect(at: OpenRepository, name: str, pattern: str, blocked: tuple[str, ...]) -> str:
    await branch_protection.protect(at, pattern, blocked, actor=ANN)
    return ""


async def _unprotect(at: OpenRepository, name: str, pattern: str) -> str:
    await branch_protection.unprotect(at, pattern, actor=ANN)
    return ""


async def _set_read_only(at: OpenRepository, name: str, on: bool) -> str:
    await branch_protection.set_read_only(at, on, actor=ANN)
    return ""


_VERBS: Mapping[str, Callable[..., Awaitable[object]]] = {
    "put": _put,
    "put_many": _put_many,
    "link": _link,
    "put_runs": _put_runs,
    "delete": _delete,
    "delete_folder": _delete_folder,
    "copy": _copy,
    "copy_folder": _copy_folder,
    "move": _move,
    "move_folder": _move_folder,
    "compact": _compact,
    "commit": _commit,
    "merge": _merge,
    "revert": _revert,
    "cherry_pick": _cherry_pick,
    "bring_in": _bring_in,
    "hard_reset": _hard_reset,
    "reset_staged": _reset_staged,
    "unstage": _unstage,
    "create_branch": _create_branch,
    "delete_branch": _delete_branch,
    "restore_branch": _restore_branch,
    "rename_branch": _rename_branch,
    "create_tag": _create_tag,
    "delete_tag": _delete_tag,
    "rebase": _rebase,
    "open_workspace": _open_workspace,
    "put_workspace": _put_workspace,
    "delete_workspace": _delete_workspace,
    "commit_workspace": _commit_workspace,
    "drop_workspace": _drop_workspace,
    "push": _push,
    "pop": _pop,
    "drop": _drop,
    "protect": _protect,
    "unprotect": _unprotect,
    "set_read_only": _set_read_only,
}

"""Dumps a repository's refs, and restores them.

A dump contains all branches and tags with their commits. lakeFS keeps it on its store and returns ids. Here, the ids
are the dump itself, as text, so nothing has to be stored for it, and garbage collection need not know about it:

    <what>:<base64url of MessagePack: repository id, {name: commit id}>:<the first 16 hex digits of its SHA-256>

The commits stay in the lake for as long as its rules keep them. So a dump belongs to one repository, and restores the
refs that have been lost since. A ref that is at another commit by now is never moved. A bare repository takes the dump
of another repository of the lake: its commits are copied with their objects.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NoBase64
from collections.abc import Coroutine, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec
from starlette.responses import Response

from lochan.api.repository import Repository
from lochan.api.results import moment
from lochan.errors import Conflict, LochanError, NotFound
from lochan.ids import Ids
from lochan.server.api.errors import HttpError, error_response
from lochan.server.rest.operation import JSON, Answer, Resource, RestCall
from lochan.server.rest.wire import RefsDump, RefsRestore, RepositoryDumpStatus, RepositoryRestoreStatus, TaskCreation
from lochan.server.verbs.task_progress import TaskProgress
from lochan.server.verbs.tasks import TaskInfo

RESOURCE = Resource("dumps")
_REPOSITORY = "/repositories/{repository}"
_COMMITS, _BRANCHES, _TAGS = "commits", "branches", "tags"
_COMMIT_BYTES = 32
_NAMED = 3  # how many refs a refusal names
_DUMP, _RESTORE = "dumpSubmit", "restoreSubmit"


class TaskQuery(msgspec.Struct, frozen=True):
    task_id: str


class _Refs(NamedTuple):
    branches: dict[str, str]
    tags: dict[str, str]


class _Dumped(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    repository: str
    refs: dict[str, bytes]


@RESOURCE.operation("POST", f"{_REPOSITORY}/dump", {202: TaskCreation})
async def dump_submit(call: RestCall) -> Answer:
    """Begin a dump of the refs of a repository. `dumpStatus` gives it."""
    dump = await _dump(call)

    async def work() -> Response:
        return Response(msgspec.json.encode(dump), media_type=JSON)

    return _begin(call, _DUMP, work())


@RESOURCE.operation("GET", f"{_REPOSITORY}/dump", {200: RepositoryDumpStatus}, query=TaskQuery)
async def dump_status(call: RestCall) -> Answer:
    """Get a dump that was begun."""
    found = _task(call, _DUMP)
    made = RepositoryDumpStatus(id=found.id, done=found.ended is not None, update_time=_updated_at(found))
    if found.state != "done":
        return msgspec.structs.replace(made, error=_error(found))
    assert isinstance(found.answer, msgspec.Raw)
    return msgspec.structs.replace(made, refs=msgspec.json.decode(found.answer, type=RefsDump))


@RESOURCE.operation("PUT", f"{_REPOSITORY}/refs/dump", {201: RefsDump})
async def dump_refs(call: RestCall) -> Answer:
    """Dump the refs of a repository."""
    return await _dump(call)


@RESOURCE.operation("POST", f"{_REPOSITORY}/restore", {202: TaskCreation}, body=RefsRestore)
async def restore_submit(call: RestCall) -> Answer:
    """Begin to bring the refs of a dump back, of the same repository: those that are gone. If one of them stands at
    another commit by now, nothing is brought back."""
    restore = await _missing(call)

    async def work() -> Response:
        try:
            await _bring_back(restore)
        except LochanError as error:
            return error_response(error)
        return Response(status_code=204)

    return _begin(call, _RESTORE, work())


@RESOURCE.operation("GET", f"{_REPOSITORY}/restore", {200: RepositoryRestoreStatus}, query=TaskQuery)
async def restore_status(call: RestCall) -> Answer:
    """Get how far a restore is."""
    found = _task(call, _RESTORE)
    done = found.ended is not None
    return RepositoryRestoreStatus(id=found.id, done=done, update_time=_updated_at(found), error=_error(found))


@RESOURCE.operation("PUT", f"{_REPOSITORY}/refs/restore", {200: None}, body=RefsRestore)
async def restore_refs(call: RestCall) -> Answer:
    """The same as `restoreSubmit`, answered when it is done."""
    await _bring_back(await _missing(call))
    return None


# --- the dump --------------------------------------------------------------------------------------------------------
async def _dump(call: RestCall) -> RefsDump:
    repository = call.lake.repository(call.name("repository"))
    id, refs = (await repository.show()).id, await _refs(repository)
    return RefsDump(
        commits_meta_range_id=_encode(_COMMITS, id, {}),
        tags_meta_range_id=_encode(_TAGS, id, refs.tags),
        branches_meta_range_id=_encode(_BRANCHES, id, refs.branches),
    )


async def _refs(repository: Repository) -> _Refs:
    branches = {each.name: each.head async for each in repository.branches(show_hidden=True)}
    return _Refs(branches, {each.name: each.commit async for each in repository.tags()})


def _encode(what: str, repository: str, refs: Mapping[str, str]) -> str:
    data = msgspec.msgpack.encode(_Dumped(repository, {name: bytes.fromhex(id) for name, id in refs.items()}))
    return f"{what}:{urlsafe_b64encode(data).decode()}:{sha256(data).hexdigest()[:16]}"


def _decode(what: str, field: str, text: str) -> tuple[str, dict[str, str]]:
    """Returns the repository's id and the refs. Raises 400."""
    kind, _, rest = text.partition(":")
    body, _, digest = rest.partition(":")
    try:
        data = urlsafe_b64decode(body.encode())
        found = msgspec.msgpack.decode(data, type=_Dumped)
    except (NoBase64, ValueError, RecursionError, msgspec.DecodeError):
        data, found = b"", _Dumped("", {})
    if kind != what or not data or sha256(data).hexdigest()[:16] != digest:
        raise HttpError(400, f"in the body: `{field}` is not that of a dump, or was changed")
    if any(len(id) != _COMMIT_BYTES for id in found.refs.values()):
        raise HttpError(400, f"in the body: `{field}` names what is no commit")
    return found.repository, {name: id.hex() for name, id in found.refs.items()}


# --- and back --------------------------------------------------------------------------------------------------------
class _Restore(NamedTuple):
    repository: Repository
    missing: _Refs
    source: str  # the repository that the commits come from; empty if it is the same


async def _missing(call: RestCall) -> _Restore:
    """Returns what the dump contains and the repository does not. Raises 400, Conflict and NotFound."""
    repository, wanted = call.lake.repository(call.name("repository")), call.body
    id, now = (await repository.show()).id, await _refs(repository)
    fields = {
        _COMMITS: wanted.commits_meta_range_id,
        _BRANCHES: wanted.branches_meta_range_id,
        _TAGS: wanted.tags_meta_range_id,
    }
    dumped = {what: _decode(what, f"{what}_meta_range_id", text) for what, text in fields.items()}
    refs, [of, *others] = _Refs(dumped[_BRANCHES][1], dumped[_TAGS][1]), {of for of, _ in dumped.values()}
    if others:
        raise HttpError(400, "in the body: the three parts are of dumps of different repositories")
    if of != id:
        return _Restore(repository, refs, await _source(call, repository, of))
    _refuse_moved(refs, now)
    missing = _Refs(*(_without(there, here) for there, here in zip(refs, now, strict=True)))
    for commit in {*missing.branches.values(), *missing.tags.values()}:
        try:
            await repository.ref(commit).resolve()
        except NotFound as error:
            raise NotFound(f"commit {commit[:12]} of the dump is not in the lake any more") from error
    return _Restore(repository, missing, "")


async def _source(call: RestCall, repository: Repository, id: str) -> str:
    """Returns the name of the repository that was dumped. Raises Conflict if its refs cannot be restored here."""
    if not await repository.is_bare():
        raise Conflict(
            f"the dump is not of repository {repository.name!r}, which has refs of its own",
            hint="restore it into that repository, or into one that was created as bare",
        )
    async for each in call.lake.repositories():
        if each.id == id:
            return each.name
    raise Conflict(
        "the repository that the dump is of is not in this lake, and only that has its commits",
        hint="`lochan repo restore REPO` brings a deleted one back; `lochan backup FOLDER` copies a whole lake",
    )


def _without(refs: dict[str, str], others: dict[str, str]) -> dict[str, str]:
    return {name: commit for name, commit in refs.items() if name not in others}


def _refuse_moved(refs: _Refs, now: _Refs) -> None:
    moved = [
        name
        for there, here in zip(refs, now, strict=True)
        for name, commit in there.items()
        if here.get(name, commit) != commit
    ]
    if moved:
        names = ", ".join(repr(each) for each in sorted(moved)[:_NAMED])
        more = f" and {len(moved) - _NAMED:,} others" if len(moved) > _NAMED else ""
        raise Conflict(
            f"{names}{more} stand elsewhere than in the dump; nothing was brought back",
            hint="move them there by a hard reset, or rename or delete them, and do it again",
        )


async def _bring_back(restore: _Restore) -> None:
    """Restores the refs, in a bare repository all at once, and otherwise one after the other. If that breaks off,
    repeating it continues."""
    repository, missing, source = restore
    if source:
        await repository.restore_history(source, missing.branches, missing.tags)
        return
    for name, commit in missing.branches.items():
        await repository.create_branch(name, commit)
    for name, commit in missing.tags.items():
        await repository.create_tag(name, commit)


# --- tasks -----------------------------------------------------------------------------------------------------------
def _begin(call: RestCall, what: str, work: Coroutine[Any, Any, Response]) -> TaskCreation:
    api, id = call.api, Ids().ksuid(call.api.clock.wall())
    about = f"{what} {call.name('repository')}"
    return TaskCreation(id=api.tasks.begin(id, about, call.user, api.clock, work, TaskProgress(api.clock)).id)


def _task(call: RestCall, what: str) -> TaskInfo:
    """Returns the task. Raises NotFound, also for a task of another user."""
    about = f"{what} {call.name('repository')}"
    for each in call.api.tasks.of(call.user):
        if each.id == call.query.task_id and each.operation == about:
            return each.info()
    raise NotFound(f"there is no such task: {call.query.task_id[:40]!r}")


def _error(task: TaskInfo) -> str | None:
    if task.state in ("running", "done"):
        return None
    if not isinstance(task.answer, msgspec.Raw):
        return f"the task was {task.state}"
    return str(msgspec.json.decode(task.answer)["message"])


def _updated_at(task: TaskInfo) -> datetime:
    return moment((task.ended or task.started) * 1_000_000).astimezone(UTC)

"""What one user may read by queries: the same as by requests for objects, commits and the rest.

Every check is made against a state of the lake that is new enough for the request (rule A1).

rows of a pool         fs:ReadObject of the ref, with no path: a pool is read as a whole
files                  fs:ReadObject of each; for a pattern also fs:ListObjects of what stands in front of its wildcards
metadata               the tables below
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lochan.access import resources
from lochan.access.open_access import OpenAccess
from lochan.access.requester import Requester
from lochan.access.rights import LIST, READ, Denied, Rights
from lochan.access.state import AccessState, principal
from lochan.errors import Invalid, NotFound
from lochan.journal.journal import Journal
from lochan.journal.state import StatePart
from lochan.pools.keys import Instant
from lochan.query import ast
from lochan.query.sources.meta.history import state_at
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import Repositories, Repository
from lochan.versioning.revisions.resolve import resolve
from lochan.versioning.uri import parse_ref

# These are checked on the repository.
OF_REPOSITORY: Mapping[str, str] = {
    "branches": "fs:ListBranches",
    "tags": "fs:ListTags",
    "settings": "fs:ReadRepository",
    "indexrules": "fs:ReadRepository",
    "branchlog": "fs:ReadEvents",
    "journal": "fs:ReadEvents",
    "plans": "fs:ReadEvents",
    "planned": "fs:CollectGarbage",  # names of files may have logical paths in them
    "unreferenced": "fs:CollectGarbage",
}
# These are checked on the ref.
OF_REF: Mapping[str, str] = {
    "log": "fs:ReadCommit",
    "rawlog": "fs:ReadCommit",
    "changes": "fs:ReadCommit",
    "lineage": "fs:ReadCommit",
    "sizes": "fs:ReadCommit",  # and "growth": of objects that may be read
    "growth": "fs:ReadCommit",
    "staged": "fs:ReadBranch",
}  # only with the paths that may be read
# These are checked on all objects at the ref. The least and greatest values of a pool's objects are values of rows.
OF_OBJECTS: Mapping[str, str] = {
    "objects": READ,
    "partitions": READ,
    "indexes": READ,
    "entries": LIST,  # only those are shown that the user may read
    "ranges": LIST,
}
# These are checked on each repository whose rows would be among those of the lake.
OF_LAKE: Mapping[str, str] = {
    "pools": "fs:ReadRepository",
    "repositories": "fs:ReadRepository",
    "branches": "fs:ListBranches",
    "tags": "fs:ListTags",
    "jobs": "fs:ReadEvents",
    "joblog": "fs:ReadEvents",
    "plans": "fs:ReadEvents",
    "lineage": "fs:ReadEvents",
    "usage": "fs:ReadEvents",  # only with the paths that may be read
    "audit": "fs:ReadEvents",  # and fs:ReadObject of everything in it, which its rows name
}
_KNOWN = "fs:ListRepositories"
_WILD = frozenset("*?[")


class SourceRead(NamedTuple):
    repository: str
    ref: str
    path: str  # of files, as it was requested; empty for a pool


class QueryRights:
    """What one request's queries may read. `arrived` is the boot-time clock, read after the request arrived."""

    def __init__(self, access: OpenAccess, requester: Requester, arrived: float) -> None:
        self._access = access
        self._requester = requester
        self._arrived = arrived
        self.read: list[SourceRead] = []  # what they were allowed to read the rows of

    async def known(self, all: Sequence[Repository]) -> Sequence[Repository]:
        rights = await self._rights()
        return [each for each in all if rights.allow(_KNOWN, resources.repository(each.name))]

    async def check_absent(self, name: str) -> None:
        if not (await self._rights()).allow(_KNOWN, resources.repository(name)):
            raise denied_error(name)

    async def check(self, repository: OpenRepository, source: ast.Source, ref: str) -> None:
        on = await ref_resource(repository, ref)
        rights = await self._rights()
        name = repository.repository.name
        if not all(rights.allow(*each) for each in _actions_for(name, on, source)):
            raise denied_error(name)
        if not source.meta:
            self.read.append(SourceRead(name, ref, source.path))

    async def check_paths(self, repository: OpenRepository, ref: str, paths: Sequence[str]) -> None:
        readable = await self.readable(repository, ref, pa.array(paths, pa.string()))
        first = pc.index(readable, False).as_py()
        if first >= 0:
            name = repository.repository.name
            raise Denied(f"you may not read {paths[first]} of `{name}`", hint=f"this needs {READ}")

    async def readable(self, repository: OpenRepository, ref: str, paths: pa.Array) -> pa.Array:
        front = resources.object_at(await ref_resource(repository, ref), "")
        rights = await self._rights()
        certain = rights.allow_below(READ, front)
        if certain is not None:
            return pa.repeat(pa.scalar(certain), len(paths))
        return rights.allow_each(READ, pc.binary_join_element_wise(front, paths, ""))

    async def reads_all(self, repository: OpenRepository, ref: str) -> bool:
        front = resources.object_at(await ref_resource(repository, ref), "")
        return (await self._rights()).allow_below(READ, front) is True

    async def shown(self, meta: str, all: Sequence[Repository]) -> Sequence[Repository]:
        """Returns the repositories of a past moment that the user may see, judged by the names that they have now, if
        they still exist."""
        rights = await self._rights()
        names = {each.id: each.name for each in self._access.journal.tail.state.of(Repositories).all()}
        on = [resources.repository(names.get(each.id, each.name)) for each in all]
        actions = (_KNOWN, OF_LAKE[meta])
        return [each for each, resource in zip(all, on, strict=True) if _all_of(rights, actions, resource)]

    async def shown_users(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        rights = await self._rights()
        actions = ("auth:ListUsers", "auth:ReadUser")
        return [row for row in rows if _all_of(rights, actions, resources.user(row["name"]))]

    async def audited(self, all: Sequence[Repository]) -> Sequence[Repository]:
        rights = await self._rights()
        events = [each for each in all if _all_of(rights, (_KNOWN, OF_LAKE["audit"]), resources.repository(each.name))]
        return [each for each in events if rights.allow_below(READ, f"{resources.repository(each.name)}/")]

    async def audits_lake(self) -> bool:
        rights = await self._rights()
        everywhere = all(rights.allow_below(action, "repository/") for action in (OF_LAKE["audit"], READ))
        return everywhere and rights.allow("lake:ReadEvents", resources.LAKE)

    async def _rights(self) -> Rights:
        """Returns the rights of the request. Use them before the next await."""
        return await self._access.rights(self._requester, self._arrived)


def denied_error(name: str) -> Denied:
    """Returns the error for a name that does not exist, and for one that the user may not read: it is the same for
    both."""
    hint = "`lochan auth can USER ACTION RESOURCE` says what a user may do"
    return Denied(f"there is no `{name}` that you may read", hint=hint)


async def ref_resource(repository: OpenRepository, ref: str) -> str:
    """Returns the resource of a ref. A ref that does not exist is judged as a branch, so that the answer does not
    reveal which branches exist."""
    name = repository.repository.name
    refs, _ = await repository.refs()
    try:
        resolved = resolve(refs, ref, now=repository.clock.wall())
        written = parse_ref(ref).name
    except NotFound:
        return resources.branch(name, parse_ref(ref).name)
    except Invalid:
        return resources.branch(name, ref.partition("@")[0].partition("/")[0] or ref)
    if resolved.branch is not None:
        return resources.branch(name, resolved.branch.name)
    if refs.find_tag(written) is not None and written == ref:
        return resources.tag(name, ref)
    return resources.commit(name, resolved.commit_id)


def _actions_for(name: str, ref: str, source: ast.Source) -> list[tuple[str, str]]:
    """Returns the actions that a source needs, each with its resource. `ref` is a resource too."""
    if source.meta in OF_REPOSITORY:
        return [(OF_REPOSITORY[source.meta], resources.repository(name))]
    if source.meta in OF_REF:
        return [(OF_REF[source.meta], ref)]
    if source.path:
        return _needed_for_files(ref, source.path)
    return [(OF_OBJECTS[source.meta] if source.meta else READ, resources.object_at(ref, ""))]


def _needed_for_files(ref: str, glob: str) -> list[tuple[str, str]]:
    """Returns the actions that a path or pattern needs. A single file is checked before the answer reveals whether it
    exists."""
    at = next((at for at, letter in enumerate(glob) if letter in _WILD), None)
    if at is None:
        return [(READ, resources.object_at(ref, glob))]
    return [(LIST, resources.object_at(ref, glob[:at]))]


def _all_of(rights: Rights, actions: Sequence[str], resource: str) -> bool:
    return all(rights.allow(action, resource) for action in actions)


async def user_rows(journal: Journal, parts: tuple[type[StatePart], ...], time: int | None) -> list[dict[str, Any]]:
    """Returns the lake's users as rows of a query, without secrets. `journal` is the lake's own; with `time`, the rows
    are as of that moment."""
    state = await journal.fresh() if time is None else await state_at(journal, parts, time)
    access = state.of(AccessState)
    return [
        {
            "name": user.name,
            "created": Instant(user.created),
            "created_by": user.created_by,
            "policies": list(access.attached_to(principal(user.name))),
            "keys": len(access.keys_of(user.name)),
        }
        for user in access.users()
    ]

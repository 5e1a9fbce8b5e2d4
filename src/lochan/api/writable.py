"""A ref that can be written to: a branch, or a workspace. What is put or deleted is staged until it is committed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lochan.api.bodies import Body, chunks_of
from lochan.api.ref import NamedRef, Ref
from lochan.api.results import FolderResult, ObjectInfo
from lochan.errors import Invalid, PreconditionFailed

if TYPE_CHECKING:
    from lochan.formats.entry import Entry
    from lochan.versioning.objects import Check


class WritableRef(Ref):
    """On a branch it is visible to everybody as soon as a verb returns; in a workspace, there alone."""

    async def put(
        self,
        path: str,
        body: Body,
        *,
        content_type: str = "",
        metadata: Mapping[str, str] | None = None,
        if_match: str = "",
        if_absent: bool = False,
        key: str = "",
    ) -> ObjectInfo:
        """Durable and visible when it returns. `if_match` is the ETag that the object there must have, `if_absent` says
        that there must be none. Raises PreconditionFailed, NotFound for the branch, Invalid, Refused."""
        from lochan.versioning.objects import put

        notes = dict(metadata or {})
        check = condition(path, if_match, if_absent)
        actor = self._session.acting(key, "put", self.repository_name, self.name, path, content_type, notes)
        async with self._session.opened(self.repository_name) as repository:
            chunks = chunks_of(body)
            return ObjectInfo.of(
                await put(
                    repository,
                    self.name,
                    path,
                    chunks,
                    actor=actor,
                    content_type=content_type,
                    metadata=notes,
                    check=check,
                )
            )

    async def delete(self, *paths: str, key: str = "") -> list[str]:
        """In one event. Returns those of the paths that were there; the rest is no error. Raises Refused."""
        from lochan.versioning.objects import delete

        actor = self._session.acting(key, "delete", self.repository_name, self.name, paths)
        async with self._session.opened(self.repository_name) as repository:
            return await delete(repository, self.name, paths, actor=actor)

    async def delete_if(self, path: str, if_match: str, *, key: str = "") -> None:
        """The object, if it has this ETag at that very moment. Raises PreconditionFailed, Invalid."""
        from lochan.versioning.objects import delete_if

        check = condition(path, if_match)
        if check is None:
            raise Invalid("if_match is empty", hint="give the object's ETag, as `stat` tells it")
        actor = self._session.acting(key, "delete if", self.repository_name, self.name, path, if_match)
        async with self._session.opened(self.repository_name) as repository:
            await delete_if(repository, self.name, path, check, actor=actor)

    async def delete_folder(self, prefix: str, *, key: str = "") -> FolderResult:
        """Everything whose path begins with the prefix, in one event; perhaps nothing."""
        from lochan.versioning.copy import delete_folder

        actor = self._session.acting(key, "delete folder", self.repository_name, self.name, prefix)
        async with self._session.opened(self.repository_name) as repository:
            done = await delete_folder(repository, self.name, prefix, actor=actor)
            return FolderResult(objects=done.objects, bytes=done.bytes)

    async def copy(
        self,
        source: NamedRef,
        path: str,
        to: str,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
        key: str = "",
    ) -> ObjectInfo:
        """An object of any ref, to here. Within a repository no byte is moved. Raises NotFound, Gone, and Invalid for a
        copy onto itself that changes nothing."""
        from lochan.versioning.copy import CopyOptions, copy
        from lochan.versioning.transfer import transfer

        told = CopyOptions(content_type, None, metadata)
        place = source.repository_name, source.name, path, self.repository_name, self.name, to
        actor = self._session.acting(key, "copy", *place, content_type, metadata)
        async with self._session.opened(self.repository_name) as target:
            if source.repository_name == self.repository_name:
                return ObjectInfo.of(await copy(target, source.name, path, self.name, to, actor=actor, told=told))
            async with self._session.opened(source.repository_name) as other:
                return ObjectInfo.of(
                    await transfer(other, source.name, path, target, self.name, to, actor=actor, told=told)
                )

    async def copy_folder(self, source: NamedRef, prefix: str, to: str, *, key: str = "") -> FolderResult:
        """Every object of `source` whose path begins with the prefix. Within a repository it is one event and no byte
        is moved; from another one they are staged in batches. Raises NotFound where there is none, Gone."""
        from lochan.versioning.copy import copy_folder
        from lochan.versioning.transfer import transfer_folder

        place = source.repository_name, source.name, prefix, self.repository_name, self.name, to
        actor = self._session.acting(key, "copy folder", *place)
        async with self._session.opened(self.repository_name) as target:
            if source.repository_name == self.repository_name:
                done = await copy_folder(target, source.name, prefix, self.name, to, actor=actor)
            else:
                async with self._session.opened(source.repository_name) as other:
                    done = await transfer_folder(other, source.name, prefix, target, self.name, to, actor=actor)
        return FolderResult(objects=done.objects, bytes=done.bytes)

    async def move(self, path: str, to: str, *, key: str = "") -> ObjectInfo:
        """One event: nobody sees both, or neither. Raises NotFound, Invalid."""
        from lochan.versioning.copy import move

        actor = self._session.acting(key, "move", self.repository_name, self.name, path, to)
        async with self._session.opened(self.repository_name) as repository:
            return ObjectInfo.of(await move(repository, self.name, path, to, actor=actor))

    async def move_folder(self, prefix: str, to: str, *, key: str = "") -> FolderResult:
        """One event. Raises NotFound where there is nothing, Invalid."""
        from lochan.versioning.copy import move_folder

        actor = self._session.acting(key, "move folder", self.repository_name, self.name, prefix, to)
        async with self._session.opened(self.repository_name) as repository:
            done = await move_folder(repository, self.name, prefix, to, actor=actor)
            return FolderResult(objects=done.objects, bytes=done.bytes)


def condition(path: str, if_match: str, if_absent: bool = False) -> Check | None:
    """What the object at a path must be. Raises Invalid where it would have to be two things."""
    if if_match and if_absent:
        raise Invalid("an object cannot have an ETag and be absent", hint="give if_match or if_absent")
    if not (if_match or if_absent):
        return None

    def check(there: Entry | None) -> None:
        if if_absent and there is not None:
            raise PreconditionFailed(f"there is an object {path!r} already")
        if if_match and there is None:
            raise PreconditionFailed(f"there is no object {path!r} any more")
        if if_match and there is not None and there.etag != if_match.strip('"'):
            raise PreconditionFailed(f"the object {path!r} was changed: its ETag is {there.etag}")

    return check

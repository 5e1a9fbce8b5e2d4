"""An upload in parts: they come in any order, from any process, and become one object when it is completed.

upload = await branch.create_upload("big.csv")
first = await upload.put_part(1, chunks)
made = await upload.complete([first])
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from lochan.api.bodies import Body, chunks_of, is_sized
from lochan.api.conditions import NO_CONDITIONS, Conditions
from lochan.api.object_results import ObjectInfo, PartInfo, UploadInfo
from lochan.api.ref import NamedRef, full_name
from lochan.api.session import Session
from lochan.errors import BadDigest, NotFound

if TYPE_CHECKING:
    from lochan.versioning.objects import SizedBody
    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.state.uploads import OpenUpload, UploadPart

_NONE: Mapping[str, str] = {}


class NamedPart(NamedTuple):
    """A part, as named by the client that completes an upload."""

    number: int
    etag: str
    checksums: Mapping[str, str] = _NONE


class Upload:
    """An upload of one object of a branch or a workspace. It becomes visible when it is completed, by one event."""

    def __init__(self, session: Session, repository: str, ref: str, path: str, id: str) -> None:
        self._session = session
        self.ref_name = ref
        self.repository_name = repository
        self.path = path
        self.id = id

    def __repr__(self) -> str:
        return f"<Upload {self.id} of {self.repository_name}@{self.ref_name}/{self.path}>"

    async def show(self) -> UploadInfo:
        """Returns the details of an open upload. Raises NotFound for one that was completed or aborted, and for one of
        another object."""
        async with self._open_upload(fresh=True) as (_, found):
            return UploadInfo.of(found)

    async def parts(self, *, after: int = 0) -> list[PartInfo]:
        """Lists the uploaded parts by number, after the part `after`. Raises NotFound."""
        async with self._open_upload(fresh=True) as (repository, _):
            return [PartInfo.of(each) for each in repository.folded().uploads.parts(self.id) if each.number > after]

    async def put_part(self, number: int, body: Body | SizedBody, *, key: str = "") -> PartInfo:
        """Uploads a part. It replaces a part that was put before under the same number, so that putting it twice does
        no harm. Raises NotFound, BadDigest, Invalid."""
        from lochan.versioning.uploads import put_part

        actor = self._session.acting(key, "put part", self.repository_name, self.id, number)
        async with self._open_upload() as (repository, found):
            own = {found.opened.checksum: None} if found.opened.checksum else {}
            if not is_sized(body):
                put = put_part(repository, self.id, number, chunks_of(body), actor=actor, checksums=own)
                return PartInfo.of(await put)
            put = put_part(
                repository,
                self.id,
                number,
                body.pieces(),
                actor=actor,
                expected_md5=body.expected_md5,
                checksums=body.checksums or own,
                verify=body.check_trailer,
                whole=body.hand_over(),
            )
            return PartInfo.of(await put)

    async def copy_part(
        self,
        number: int,
        source: NamedRef,
        path: str,
        start: int = 0,
        stop: int | None = None,
        *,
        conditions: Conditions = NO_CONDITIONS,
        key: str = "",
    ) -> PartInfo:
        """Copies a span of an object of any ref, which must meet the conditions. Within a repository no byte is copied,
        unless it is a plain file of a workspace. Raises NotFound, Invalid, PreconditionFailed."""
        from lochan.versioning.bodies.digests import digests
        from lochan.versioning.objects import stat
        from lochan.versioning.uploads import copy_part, put_part
        from lochan.versioning.workspaces.copy import is_loose

        place = number, source.repository_name, source.name, path, start, stop
        actor = self._session.acting(key, "copy part", self.repository_name, self.id, *place)
        async with self._open_upload() as (repository, found), self._session.opened(source.repository_name) as other:
            sums = (found.opened.checksum,) if found.opened.checksum else ()
            _, read_at = await other.refs()
            entry = await stat(other, full_name(source, other), path)
            conditions.check(path, entry, of_source=True)
            end = entry.size if stop is None else stop
            read = other.reader.read(entry, start, end)
            if other is not repository or is_loose(entry):
                moved = put_part(repository, self.id, number, read, actor=actor, checksums=dict.fromkeys(sums))
                return PartInfo.of(await moved)
            etag, summed = await digests(read, sums)
            span = entry, start, end, etag
            put = copy_part(repository, self.id, number, *span, read_at=read_at, actor=actor, checksums=summed)
            return PartInfo.of(await put)

    async def complete(
        self,
        parts: Sequence[NamedPart | PartInfo],
        *,
        checksum: str = "",
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
        conditions: Conditions = NO_CONDITIONS,
        key: str = "",
    ) -> ObjectInfo:
        """Makes the parts the object, visible from now on, with the type and the metadata that the upload was created
        with, unless others are given. `checksum` is the one that the whole must have, by the upload's own algorithm.

        The upload's id is its idempotency key: a repeated completion, with or without another key, returns the first
        result. Raises NotFound, BadPart, BadPartOrder, PartTooSmall, BadDigest, PreconditionFailed."""
        from lochan.versioning.objects import find
        from lochan.versioning.uploads import PartRequest, complete

        actor = self._session.acting(key, "complete upload", self.repository_name, self.id)
        chosen = [PartRequest(each.number, each.etag, each.checksums) for each in parts]
        check = conditions.checking(self.path)
        async with self._session.opened(self.repository_name) as repository:
            await repository.refs()
            found = repository.folded().uploads.find(self.id)
            if found is not None and not self._is_of(found, repository):
                raise _no_upload(self.id)
            ref = self.ref_name or repository.repository.default_branch
            if check is not None and "+" in ref:  # a workspace has one writer, so a look at the object is enough
                check(await find(repository, ref, self.path))
            sums = {} if found is None else self._checksums(repository, found, parts, checksum)
            made = await complete(
                repository,
                self.id,
                chosen,
                actor=actor,
                check=check,
                checksums=sums,
                content_type=content_type,
                metadata=metadata,
            )
            if found is None:  # it was completed before: the object itself tells, as long as it exists
                there = await find(repository, ref, self.path)
                return ObjectInfo.of(made if there is None or there.etag != made.etag else there)
            return ObjectInfo.of(made)

    async def abort(self, *, key: str = "") -> None:
        """Aborts the upload and drops all its parts. Raises NotFound."""
        from lochan.versioning.uploads import abort

        actor = self._session.acting(key, "abort upload", self.repository_name, self.id)
        async with self._session.opened(self.repository_name) as repository:
            found = await self._find(repository)
            if found is not None and not self._is_of(found, repository):
                raise _no_upload(self.id)
            await abort(repository, self.id, actor=actor)

    @asynccontextmanager
    async def _open_upload(self, *, fresh: bool = False) -> AsyncIterator[tuple[OpenRepository, OpenUpload]]:
        """Opens the repository, and finds the upload. Raises NotFound for one that is not open, of another object, or
        of a deleted branch."""
        async with self._session.opened(self.repository_name) as repository:
            if fresh:
                await repository.refs()
            found = await self._find(repository)
            if found is None or not self._is_of(found, repository):
                raise _no_upload(self.id)
            if repository.folded().find_branch(found.opened.branch) is None:
                raise _no_upload(self.id)
            yield repository, found

    async def _find(self, repository: OpenRepository) -> OpenUpload | None:
        """Finds the upload. If this process has it in memory, the journal is not read again, because an append to the
        journal decides anyway."""
        return repository.folded().uploads.find(self.id) or (await repository.refs())[0].uploads.find(self.id)

    def _is_of(self, found: OpenUpload, repository: OpenRepository) -> bool:
        branch, _, workspace = (self.ref_name or repository.repository.default_branch).partition("+")
        opened = found.opened
        return (opened.branch, opened.workspace, opened.path) == (branch, workspace, self.path)

    def _checksums(
        self, repository: OpenRepository, found: OpenUpload, parts: Sequence[NamedPart | PartInfo], declared: str
    ) -> dict[str, str]:
        """Returns the checksums of the whole object, computed from those of its parts, or none if a part has none.
        Raises BadDigest if they differ from the declared one."""
        from lochan.versioning.bodies.checksums import of_parts

        name, uploads = found.opened.checksum, repository.folded().uploads
        put: list[UploadPart | None] = [uploads.part(self.id, part.number) for part in parts]
        part_sums = [(part.checksums[name], part.size) for part in put if part is not None and name in part.checksums]
        if not name or not part_sums or len(part_sums) != len(put):
            return {}
        whole = of_parts(name, found.opened.checksum_type, part_sums)
        if declared and declared not in (whole, whole.partition("-")[0]):
            raise BadDigest(f"{self.path!r}: the {name} of the parts is {whole}, but {declared} was declared")
        return {name: whole}


def _no_upload(id: str) -> NotFound:
    return NotFound(f"no upload {id!r} is open", hint="it was completed or aborted, or never begun")

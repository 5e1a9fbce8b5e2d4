"""A ref that can be written to: a branch, or a workspace. Puts and deletes are staged until they are committed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from msgspec.structs import replace

from lochan.api.bodies import Body, chunks_of, is_sized
from lochan.api.conditions import ANYTHING, NO_CONDITIONS, Conditions
from lochan.api.local_files import Report, ignore_report
from lochan.api.object_results import ChangeCount, FolderResult, ObjectInfo, StagedChange, UploadResult
from lochan.api.options import DEFAULT_COPY, DEFAULT_PUT, CopyOptions, PutOptions
from lochan.api.parts import Upload
from lochan.api.ref import NamedRef, OpenedRef, Ref, full_name
from lochan.api.upload import FileUpload, UploadFile, upload_files
from lochan.errors import Invalid
from lochan.formats.usage import COPIED, COPIED_FOLDER

if TYPE_CHECKING:
    from pyarrow import Table

    from lochan.formats.entry import Entry
    from lochan.versioning.copy import CopyChanges
    from lochan.versioning.objects import SizedBody


Progress = Callable[[int], None]  # called with the number of further bytes, or files


def _no_progress(_: int) -> None:
    pass


class WritableRef(Ref):
    """A ref that can be written to. Changes on a branch are visible to everybody as soon as a verb returns; those in a
    workspace are visible only there."""

    def _staging(self) -> OpenedRef:
        """Opens the ref like `_opened`, for verbs that stage. Raises Refused for a pool."""
        return OpenedRef(self._session.opened(self.repository_name), self.name, files=True)

    async def status(self, prefix: str = "") -> AsyncIterator[StagedChange]:
        """Yields what is staged and not committed, in path order."""
        from lochan.versioning.revisions.diff import staged_changes

        async with self._opened() as (repository, name):
            for change in await staged_changes(repository, name, prefix=prefix):
                yield StagedChange.of(change)

    async def status_table(self, prefix: str = "") -> Table:
        """Returns the same as an Arrow table, which may have millions of rows: path, kind and size."""
        from lochan.versioning.revisions.diff import staged_columns

        async with self._opened() as (repository, name):
            return await staged_columns(repository, name, prefix=prefix)

    async def status_count(self, prefix: str = "") -> ChangeCount:
        """Counts what is staged."""
        from lochan.versioning.revisions.diff import count_staged

        async with self._opened() as (repository, name):
            return ChangeCount.of(await count_staged(repository, name, prefix=prefix))

    async def status_folders(self, prefix: str = "", *, delimiter: str = "/", depth: int = 1) -> dict[str, ChangeCount]:
        """Counts what is staged in each folder below the prefix, `depth` folders deep, by its path."""
        from lochan.versioning.revisions.diff import RollUp, roll_up_staged

        async with self._opened() as (repository, name):
            found = await roll_up_staged(repository, name, RollUp(delimiter, depth), prefix=prefix)
            return {path: ChangeCount.of(counts) for path, counts in found.items()}

    async def put(
        self,
        path: str,
        body: Body | SizedBody,
        options: PutOptions = DEFAULT_PUT,
        *,
        content_type: str = "",
        metadata: Mapping[str, str] | None = None,
        if_match: str = "",
        if_absent: bool = False,
        key: str = "",
    ) -> ObjectInfo:
        """Puts an object, which is durable and visible when this returns. `content_type` and `metadata` may stand alone
        or in the options. `if_match` is the ETag that the present object must have, and `if_absent` means that there
        must be none. The key of a `SizedBody`, which has its own checksums, covers its very bytes. Raises
        PreconditionFailed, BadDigest, NotFound for the branch, Invalid, Refused."""
        from lochan.versioning.objects import put as put_stream
        from lochan.versioning.objects import put_sized

        kind, notes = content_type or options.content_type, dict(options.metadata if metadata is None else metadata)
        check = _conditions(options.conditions, if_match, if_absent).checking(path)
        place = "put", self.repository_name, self.name, path, kind, notes
        async with self._staging() as (repository, name):
            if is_sized(body):
                put = put_sized(
                    repository,
                    name,
                    path,
                    body,
                    actor=lambda entry: self._session.acting(key, *place, entry.etag),
                    content_type=kind,
                    headers=options.headers,
                    metadata=notes,
                    check=check,
                )
            else:
                put = put_stream(
                    repository,
                    name,
                    path,
                    chunks_of(body),
                    actor=self._session.acting(key, *place),
                    content_type=kind,
                    headers=options.headers,
                    metadata=notes,
                    expected_md5=options.md5 or None,
                    checksums=options.checksums,
                    check=check,
                )
            return ObjectInfo.of(await put)

    async def upload(
        self,
        source: str | PathLike[str] | BinaryIO | Sequence[UploadFile],
        to: str = "",
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
        follow_links: bool = False,
        resume: bool = False,
        key: str = "",
        progress: Progress | None = None,
        report: Report = ignore_report,
    ) -> UploadResult:
        """Uploads a file, all files of a folder, an open file, or what `upload_files` found. A file keeps its name if
        `to` is empty or ends with a slash; the files of a folder go into the folder `to`. The type is guessed from the
        name unless given. Links in a folder that lead out of it are left out unless `follow_links` is set; `report` is
        called with what is left out, and `progress` with bytes. Many files are staged in batches. `resume` continues an
        upload that was interrupted: a file is skipped if the object there has its size, MD5, type and metadata. Raises
        NotFound, Invalid, Refused."""
        files = (
            source
            if isinstance(source, Sequence) and not isinstance(source, str)
            else found_files(source, to, self._session.lake.folder, follow_links, report)
        )
        about = [(each.path, each.size) for each in files], content_type, dict(metadata or {})
        actor = self._session.acting(key, "upload", self.repository_name, self.name, *about)
        async with self._staging() as (repository, name):
            upload = FileUpload(repository, name, actor, dict(metadata or {}), content_type, progress)
            return await (upload.rest(files) if resume else upload.all(files))

    async def upload_archive(
        self,
        body: Body,
        to: str = "",
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
        key: str = "",
    ) -> UploadResult:
        """Uploads all files of an archive (tar), whose names become paths in the folder `to`. They are staged in
        batches, so that many small objects cost few requests. Types are guessed from names unless given. Raises
        Invalid, Refused."""
        from lochan.api.spooled_files import spool_body

        prefix = to if not to or to.endswith("/") else f"{to}/"
        async with spool_body(body, "", archive=True) as found:
            files = [UploadFile(each.path, prefix + each.name, each.size) for each in found.files]
            for each in files:
                check_path(each.path)
            about = found.sha256, to, content_type, dict(metadata or {})
            actor = self._session.acting(key, "upload archive", self.repository_name, self.name, *about)
            async with self._staging() as (repository, name):
                return await FileUpload(repository, name, actor, dict(metadata or {}), content_type, None).all(files)

    async def delete(self, *paths: str, key: str = "") -> list[str]:
        """Deletes objects in one event. Returns the paths that existed; others are no error. Raises Refused."""
        from lochan.versioning.objects import delete

        actor = self._session.acting(key, "delete", self.repository_name, self.name, paths)
        async with self._staging() as (repository, name):
            return await delete(repository, name, paths, actor=actor)

    async def delete_if(self, path: str, if_match: str | Conditions, *, key: str = "") -> None:
        """Deletes the object if it has this ETag, or meets the conditions, at that very moment. Raises
        PreconditionFailed, Invalid."""
        from lochan.versioning.objects import delete_if

        check = (if_match if isinstance(if_match, Conditions) else _conditions(NO_CONDITIONS, if_match)).checking(path)
        if check is None:
            raise Invalid("if_match is empty", hint="give the object's ETag, as `stat` tells it")
        actor = self._session.acting(key, "delete if", self.repository_name, self.name, path, if_match)
        async with self._staging() as (repository, name):
            await delete_if(repository, name, path, check, actor=actor)

    async def create_upload(
        self,
        path: str,
        options: PutOptions = DEFAULT_PUT,
        *,
        checksum: str = "",
        checksum_type: str = "",
        key: str = "",
    ) -> Upload:
        """Creates an upload in parts. `checksum` is the algorithm of the checksums of its parts; `checksum_type` is
        whether they make one of the whole object (FULL_OBJECT) or of the parts' digests (COMPOSITE). Raises NotFound
        for the branch, Invalid, Refused."""
        from lochan.versioning.uploads import open_upload

        about = path, options.content_type, options.headers, options.metadata, checksum, checksum_type
        actor = self._session.acting(key, "create upload", self.repository_name, self.name, *about)
        async with self._staging() as (repository, name):
            branch, _, workspace = name.partition("+")
            id = await open_upload(
                repository,
                branch,
                path,
                actor=actor,
                content_type=options.content_type,
                headers=options.headers,
                metadata=options.metadata,
                checksum=checksum,
                checksum_type=checksum_type,
                workspace=workspace,
            )
        return self.open_upload(path, id)

    def open_upload(self, path: str, id: str) -> Upload:
        """Returns an upload that was created before."""
        return Upload(self._session, self.repository_name, self.name, path, id)

    async def delete_folder(self, prefix: str, *, key: str = "") -> FolderResult:
        """Deletes everything whose path begins with the prefix, in one event. There may be nothing."""
        from lochan.versioning.copy import delete_folder

        actor = self._session.acting(key, "delete folder", self.repository_name, self.name, prefix)
        async with self._staging() as (repository, name):
            done = await delete_folder(repository, name, prefix, actor=actor)
            return FolderResult(objects=done.objects, bytes=done.bytes)

    async def copy(
        self,
        source: NamedRef,
        path: str,
        to: str,
        options: CopyOptions = DEFAULT_COPY,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
        key: str = "",
        progress: Progress | None = None,
    ) -> ObjectInfo:
        """Copies an object of any ref to this one. Within a repository no byte is copied. `content_type` and `metadata`
        may stand alone or in the options. `progress` is called with the bytes that came from another repository. Raises
        NotFound, Gone, PreconditionFailed, and Invalid for a copy onto itself that changes nothing."""
        from lochan.versioning.copy import copy
        from lochan.versioning.transfer import transfer

        changes = _copy_changes(options, content_type, metadata)
        check, check_source = options.conditions.checking(to), options.source_conditions.checking(path, of_source=True)
        place = source.repository_name, source.name, path, self.repository_name, self.name, to
        actor = self._session.acting(key, "copy", *place, changes.content_type, changes.metadata)
        async with self._staging() as (target, name), self._session.opened(source.repository_name) as other:
            theirs = full_name(source, other)
            await self._session.note_read(COPIED, source.repository_name, theirs, path)
            if other is target:
                made = copy(
                    target, theirs, path, name, to, actor=actor, options=changes, check=check, check_source=check_source
                )
            else:
                made = transfer(
                    other,
                    theirs,
                    path,
                    target,
                    name,
                    to,
                    actor=actor,
                    options=changes,
                    check=check,
                    check_source=check_source,
                    advance=progress or _no_progress,
                )
            return ObjectInfo.of(await made)

    async def copy_folder(
        self, source: NamedRef, prefix: str, to: str, *, key: str = "", progress: Progress | None = None
    ) -> FolderResult:
        """Copies every object of `source` whose path begins with the prefix. Within a repository it is one event, no
        byte is copied, and `progress` counts files; from another repository, objects are staged in batches, and it
        counts bytes. Raises NotFound if there are none, Gone."""
        from lochan.versioning.copy import copy_folder
        from lochan.versioning.transfer import transfer_folder

        place = source.repository_name, source.name, prefix, self.repository_name, self.name, to
        actor = self._session.acting(key, "copy folder", *place)
        advance = progress or _no_progress
        async with self._staging() as (target, name):
            await self._session.note_read(COPIED_FOLDER, source.repository_name, source.name, prefix)
            if source.repository_name == self.repository_name:
                theirs = full_name(source, target)
                done = await copy_folder(target, theirs, prefix, name, to, actor=actor, seen=advance)
            else:
                async with self._session.opened(source.repository_name) as other:
                    at = full_name(source, other), prefix, target, name, to
                    done = await transfer_folder(other, *at, actor=actor, advance=advance)
        return FolderResult(objects=done.objects, bytes=done.bytes)

    async def move(
        self,
        path: str,
        to: str,
        *,
        conditions: Conditions = NO_CONDITIONS,
        source_conditions: Conditions = NO_CONDITIONS,
        key: str = "",
    ) -> ObjectInfo:
        """Moves an object in one event: nobody sees both, or neither. `conditions` are on the object at `to`. Raises
        NotFound, Invalid, PreconditionFailed."""
        from lochan.versioning.copy import move

        def check(source: Entry | None, target: Entry | None) -> None:
            source_conditions.check(path, source, of_source=True)
            conditions.check(to, target)

        is_plain = conditions == source_conditions == NO_CONDITIONS
        actor = self._session.acting(key, "move", self.repository_name, self.name, path, to)
        async with self._staging() as (repository, name):
            made = await move(repository, name, path, to, actor=actor, check=None if is_plain else check)
            return ObjectInfo.of(made)

    async def move_folder(self, prefix: str, to: str, *, key: str = "") -> FolderResult:
        """Moves a folder in one event. Raises NotFound if it is empty, Invalid."""
        from lochan.versioning.copy import move_folder

        actor = self._session.acting(key, "move folder", self.repository_name, self.name, prefix, to)
        async with self._staging() as (repository, name):
            done = await move_folder(repository, name, prefix, to, actor=actor)
            return FolderResult(objects=done.objects, bytes=done.bytes)


def found_files(
    source: str | PathLike[str] | BinaryIO, to: str, lake: str | None, follow_links: bool, report: Report
) -> list[UploadFile]:
    """Returns the files for `upload`. Raises NotFound, Invalid."""
    found = Path(source) if isinstance(source, str | PathLike) else source
    return upload_files(
        found,
        to,
        recursive=isinstance(found, Path) and found.is_dir(),
        lake=None if lake is None else Path(lake),
        follow_links=follow_links,
        report=report,
    )


def check_path(path: str) -> None:
    """Raises Invalid for a text that cannot be the path of an object."""
    from lochan.versioning.names import check_key

    check_key(path)


def _conditions(given: Conditions, if_match: str, if_absent: bool = False) -> Conditions:
    """Returns the conditions. Raises Invalid if they contradict each other."""
    if if_match and if_absent:
        raise Invalid("an object cannot have an ETag and be absent", hint="give if_match or if_absent")
    if if_match:
        given = replace(given, match=(if_match.strip('"'),))
    return replace(given, none_match=(ANYTHING,)) if if_absent else given


def _copy_changes(options: CopyOptions, content_type: str | None, metadata: Mapping[str, str] | None) -> CopyChanges:
    from lochan.versioning.copy import CopyChanges

    kind = options.content_type if content_type is None else content_type
    notes = options.metadata if metadata is None else metadata
    return CopyChanges(kind, options.headers, notes, options.checksum)

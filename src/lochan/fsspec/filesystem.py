"""The file system: `repository/ref/path`. A ref is a branch, a tag, a commit, `main~2` or `branch+workspace`.

Writes to a branch are staged there until they are committed (`fs.commit`, or `with fs.transaction`). Copies and moves
within a repository move no bytes. Nothing is cached: other users' writes are seen at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsspec.callbacks import DEFAULT_CALLBACK, Callback
from fsspec.spec import AbstractFileSystem
from fsspec.utils import isfilelike

from lochan.api.options import PutOptions
from lochan.errors import Invalid, NotFound
from lochan.fsspec.file import ObjectFileWriter, ObjectReader
from lochan.fsspec.location import Location, object_at, parse_location
from lochan.fsspec.os_errors import os_errors
from lochan.fsspec.transaction import BranchTransaction

if TYPE_CHECKING:
    from lochan.api.blocking import Branch, Lake, Ref, Workspace
    from lochan.api.object_results import ObjectInfo
    from lochan.api.results import Commit

Entry = dict[str, Any]
# Options that fsspec passes to every file system.
_OPTIONS_OF_FSSPEC = frozenset(
    {
        "asynchronous",
        "batch_size",
        "listings_expiry_time",
        "loop",
        "max_paths",
        "skip_instance_cache",
        "use_listings_cache",
    }
)


class LochanFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    protocol = ("lochan", "lakefs")
    root_marker = ""
    transaction_type = BranchTransaction

    def __init__(
        self,
        lake: str | PathLike[str] | None = None,
        *,
        options: Mapping[str, str] | None = None,
        access_key: str = "",
        secret_key: str = "",
        user: str | None = None,
        **rest: Any,
    ) -> None:
        """`lake` is a folder or a URL; the default is the lake that the command line finds. `options` are the store's
        (keys, endpoint, region); `access_key` and `secret_key` are those of a server, whose lake is at `http://` or
        `https://`. `user` is the author of commits. Raises TypeError for an unknown option."""
        unknown = set(rest) - _OPTIONS_OF_FSSPEC
        if unknown:
            options_text = "lake, options, access_key, secret_key, user"
            raise TypeError(f"lochan:// has no storage option {', '.join(sorted(unknown))}: it has {options_text}")
        super().__init__(**rest)
        self._place = None if lake is None else fspath(lake)
        self._options = options
        self._keys = access_key, secret_key
        self._user = user

    @property
    def lake(self) -> Lake:
        """The connection, which all file systems of this process on the same lake share."""
        from lochan.api.handles import shared_lake
        from lochan.connection import python_lake

        with os_errors(self._place or ""):
            return shared_lake(python_lake(self._place, self._options, *self._keys, user=self._user))

    @property
    def fsid(self) -> str:
        return f"lochan_{self.lake.id}"

    def _ref_to_read(self, at: Location) -> Ref | Workspace:
        """Returns the ref to read from. In a transaction, that is the workspace it has written to."""
        written = self.transaction.find(at) if self._intrans else None
        return written or self.lake.repository(at.repository).ref(at.ref)

    def _ref_to_write(self, at: Location) -> Branch | Workspace:
        repository = self.lake.repository(at.repository)
        if "+" in at.ref:
            return repository.workspace(at.ref)
        return self.transaction.workspace_for(at) if self._intrans else repository.branch(at.ref)

    # --- looking -----------------------------------------------------------------------------------------------------
    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """Lists the repositories of the lake, the branches and tags of a repository, or the objects of a folder."""
        at = parse_location(self._strip_protocol(path))
        with os_errors(at.name):
            found = list(self._list_entries(at))
        return found if detail else [each["name"] for each in found]

    def _list_entries(self, at: Location) -> Iterator[Entry]:
        if not at.repository:
            yield from (_folder(each.name) for each in self.lake.repositories() if each.kind == "files")
        elif not at.ref:
            repository = self.lake.repository(at.repository)
            names = [each.name for each in repository.branches()] + [each.name for each in repository.tags()]
            yield from (_folder(f"{at.repository}/{name}") for name in sorted(set(names)))
        else:
            yield from self._list_folder(at)

    def _list_folder(self, at: Location) -> Iterator[Entry]:
        ref, is_empty = self._ref_to_read(at), True
        for page in ref.list_pages(at.folder, delimiter="/"):
            folders = [_folder(at.at(each.rstrip("/"))) for each in page.prefixes]
            files = [_file(at, each) for each in page.objects if each.path != at.folder]
            is_empty = is_empty and not (folders or files)
            yield from sorted([*folders, *files], key=lambda each: str(each["name"]))
        if is_empty and at.path:
            yield _file(at, ref.stat(at.path))

    def info(self, path: str, **_: Any) -> Entry:
        at = parse_location(self._strip_protocol(path))
        with os_errors(at.name):
            if at.path:
                return self._find_entry(at)
            if at.ref:
                self._ref_to_read(at).list_page(limit=1)
            elif at.repository:
                self.lake.repository(at.repository).show()
            return _folder(at.name)

    def _find_entry(self, at: Location) -> Entry:
        ref = self._ref_to_read(at)
        try:
            return _file(at, ref.stat(at.path))
        except NotFound:
            page = ref.list_page(at.folder, limit=1)
            if not (page.objects or page.prefixes):
                raise
            return _folder(at.name)

    def exists(self, path: str, **_: Any) -> bool:
        """Returns whether the path exists. Raises an error if that cannot be determined, for example if the lake does
        not answer."""
        try:
            self.info(path)
        except FileNotFoundError:
            return False
        return True

    def find(
        self, path: str, maxdepth: int | None = None, withdirs: bool = False, detail: bool = False, **_: Any
    ) -> Any:
        """Lists everything below the path, however deep, with one listing."""
        at = parse_location(self._strip_protocol(path))
        if not at.ref or maxdepth is not None:
            return super().find(path, maxdepth=maxdepth, withdirs=withdirs, detail=detail)
        found: dict[str, Entry] = {}
        with os_errors(at.name):
            try:
                found = {entry["name"]: entry for entry in self._entries_below(at, withdirs)}
            except NotFound:
                if self.exists(at.name):
                    raise
            if not found and at.path and self.isfile(at.name):
                found = {at.name: self.info(at.name)}
        return dict(sorted(found.items())) if detail else sorted(found)

    def _entries_below(self, at: Location, withdirs: bool) -> Iterator[Entry]:
        folders: set[str] = set()
        for each in self._ref_to_read(at).list(at.folder):
            if withdirs:
                above = each.path.split("/")[:-1]
                folders.update("/".join(above[:count]) for count in range(1, len(above) + 1))
            yield _file(at, each)
        if withdirs and folders:
            yield from (_folder(at.at(each)) for each in folders if each.startswith(at.folder) or each == at.path)
            if not at.path:
                yield _folder(at.name)

    def created(self, path: str) -> datetime:
        return self.modified(path)

    def modified(self, path: str) -> datetime:
        """Returns the time of an object. Raises IsADirectoryError for a folder, which has no time."""
        at = object_at(self._strip_protocol(path))
        with os_errors(at.name):
            return self._ref_to_read(at).stat(at.path).mtime

    def checksum(self, path: str) -> str:
        """Returns the object's ETag."""
        at = object_at(self._strip_protocol(path))
        with os_errors(at.name):
            return self._ref_to_read(at).stat(at.path).etag

    ukey = checksum

    def sign(self, path: str, expiration: int = 900, **_: Any) -> str:
        """Returns a URL from which anybody may read, for `expiration` seconds. Raises NotImplementedError if that is
        impossible: on a local disk without a server, and for small objects that share a file."""
        at = object_at(self._strip_protocol(path))
        with os_errors(at.name):
            found = self._ref_to_read(at).presign(at.path, expires_s=expiration)
        if found is None:
            raise NotImplementedError(f"no URL can be signed for {at.name}")
        return found.url

    # --- reading and writing -----------------------------------------------------------------------------------------
    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: dict[str, Any] | None = None,
        content_type: str = "",
        metadata: Mapping[str, str] | None = None,
        **rest: Any,
    ) -> ObjectReader | ObjectFileWriter:
        at = object_at(path)
        options = {"block_size": block_size, "cache_options": cache_options, "autocommit": autocommit, **rest}
        with os_errors(at.name):
            if mode == "rb":
                return ObjectReader(self, at.name, self._ref_to_read(at).open(at.path), **options)
            put = PutOptions(content_type=content_type, metadata=dict(metadata or {}))
            return ObjectFileWriter(self, at.name, self._ref_to_write(at), at.path, mode, put, **options)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        at = object_at(self._strip_protocol(path))
        with os_errors(at.name):
            opened = self._ref_to_read(at).open(at.path)
            begin, stop, _step = slice(start, end).indices(opened.size)
            return bytes(opened.read(begin, stop)) if begin < stop else b""

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        at = object_at(self._strip_protocol(path))
        with os_errors(at.name):
            self._ref_to_write(at).put(at.path, value, if_absent=mode == "create")

    def touch(self, path: str, truncate: bool = True, **_: Any) -> None:
        """Makes an empty object. Raises NotImplementedError if an existing object would have to keep its bytes: its
        time is that of its last write."""
        if truncate or not self.exists(path):
            self.pipe_file(path, b"")
        else:
            raise NotImplementedError("an object's time is that of its last write")

    def get_file(
        self, rpath: str, lpath: Any = None, callback: Callback = DEFAULT_CALLBACK, outfile: Any = None, **_: Any
    ) -> None:
        at = parse_location(self._strip_protocol(rpath))
        into = outfile if outfile is not None else lpath if isfilelike(lpath) else None
        if into is None and self.isdir(at.name):
            Path(fspath(lpath)).mkdir(parents=True, exist_ok=True)
            return
        with os_errors(at.name):
            opened = self._ref_to_read(at).open(at.path)
            callback.set_size(opened.size)
            if into is None:
                Path(fspath(lpath)).parent.mkdir(parents=True, exist_ok=True)
                with Path(fspath(lpath)).open("wb") as file:
                    _copy_pieces(opened.stream(), file, callback)
            else:
                _copy_pieces(opened.stream(), into, callback)

    def put_file(
        self, lpath: Any, rpath: str, callback: Callback = DEFAULT_CALLBACK, mode: str = "overwrite", **_: Any
    ) -> None:
        local = Path(fspath(lpath))
        if local.is_dir():
            return  # there are no empty folders
        at = object_at(self._strip_protocol(rpath))
        callback.set_size(local.stat().st_size)
        with os_errors(at.name):
            self._ref_to_write(at).put(at.path, local, if_absent=mode == "create")
        callback.absolute_update(local.stat().st_size)

    # --- changing ----------------------------------------------------------------------------------------------------
    def rm_file(self, path: str) -> None:
        """Deletes an object. Raises FileNotFoundError."""
        at = object_at(self._strip_protocol(path))
        with os_errors(at.name):
            if not self._ref_to_write(at).delete(at.path):
                raise NotFound(f"no object {at.path!r} at {at.ref}")

    _rm = rm_file

    def rm(self, path: str | Sequence[str], recursive: bool = False, maxdepth: int | None = None) -> None:
        """Deletes objects. A folder is deleted by one change, however large it is. Raises IsADirectoryError for a
        folder without `recursive`, and for a whole ref, because a branch is deleted by its own verb."""
        for each in self.expand_path(path, maxdepth=maxdepth):
            at = object_at(each)
            if not self.isdir(each):
                self.rm_file(each)
            elif recursive:
                with os_errors(at.name):
                    self._ref_to_write(at).delete_folder(at.folder)
            else:
                raise IsADirectoryError(f"{each} is a folder: give recursive=True")

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        """Copies an object. Within a repository no bytes are moved, also from another branch or a tag."""
        source, target = parse_location(self._strip_protocol(path1)), object_at(self._strip_protocol(path2))
        if not source.path or self.isdir(source.name):
            return  # fsspec names folders too, but there are no empty ones
        with os_errors(source.name):
            self._ref_to_write(target).copy(self._ref_to_read(source), source.path, target.path)

    def mv(self, path1: Any, path2: Any, recursive: bool = False, maxdepth: int | None = None, **options: Any) -> None:
        """Moves objects. Within a ref this is one change: no reader sees both, or neither."""
        if isinstance(path1, str) and isinstance(path2, str) and maxdepth is None:
            source, target = parse_location(self._strip_protocol(path1)), parse_location(self._strip_protocol(path2))
            if source == target:
                return
            if source[:2] == target[:2] and source.path and target.path and not self.isdir(target.name):
                self._move(source, target, into_folder=path2.endswith("/"), recursive=recursive)
                return
        super().mv(path1, path2, recursive=recursive, maxdepth=maxdepth, **options)

    def _move(self, source: Location, target: Location, *, into_folder: bool, recursive: bool) -> None:
        with os_errors(source.name):
            if not self.isdir(source.name):
                to = f"{target.path}/{source.path.rpartition('/')[2]}" if into_folder else target.path
                self._ref_to_write(source).move(source.path, to)
            elif recursive:
                self._ref_to_write(source).move_folder(source.folder, target.folder)
            else:
                raise IsADirectoryError(f"{source.name} is a folder: give recursive=True")

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        """Does nothing: a folder exists as soon as something is in it."""

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Does nothing, like `mkdir`."""

    # --- commits -----------------------------------------------------------------------------------------------------
    def commit(self, path: str, message: str, metadata: Mapping[str, str] | None = None) -> Commit:
        """Commits the staged changes of the branch `repository/branch`. Raises OSError if there are none."""
        at = parse_location(self._strip_protocol(path))
        with os_errors(at.name):
            if not at.ref or at.path:
                raise Invalid(f"{path!r} names no branch", hint="give repository/branch")
            return self._branch(at).commit(message, _commit_options(metadata))

    def _branch(self, at: Location) -> Branch:
        return self.lake.repository(at.repository).branch(at.ref)


def _commit_options(metadata: Mapping[str, str] | None) -> Any:
    from lochan.api.options import CommitOptions

    return CommitOptions(metadata=dict(metadata or {}))


def _folder(name: str) -> Entry:
    return {"name": name, "size": 0, "type": "directory"}


def _file(at: Location, found: ObjectInfo) -> Entry:
    return {
        "name": at.at(found.path),
        "size": found.size,
        "type": "file",
        "mtime": found.mtime,
        "etag": found.etag,
        "checksum": found.checksum,
        "content_type": found.content_type,
        "metadata": dict(found.metadata),
    }


def _copy_pieces(pieces: Iterator[bytes], into: Any, callback: Callback) -> None:
    for piece in pieces:
        into.write(piece)
        callback.relative_update(len(piece))

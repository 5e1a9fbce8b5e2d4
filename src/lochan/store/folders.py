"""The folders of a local store: created, synced into their parents, removed when empty, and never silently missing.

A file's name is durable when its folder is synced, and the folder itself when its parent is. Each folder's chain is
synced the first time this process writes there; afterwards one sync of the folder is enough.

Objects are listed as an object store lists them: by the bytes of the whole path, not folder by folder. `a-b` comes
before `a/b` and that before `a0`, so a folder is sorted among its siblings with the slash appended.
"""

# ruff: noqa: PTH102, PTH106, PTH112, PTH116, PTH120
# Paths are bytes here: a key is UTF-8, whatever the locale says.
import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice

from lochan.errors import Invalid, NotFound, Unavailable, Unknown
from lochan.store.disk import FOLDER_MODE, translate_errors
from lochan.store.local_files import FOLDER
from lochan.store.protocol import Stat, check_path

_BACK = "is a disk unmounted? mount it again, or restore the folder, and start again"
_REMEMBERED = 10_000  # folders known to be durable; forgetting them costs a few syncs


class Folders:
    def __init__(self, root: bytes, *, create: bool) -> None:
        self.root = root
        if create:
            with translate_errors(os.fsdecode(root)):
                _make_root(root)
        self._inode = _root_inode(root)
        # Folder -> its inode when its chain was synced. Another process may remove a folder and make it again. Should
        # the new one get the old inode, its name is still part of the file system journal that our sync writes out.
        self._durable: dict[bytes, int] = {}
        self._doubted: set[bytes] = set()  # folders whose last sync failed after a name in them had changed
        self.failure = ""  # why nothing can be written any more

    def check_root(self) -> None:
        """Raises Unavailable if the root is gone or is another folder now. An empty folder where a disk was mounted
        must not look like an empty lake. NotFound would be wrong: it means that one object is absent."""
        try:
            inode = os.stat(self.root).st_ino
        except OSError as error:
            raise Unavailable(f"the folder {os.fsdecode(self.root)} is gone: {error.strerror}", hint=_BACK) from error
        if inode != self._inode:
            raise Unavailable(f"the folder {os.fsdecode(self.root)} is not the one that was opened", hint=_BACK)

    def check_writable(self) -> None:
        if self.failure:
            raise Unavailable(self.failure, hint="check the disk, then start again")

    def check_readable(self, name: bytes) -> None:
        """Raises Unknown if a sync failed: what the system's cache shows proves nothing about the disk."""
        if self._doubted and _above(name) in self._doubted:
            raise Unknown(self.failure, hint="check the disk, then start again")

    @contextmanager
    def opened(self, name: bytes) -> Iterator[int]:
        """Yields the folder that holds `name`, itself durable, as a descriptor to sync later. Raises
        FileNotFoundError."""
        folder = _above(name)
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            inode = os.fstat(fd).st_ino
            if self._durable.get(folder) != inode:
                self._sync_chain(folder)
                if len(self._durable) >= _REMEMBERED:  # no BoundedCache, because several threads write
                    self._durable.clear()
                self._durable[folder] = inode
            yield fd
        finally:
            os.close(fd)

    def make(self, name: bytes) -> None:
        """Creates the folders that will hold `name`, but never the root."""
        self.check_root()
        for at in _below(self.root, _above(name)):
            with suppress(FileExistsError, FileNotFoundError):  # created by another, or its parent was removed
                os.mkdir(at, FOLDER_MODE)

    def sync(self, fd: int, name: bytes) -> None:
        """Makes a changed name durable. If that fails, its durability is unknown, and this process writes no more: a
        second sync that succeeds would prove nothing."""
        try:
            os.fsync(fd)
        except OSError as error:
            self.fail(_failure(_above(name), error), name)
            raise Unknown(self.failure) from error

    def sync_above(self, names: Iterable[bytes]) -> None:
        """Makes the removal of these names durable. Raises OSError, and Unknown as `sync` does."""
        for folder in {_above(name) for name in names}:
            with self.opened(folder + b"/any") as fd:
                self.sync(fd, folder + b"/any")

    def fail(self, failure: str, name: bytes | None) -> None:
        """Stops all writing, and all reading from the folder of `name`."""
        self.failure = failure
        if name is not None:
            self._doubted.add(_above(name))

    def prune(self, name: bytes) -> None:
        """Removes the folders above a deleted file that are empty now."""
        folder = _above(name)
        with suppress(OSError):
            while len(folder) > len(self.root):
                os.rmdir(folder)
                self._durable.pop(folder, None)
                folder = _above(folder)

    def _sync_chain(self, folder: bytes) -> None:
        """Syncs every folder above this one: another process may have just created any of them and not synced it
        yet."""
        for at in reversed(_below(self.root, folder)):
            fd = os.open(_above(at), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):  # room may come back, a failing disk does not
                    self.failure = _failure(_above(at), error)
                raise
            finally:
                os.close(fd)


def _failure(folder: bytes, error: OSError) -> str:
    return f"the folder {os.fsdecode(folder)} could not be synced: {error.strerror}"


def _above(name: bytes) -> bytes:
    return name.rpartition(b"/")[0]


def _below(root: bytes, folder: bytes) -> list[bytes]:
    """Returns the folders from below the root down to this one."""
    parts = folder[len(root) :].split(b"/")[1:]
    return [root + b"/" + b"/".join(parts[: n + 1]) for n in range(len(parts))]


def _make_root(root: bytes) -> None:
    missing = []
    at = root
    while not os.path.isdir(at):
        missing.append(at)
        at = os.path.dirname(at)
    for at in reversed(missing):
        with suppress(FileExistsError):
            os.mkdir(at, FOLDER_MODE if at == root else 0o777)  # folders above a lake keep the usual mode
        _sync_folder(os.path.dirname(at))


def _root_inode(root: bytes) -> int:
    with translate_errors(os.fsdecode(root)):
        try:
            stat = os.stat(root)
        except FileNotFoundError:
            raise NotFound(f"the folder {os.fsdecode(root)} does not exist") from None
    if not os.path.isdir(root):
        raise Invalid(f"{os.fsdecode(root)} is not a folder")
    return stat.st_ino


def _sync_folder(folder: bytes) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


_BATCH = 1000


def list_objects(root: bytes, prefix: bytes, after: bytes) -> Iterator[Stat]:
    """Yields objects in order. Reads a folder only when it is reached. Files that vanish in between are left out."""
    start = prefix[: prefix.rfind(b"/") + 1]
    if start and not _possible(start[:-1]):
        return
    stack = [_children(root, start)]
    while stack:
        name = next(stack[-1], None)
        if name is None:
            stack.pop()
        elif name.endswith(b"/"):
            if _overlaps(name, prefix) and (name > after or after.startswith(name)):
                stack.append(_children(root, name))
        elif name.startswith(prefix) and name > after:
            stat = _stat(root, name)
            if stat is not None:
                yield stat


def next_batch(objects: Iterator[Stat]) -> list[Stat]:
    """Returns the next few objects: enough to be worth a thread, few enough to stay lazy."""
    return list(islice(objects, _BATCH))


def to_stat(path: str, stat: os.stat_result) -> Stat:
    etag = f"{stat.st_mtime_ns:x}-{stat.st_size:x}-{stat.st_ino:x}"
    return Stat(path, stat.st_size, stat.st_mtime_ns / 1e9, etag)


def _children(root: bytes, folder: bytes) -> Iterator[bytes]:
    """Yields names from the root; those of folders end with a slash."""
    names = []
    with translate_errors(os.fsdecode(root + b"/" + folder)):
        try:
            with os.scandir(root + b"/" + folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        names.append(folder + entry.name + b"/")
                    elif entry.is_file(follow_symlinks=False):
                        names.append(folder + entry.name)
        except (FileNotFoundError, NotADirectoryError):
            pass
    names.sort()
    return (name for name in names if name != FOLDER + b"/")


def _overlaps(folder: bytes, prefix: bytes) -> bool:
    return folder.startswith(prefix) or prefix.startswith(folder)


def _stat(root: bytes, name: bytes) -> Stat | None:
    try:
        path = name.decode()
        return to_stat(path, os.stat(root + b"/" + name, follow_symlinks=False))
    except (UnicodeDecodeError, FileNotFoundError, NotADirectoryError):
        return None  # a file of another program that no path can name, or one that was just removed


def _possible(folder: bytes) -> bool:
    """Returns whether any path could be there. A prefix is any text, and `../` must not be read."""
    try:
        check_path(folder.decode())
    except (Invalid, UnicodeDecodeError):
        return False
    return True

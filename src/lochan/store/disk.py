"""The local disk: translates the operating system's errors, and makes folders that only this user can open.

A lake on a disk holds the key of its secrets and data that policies keep from others, and a cache holds copies of them.
So the folders and files that Lochan makes are private, whatever the umask is."""

# ruff: noqa: PTH101, PTH102, PTH112, PTH116, PTH120
# Paths are text or bytes here.

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import AnyStr, Final

from lochan.errors import DiskFull, Invalid, LochanError, Transient, Unavailable

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
_OTHERS = 0o077


def make_private_folder(folder: AnyStr) -> None:
    """Creates the folder and missing parents. An existing one stays as it is."""
    if os.path.isdir(folder):
        return
    above = os.path.dirname(folder)
    if above and above != folder:
        make_private_folder(above)
    with suppress(FileExistsError):
        os.mkdir(folder, FOLDER_MODE)


def close_to_others(folder: bytes) -> None:
    """Keeps other users of the machine out of the folder, whatever the modes of its files are. Does nothing to a folder
    of another user."""
    with suppress(OSError):
        stat = os.stat(folder)
        if not stat.st_mode & _OTHERS or stat.st_uid != os.geteuid():
            return
        os.chmod(folder, stat.st_mode & 0o7777 & ~_OTHERS)
        import logging  # most commands do not get here

        _log = logging.getLogger("lochan.store")
        _log.warning("other users of this machine could read %s; now only its owner can", os.fsdecode(folder))


@contextmanager
def translate_errors(where: str) -> Iterator[None]:
    """Turns an OSError inside into an error of Lochan, which names `where`. It is only for steps before anything is
    visible."""
    try:
        yield
    except OSError as error:
        raise translate(error, where) from error


def translate(error: OSError, where: str) -> LochanError:
    """Returns the error of Lochan. An EIO is Transient, even for a read: on a network disk it passes, and on a dying
    disk the caller still gets an error. Corrupt would mean that the bytes are wrong, which is not known."""
    kind, hint = _MEANING.get(error.errno or 0, (Transient, ""))
    return kind(f"{where}: {error.strerror or error}", hint=hint)


_MEANING: dict[int, tuple[type[LochanError], str]] = {
    errno.ENOSPC: (DiskFull, "free some space; nothing that was stored before is touched"),
    errno.EDQUOT: (DiskFull, "the disk quota is used up; nothing that was stored before is touched"),
    errno.EACCES: (Unavailable, "let this user read and write that folder, or run as the user who owns it"),
    errno.EPERM: (Unavailable, "let this user write there; the file system must also allow hard links"),
    errno.EOPNOTSUPP: (Unavailable, "this file system has no hard links, but a lake needs them"),
    errno.EROFS: (Unavailable, "the file system is mounted read-only"),
    errno.ENAMETOOLONG: (Invalid, "each segment of a path has at most 255 bytes on a local disk"),
    errno.EILSEQ: (Invalid, "this file system does not accept that name"),
    errno.ENOTDIR: (Invalid, "on a local disk a path cannot be both an object and a folder of others"),
    errno.EISDIR: (Invalid, "on a local disk a path cannot be both an object and a folder of others"),
    errno.EMFILE: (Transient, "too many open files; raise the limit with ulimit -n"),
    errno.ENFILE: (Transient, "too many open files on this machine"),
    errno.EIO: (Transient, "the disk reports a failure; look at the kernel's log"),
}

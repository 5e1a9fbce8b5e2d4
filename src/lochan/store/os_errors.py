"""What the operating system's errors mean in our words. One table, read by everything that touches a local disk."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from lochan.errors import DiskFull, Invalid, LochanError, Transient, Unavailable


@contextmanager
def translated(where: str) -> Iterator[None]:
    """An OSError inside becomes one of ours that names `where`. Only for steps before anything is visible."""
    try:
        yield
    except OSError as error:
        raise translate(error, where) from error


def translate(error: OSError, where: str) -> LochanError:
    """An EIO is Transient, also on a read: on a network disk it passes, and on a dying one the caller still gets an
    error. Corrupt would say that the bytes are wrong, which nobody has seen."""
    kind, hint = _MEANING.get(error.errno or 0, (Transient, ""))
    return kind(f"{where}: {error.strerror or error}", hint=hint)


_MEANING: dict[int, tuple[type[LochanError], str]] = {
    errno.ENOSPC: (DiskFull, "free some space; nothing that was stored before is touched"),
    errno.EDQUOT: (DiskFull, "the disk quota is used up; nothing that was stored before is touched"),
    errno.EACCES: (Unavailable, "let this user read and write that folder, or run as the user who owns it"),
    errno.EPERM: (Unavailable, "let this user write there; the file system must also allow hard links"),
    errno.EOPNOTSUPP: (Unavailable, "this file system has no hard links, which a lake needs"),
    errno.EROFS: (Unavailable, "the file system is mounted read-only"),
    errno.ENAMETOOLONG: (Invalid, "each segment of a path has at most 255 bytes on a local disk"),
    errno.EILSEQ: (Invalid, "this file system does not take that name"),
    errno.ENOTDIR: (Invalid, "on a local disk a path cannot be both an object and a folder of others"),
    errno.EISDIR: (Invalid, "on a local disk a path cannot be both an object and a folder of others"),
    errno.EMFILE: (Transient, "too many open files; raise the limit with ulimit -n"),
    errno.ENFILE: (Transient, "too many open files on this machine"),
    errno.EIO: (Transient, "the disk reports a failure; look at the kernel's log"),
}

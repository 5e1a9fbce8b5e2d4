"""Contents that several checkouts share by hard links, in the user's cache: one read-only file for each content.

An edit in place would change the cache, and with it every checkout that has the file. So the files are read-only, and
links are refused to root, who can write to read-only files. A user can still make a file writable and edit it: then its
time no longer fits its name, and the cache does not return it again."""

from __future__ import annotations

import errno
import os
from hashlib import sha256
from pathlib import Path

from lochan.errors import Refused

_MODE = 0o444
_NS = 1_000_000_000


def check_links() -> None:
    """Raises Refused if this user can write to read-only files."""
    if os.geteuid() == 0:
        raise Refused(
            "links to the cache are not for root: read-only files would not keep root from changing the cache",
            hint="check out without --link, or as another user",
        )


class ContentCache:
    """The cache of one lake's contents. Each lake has its own, because contents of other lakes must not become files of
    this one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, key: str, size: int) -> Path | None:
        """Returns the file with this content, or None if there is none, or if it was changed."""
        file = self._place(key)
        try:
            about = file.lstat()
        except OSError:
            return None
        is_whole = about.st_size == size and about.st_mtime_ns % _NS == _stamp(key) and about.st_mode & 0o777 == _MODE
        return file if is_whole else None

    def add(self, key: str, part: Path) -> Path:
        """Moves a complete file from the folder for parts into the cache, and returns its new path. Raises Refused if
        the cache is on another disk."""
        from lochan.store.disk import make_private_folder

        file = self._place(key)
        make_private_folder(str(file.parent))
        at_ns = (part.stat().st_mtime_ns // _NS - 1) * _NS + _stamp(key)
        part.chmod(_MODE)
        os.utime(part, ns=(at_ns, at_ns))
        try:
            part.replace(file)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            raise Refused(
                f"the cache in {self._folder} is on another disk than the checkout, and links cannot cross disks",
                hint="check out without --link, or choose a cache on this disk with -s cache.path=FOLDER",
            ) from None
        return file

    def _place(self, key: str) -> Path:
        name = sha256(key.encode()).hexdigest()
        return self._folder / name[:2] / name[2:]


def _stamp(key: str) -> int:
    """Returns the nanoseconds of the time of a file with this content. Any write to the file changes them."""
    return int.from_bytes(sha256(b"time of " + key.encode()).digest()[:8], "big") % _NS

"""A local folder listed as an object store would: by the bytes of the whole path, not folder by folder.

`a-b` comes before `a/b` and that before `a0`, so a folder takes its place among its siblings with the slash appended.
"""

# ruff: noqa: PTH116
# Paths are bytes here: a key is UTF-8, whatever the locale says.
import os
from collections.abc import Iterator
from itertools import islice

from lochan.errors import Invalid
from lochan.store.oserrors import translated
from lochan.store.paths import check_path
from lochan.store.protocol import Stat
from lochan.store.temp import FOLDER

_BATCH = 1000


def objects(root: bytes, prefix: bytes, after: bytes) -> Iterator[Stat]:
    """Reads a folder when it is reached, not before. What vanishes in between is left out."""
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


def batch(objects: Iterator[Stat]) -> list[Stat]:
    """The next few: enough to be worth a turn through a thread, few enough to stay lazy."""
    return list(islice(objects, _BATCH))


def to_stat(path: str, stat: os.stat_result) -> Stat:
    etag = f"{stat.st_mtime_ns:x}-{stat.st_size:x}-{stat.st_ino:x}"
    return Stat(path, stat.st_size, stat.st_mtime_ns / 1e9, etag)


def _children(root: bytes, folder: bytes) -> Iterator[bytes]:
    """Names from the root; those of folders end with a slash."""
    names = []
    with translated(os.fsdecode(root + b"/" + folder)):
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
        return None  # somebody else's file, which no path of ours could name; or removed a moment ago


def _possible(folder: bytes) -> bool:
    """Whether any path could lie there. A prefix is any text, and `../` must not be looked into."""
    try:
        check_path(folder.decode())
    except (Invalid, UnicodeDecodeError):
        return False
    return True

"""The differences between a folder and its state. A file is read only if its size or its time has changed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from lochan.checkout.ignore import Ignore
from lochan.checkout.state import FOLDER, CheckoutState, FileState, saved_ns

ADDED, CHANGED, REMOVED = "added", "changed", "removed"
# A file that was written so shortly before the state was saved could have been written again since, at the same time
# by the clock of the disk.
_DOUBT_NS = 20_000_000
_PIECE_BYTES = 1 << 20

Report = Callable[[str, str], None]  # called with what was left out, and what can be done about it


class FileChange(NamedTuple):
    path: str
    kind: str  # added, changed, removed
    size: int  # of the file; of one that was removed, what it had
    now: FileState | None  # the file as it is; None if it was removed, or is no longer a file
    is_file: bool = True  # False: something else stands there, such as a link


def find_changes(folder: Path, state: CheckoutState, report: Report) -> list[FileChange]:
    """Returns the changes in the order of paths. Links are never followed. Raises Invalid for an ignore file with an
    invalid line."""
    doubtful_ns = saved_ns(folder) - _DOUBT_NS
    seen: set[str] = set()
    found: list[FileChange] = []
    for path, about in _files(folder, Ignore.of(folder), state, report):
        seen.add(path)
        known = state.files.get(path)
        change = _change(folder, path, about, known, doubtful_ns)
        if change is not None:
            found.append(change)
    for path in state.files.keys() - seen:  # gone; or it lies where the ignore file leaves everything out
        known = state.files[path]
        there = _lstat(folder, path)
        if there is None or stat.S_ISDIR(there.st_mode):
            found.append(FileChange(path, REMOVED, known.size, None))
            continue
        change = _change(folder, path, there, known, doubtful_ns)
        if change is not None:
            found.append(change)
    return sorted(found, key=lambda change: change.path.encode())


def _change(
    folder: Path, path: str, about: os.stat_result, known: FileState | None, doubtful_ns: int
) -> FileChange | None:
    if not stat.S_ISREG(about.st_mode):
        return FileChange(path, CHANGED, about.st_size, None, is_file=False)
    if known is not None and about.st_size == known.size and about.st_mtime_ns == known.mtime_ns < doubtful_ns:
        return None
    if known is None:
        return FileChange(path, ADDED, about.st_size, file_state(folder / path))
    now = file_state(folder / path)
    return None if (now.size, now.md5) == (known.size, known.md5) else FileChange(path, CHANGED, now.size, now)


def _lstat(folder: Path, path: str) -> os.stat_result | None:
    """Returns None if nothing is there, or if a link stands in the place of one of the folders."""
    above = path.rpartition("/")[0]
    try:
        while above:
            if stat.S_ISLNK((folder / above).lstat().st_mode):
                return None
            above = above.rpartition("/")[0]
        return (folder / path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def file_state(file: Path) -> FileState:
    """Returns the state of a file. Raises OSError for a link."""
    digest = hashlib.md5(usedforsecurity=False)
    opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        size = 0
        while piece := os.read(opened, _PIECE_BYTES):
            digest.update(piece)
            size += len(piece)
        return FileState(size, digest.hexdigest(), os.fstat(opened).st_mtime_ns)
    finally:
        os.close(opened)


def _files(folder: Path, ignore: Ignore, state: CheckoutState, report: Report) -> Iterator[tuple[str, os.stat_result]]:
    """Yields files, and anything else at a path where the state has a file."""
    waiting = [""]
    while waiting:
        above = waiting.pop()
        with os.scandir(folder / above) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        if above and any(entry.name == FOLDER for entry in listed):
            report(f"left out {folder / above}: it is a checkout or a lake of its own", "")
            continue
        for entry in listed:
            path = f"{above}{entry.name}"
            if path == FOLDER:
                continue
            if not _is_text(path):
                report(f"left out {path!r}: its name is not UTF-8", "rename it")
            elif entry.is_dir(follow_symlinks=False):
                if not ignore.leaves_out(path, is_folder=True):
                    waiting.append(f"{path}/")
            elif path in state.files:
                yield path, entry.stat(follow_symlinks=False)
            elif not ignore.leaves_out(path, is_folder=False):
                if entry.is_file(follow_symlinks=False):
                    yield path, entry.stat(follow_symlinks=False)
                else:
                    kind = "a link" if entry.is_symlink() else "not a file"
                    report(f"left out {folder / path}: it is {kind}", "")


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True

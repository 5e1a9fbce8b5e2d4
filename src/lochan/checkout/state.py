"""The commit that a checkout was made from, and its files as they were then: one JSON file in `.lochan`, which is
always replaced as a whole."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from lochan.errors import Conflict, FutureFormat, Invalid, NotFound

FOLDER = ".lochan"
_FILE = "checkout"
_LOCK = "lock"
_PARTS = "parts"  # files that are not complete yet
VERSION = 1


class FileState(msgspec.Struct, frozen=True, array_like=True):
    """A file as it was when it was last the same as its object. Stored on disk."""

    size: int
    md5: str  # in hex
    mtime_ns: int


class CheckoutState(msgspec.Struct, kw_only=True):
    """The state of a checkout. Stored on disk."""

    version: int = VERSION
    lake: str  # its URL
    lake_id: str
    repository: str
    ref: str
    is_branch: bool
    prefix: str = ""  # empty, or ends with a slash
    commit: str = ""  # the commit of the files
    target: str = ""  # the commit of an interrupted pull; empty: none was interrupted
    cache: str = ""  # the folder of the cache that the files are hard links to; empty: they are files of their own
    files: dict[str, FileState] = {}  # by the path below the prefix


class _Version(msgspec.Struct):
    version: int


def find(start: Path) -> Path | None:
    """Returns the nearest folder upwards that is a checkout, or None."""
    for folder in (start, *start.parents):
        if (folder / FOLDER / _FILE).is_file():
            return folder
    return None


def load(folder: Path) -> CheckoutState:
    """Reads the state. Raises NotFound, FutureFormat, or Invalid if the file is damaged."""
    file = folder / FOLDER / _FILE
    try:
        data = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"{folder} is not a checkout", hint="`lochan checkout demo@main DIR` makes one") from None
    try:
        version = msgspec.json.decode(data, type=_Version).version
        if version > VERSION:
            raise FutureFormat(f"{file} has version {version}, and this Lochan knows {VERSION}", hint="update Lochan")
        return msgspec.json.decode(data, type=CheckoutState)
    except msgspec.MsgspecError as error:
        raise Invalid(f"{file} is damaged: {error}", hint="check it out again, into another folder") from None


def save(folder: Path, state: CheckoutState) -> None:
    """Writes the state atomically, also if the power fails."""
    place = folder / FOLDER
    new = place / f"{_FILE}.new"
    with new.open("wb") as out:
        out.write(msgspec.json.encode(state))
        out.flush()
        os.fsync(out.fileno())
    new.replace(place / _FILE)
    opened = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def saved_ns(folder: Path) -> int:
    """Returns the time at which the state was saved, by the clock of the disk."""
    return (folder / FOLDER / _FILE).stat().st_mtime_ns


@contextmanager
def alone(folder: Path) -> Iterator[Path]:
    """Keeps other processes from working on the checkout meanwhile. Yields the folder for parts, which is empty. Raises
    Conflict."""
    from lochan.store.disk import make_private_folder

    make_private_folder(str(folder / FOLDER / _PARTS))
    with (folder / FOLDER / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"another process works in {folder}", hint="wait until it has ended") from None
        parts = folder / FOLDER / _PARTS
        _clear(parts)
        try:
            yield parts
        finally:
            _clear(parts)


def _clear(parts: Path) -> None:
    """Removes the files that a killed process has left."""
    for each in parts.iterdir():
        each.unlink()

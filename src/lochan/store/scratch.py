"""Folders for files that a process needs temporarily. The process that creates one removes it.

A killed command cannot. So all folders of a command are in one folder, with a lock that ends with the process, however
it ends. The next command that creates a folder removes those whose lock is free. Process ids would not work: those of
another container mean nothing here."""

import os
import stat
from contextlib import suppress

own_process = False  # set by the command line; otherwise folders are in the usual place
_PREFIX, _LOCK = "lochan-", "lock"
_root: tuple[str, int] | None = None  # the folder, and the lock


def make_folder(parent: str | None = None) -> str:
    """Creates a new folder, in `parent` if that is given."""
    import tempfile  # here and below: most commands need no folder, and take less time than this import

    return tempfile.mkdtemp(prefix=_PREFIX, dir=parent or place())


def remove() -> None:
    """Removes all folders of this process, when it ends."""
    global _root
    if _root is not None:
        import shutil

        folder, lock = _root
        _root = None
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def place() -> str | None:
    """Returns the folder in which this process keeps its folders. Returns None for the usual place, also if there are
    no locks, because then it would be unknown whether a folder is still in use."""
    global _root
    if not own_process:
        return None
    if _root is None:
        import shutil
        import tempfile

        sweep(tempfile.gettempdir())
        folder = tempfile.mkdtemp(prefix=_PREFIX)
        try:
            _root = folder, _lock(folder)
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            return None
    return _root[0]


def _lock(folder: str) -> int:
    """Makes and locks the lock file. The file gets its name after it is locked: if it is found unlocked, its holder is
    gone."""
    import fcntl
    from pathlib import Path

    unnamed = Path(folder, f"{_LOCK}.new")
    file = os.open(unnamed, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unnamed.rename(unnamed.with_name(_LOCK))
    except OSError:
        os.close(file)
        raise
    return file


def sweep(place: str) -> None:
    """Removes folders that dead processes of this user left there."""
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX):
                with suppress(OSError):
                    _remove_if_left(entry)


def _remove_if_left(entry: "os.DirEntry[str]") -> None:
    import fcntl
    import shutil

    about = entry.stat(follow_symlinks=False)
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
        return
    file = os.open(f"{entry.path}/{_LOCK}", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(entry.path, ignore_errors=True)
    finally:
        os.close(file)

"""Folders for files that a process needs for a while. Whoever makes one removes it.

A command that is killed cannot. So all folders of a command lie in one, with a lock that ends with the process whatever
ends it, and the next command that makes a folder removes those whose lock nobody holds. Process ids would not do: those
of another container mean nothing here.
"""

import os
import stat
from contextlib import suppress

own_process = False  # set by the command line; elsewhere folders lie in the usual place by themselves
_PREFIX, _LOCK = "lochan-", "lock"
_root: tuple[str, int] | None = None  # the folder, and the lock


def make_folder(parent: str | None = None) -> str:
    """A new one, in `parent` if one is named."""
    import tempfile  # here and below: most commands need no folder, and are done in less time than this takes

    return tempfile.mkdtemp(prefix=_PREFIX, dir=parent or place())


def remove() -> None:
    """All of this process, when it ends."""
    global _root
    if _root is not None:
        import shutil

        folder, lock = _root
        _root = None
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def place() -> str | None:
    """Where folders of this process lie; None: in the usual place. So it is too where locks cannot be had, and nobody
    could tell whether a folder is still used."""
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
    """It gets its name when it is held: whoever finds it free knows that its holder is gone."""
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
    """Remove what processes of this user left there that are gone."""
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

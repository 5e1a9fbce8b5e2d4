"""Folders and files of this user alone, whatever the umask says.

A lake on a disk holds the key of its secrets, and what policies keep from others; a cache holds copies of it."""

# ruff: noqa: PTH101, PTH102, PTH112, PTH116, PTH120
# Paths are text or bytes here.
import os
from contextlib import suppress
from typing import AnyStr, Final

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
_OTHERS = 0o077


def make_private_folder(folder: AnyStr) -> None:
    """With those above it that are missing. One that is there stays as it is."""
    if os.path.isdir(folder):
        return
    above = os.path.dirname(folder)
    if above and above != folder:
        make_private_folder(above)
    with suppress(FileExistsError):
        os.mkdir(folder, FOLDER_MODE)


def close_to_others(folder: bytes) -> None:
    """So that no other user of the machine comes to anything in it, however open the files are. Somebody else's folder
    is theirs to close."""
    with suppress(OSError):
        stat = os.stat(folder)
        if not stat.st_mode & _OTHERS or stat.st_uid != os.geteuid():
            return
        os.chmod(folder, stat.st_mode & 0o7777 & ~_OTHERS)
        import logging  # which a command on a lake that is closed already does without

        _log = logging.getLogger("lochan.store")
        _log.warning("other users of this machine could read %s; now only its owner can", os.fsdecode(folder))

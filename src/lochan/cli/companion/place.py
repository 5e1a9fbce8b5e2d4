"""Finds the place of the companion's socket: a folder that belongs to this user alone, under a name that only the same
code has."""

# ruff: noqa: PTH102
# pathlib takes longer to import than all of the front.

import os
import sys
from binascii import crc32

from lochan import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PROTOCOL = 2
_OTHERS, _OTHERS_WRITE = 0o077, 0o022
_KIND, _IS_FOLDER, _IS_SOCKET = 0o170000, 0o040000, 0o140000  # parts of a mode, without importing `stat`
_FOLDER_MAX = 107 - len("/lochan/companion-01234567.sock.0123456789")  # the path of a Unix socket cannot be longer


def hello() -> bytes:
    """Returns what front and companion compare before anything else, because two versions must never talk to each
    other."""
    flags = sys.flags.optimize, sys.flags.dev_mode, sys.flags.utf8_mode, sys.getfilesystemencoding()
    return "\n".join(map(str, (_PROTOCOL, __version__, sys.version, sys.prefix, package(), *flags))).encode()


def package() -> str:
    """Returns the folder that this code is in."""
    return __file__.rpartition("/cli/")[0]


def name() -> str:
    """Returns the name of the files of a companion of this very code. A clash does no harm, because both sides compare
    the whole `hello`."""
    return f"companion-{crc32(hello()):08x}"


def folder(*, create: bool = False) -> str | None:
    """Returns the folder, which is in the user's runtime folder, or otherwise in /tmp. Returns None if there is none
    that belongs to this user alone; in that case there is no companion."""
    found = _runtime() or f"/tmp/.lochan-{os.geteuid()}"
    if create:
        try:
            os.mkdir(found, 0o700)
        except FileExistsError:
            pass
        except OSError:
            return None
    # `lstat` and not `stat`, because a link that another user put there leads to a folder of theirs, or to an unrelated
    # one of ours.
    return found if _is_ours(found, os.lstat, _IS_FOLDER, _OTHERS) else None


def socket_path() -> str | None:
    """Returns the path of the socket, or None if there is no companion that may be used."""
    place = folder()
    if place is None:
        return None
    path = f"{place}/{name()}.sock"
    return path if _is_ours(path, os.lstat, _IS_SOCKET, _OTHERS) else None


def _runtime() -> str | None:
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    fits = base.startswith("/") and len(os.fsencode(base)) <= _FOLDER_MAX
    return f"{base}/lochan" if fits and _is_ours(base, os.stat, _IS_FOLDER, _OTHERS_WRITE) else None


def _is_ours(path: str, look: "Callable[[str], os.stat_result]", kind: int, forbidden: int) -> bool:
    try:
        found = look(path)
    except OSError:
        return False
    return found.st_uid == os.geteuid() and found.st_mode & _KIND == kind and not found.st_mode & forbidden

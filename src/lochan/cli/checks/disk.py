"""How much room there is where Lochan writes on this machine."""

import shutil
from pathlib import Path

from lochan.cli.checks.check import FAIL, OK, WARN, Check, failed
from lochan.cli.shown import size

_WARN_BELOW = 1_000_000_000
_FAIL_BELOW = 50_000_000


def check_disk(name: str, folder: Path) -> Check:
    """The folder may not be there yet; then its nearest ancestor speaks for it."""
    try:
        there = nearest_existing(folder)
        free = shutil.disk_usage(there).free
    except OSError as error:
        return failed(name, error)
    found = f"{size(free)} free at {folder}"
    if free < _FAIL_BELOW:
        return Check(name, FAIL, found, "make room: writes there are about to fail")
    if free < _WARN_BELOW:
        return Check(name, WARN, found, "make room soon")
    return Check(name, OK, found)


def nearest_existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.exists())

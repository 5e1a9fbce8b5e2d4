"""Checks which paths of a repository can be files of a checkout. In a repository, a path may have any characters, and
may be an object and a folder of others at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from unicodedata import normalize

from lochan.checkout.state import FOLDER
from lochan.errors import Refused

_NAME_BYTES_MAX = 255
_SHOWN_MAX = 5
# Git executes files of such a folder, no matter who put them there.
_RESERVED = {FOLDER, ".git"}


def check_names(paths: Iterable[str], *, folds: bool) -> None:
    """Raises Refused, with the first paths that cannot be files. `folds`: on this disk, names that differ by case alone
    are the same. REQUIRES: the paths are in the order of their bytes."""
    found = list(_problems(paths, folds))
    if found:
        more = f", and {len(found) - _SHOWN_MAX} more" if len(found) > _SHOWN_MAX else ""
        raise Refused(
            f"{'; '.join(found[:_SHOWN_MAX])}{more}",
            hint="nothing was written; choose a prefix without them",
        )


def _problems(paths: Iterable[str], folds: bool) -> Iterator[str]:
    above: list[str] = []  # files so far that the path begins with
    seen: dict[str, str] = {}
    for path in paths:
        why = _why_not(path)
        while above and not path.startswith(above[-1]):
            above.pop()
        file = next((each for each in above if path.startswith(f"{each}/")), None)
        if file is not None:
            why = f"{file!r} is a file too, and a file cannot be a folder"
        elif not why and folds:
            why = _clash(path, seen)
        if why:
            yield f"{path!r} cannot be a file here: {why}"
        else:
            above.append(path)


def _why_not(path: str) -> str:
    """Returns the reason why a path cannot be a file, or an empty text if it can."""
    for name in path.split("/"):
        if name in ("", ".", "..") or "\0" in name:
            return "it would not be in the folder"
        if name.casefold() in _RESERVED:
            return f"the name {name!r} is reserved"
        try:
            size = len(name.encode())
        except UnicodeEncodeError:
            return "its name is not UTF-8"
        if size > _NAME_BYTES_MAX:
            return f"a name has more than {_NAME_BYTES_MAX} bytes"
    return ""


def _clash(path: str, seen: dict[str, str]) -> str:
    """Returns the reason why the names clash on a disk that folds names, including those of the folders above, or an
    empty text."""
    end = 0
    while end >= 0:
        end = path.find("/", end + 1)
        name = path if end < 0 else path[:end]
        other = seen.setdefault(normalize("NFC", name).casefold(), name)
        if other != name:
            return f"on this disk {name!r} is the same as {other!r}"
    return ""


def folds_names(folder: Path) -> bool:
    """Returns whether names that differ by case alone are the same on this disk. REQUIRES: the folder exists."""
    probe = folder / f"case-{os.getpid()}"
    probe.touch()
    try:
        return probe.with_name(probe.name.upper()).exists()
    finally:
        probe.unlink()


def check_folders(top: Path, folders: Iterable[str]) -> None:
    """Raises Refused if a link stands in the place of one of these folders, or of one above them, because it may lead
    anywhere."""
    known: set[str] = {""}
    for folder in folders:
        end = 0
        while end >= 0 and folder:
            end = folder.find("/", end + 1)
            part = folder if end < 0 else folder[:end]
            if part in known:
                continue
            if os.path.islink(top / part):  # noqa: PTH114
                raise Refused(f"{top / part} is a link, and links are not followed", hint="remove it, and try again")
            known.add(part)

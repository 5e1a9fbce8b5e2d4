"""Which paths of a repository can be files of a checkout. A path may hold anything, and a folder must stay a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from unicodedata import normalize

from lochan.checkout.state import FOLDER
from lochan.errors import Refused

_NAME_BYTES_MAX = 255
_SHOWN_MAX = 5
# What Git finds in such a folder it executes, whoever put it there.
_RESERVED = {FOLDER, ".git"}


def check_names(paths: Iterable[str], *, folds: bool) -> None:
    """`folds`: the disk takes names for the same that differ by case alone. REQUIRES: the paths come in the order of
    their bytes. Raises Refused, with the first of those that cannot be."""
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
    """Empty: it can be one."""
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
    """With the folders above it, which are names too."""
    end = 0
    while end >= 0:
        end = path.find("/", end + 1)
        name = path if end < 0 else path[:end]
        other = seen.setdefault(normalize("NFC", name).casefold(), name)
        if other != name:
            return f"on this disk {name!r} is the same as {other!r}"
    return ""


def folds_names(folder: Path) -> bool:
    """Whether the disk takes names for the same that differ by case alone. REQUIRES: the folder is there."""
    probe = folder / f"case-{os.getpid()}"
    probe.touch()
    try:
        return probe.with_name(probe.name.upper()).exists()
    finally:
        probe.unlink()


def check_folders(top: Path, folders: Iterable[str]) -> None:
    """Raises Refused where a link stands in for one of these folders, or for one above them: it may lead anywhere."""
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

"""Decides what a pull does to each file, by comparing three sides: the state, the folder, and the new commit. Changes
nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from lochan.checkout.changes import REMOVED, FileChange, file_state
from lochan.checkout.state import FileState


class RemoteFile(NamedTuple):
    """An object of the commit."""

    path: str  # below the prefix
    size: int
    md5: str  # empty: unknown
    key: str  # of its content, unique; empty: unknown
    handle: object = None  # by which its source finds it again


class PullPlan(NamedTuple):
    write: list[RemoteFile]
    adopt: dict[str, FileState]  # files that are already what they were to become
    remove: list[str]
    conflicts: list[str]  # changed here and there, in different ways


def plan_pull(
    folder: Path, known: Mapping[str, FileState], changes: Iterable[FileChange], remote: Mapping[str, RemoteFile]
) -> PullPlan:
    changed = {change.path: change for change in changes}
    plan = PullPlan([], {}, [], [])
    for path in known.keys() - remote.keys():
        change = changed.get(path)
        if change is None:
            plan.remove.append(path)
        elif change.kind != REMOVED:
            plan.conflicts.append(path)
    room = _Room(folder, frozenset(plan.remove))
    for path, file in remote.items():
        before = known.get(path)
        if before is not None and _same(before, file):
            continue
        change = changed.get(path)
        if change is None:
            if before is not None or room.is_free(path):
                plan.write.append(file)
                continue
            now = _ignored_file(folder / path)
        else:
            now = change.now
        if now is not None and _same(now, file):
            plan.adopt[path] = now
        else:
            plan.conflicts.append(path)
    plan.conflicts.sort()
    return plan


class _Room:
    """Checks whether the place of a new file is free, once others are removed."""

    def __init__(self, top: Path, removed: frozenset[str]) -> None:
        self._top = top
        self._removed = removed
        self._folders = {""}  # in which files may be

    def is_free(self, path: str) -> bool:
        above = path.rpartition("/")[0]
        if not self._is_folder(above):
            return False
        place = self._top / path
        if not os.path.lexists(place):
            return True
        return place.is_dir() and not place.is_symlink() and self._empties(place)

    def _is_folder(self, path: str) -> bool:
        if path in self._folders:
            return True
        place = self._top / path
        is_one = place.is_dir() or not os.path.lexists(place) or path in self._removed
        if not is_one or not self._is_folder(path.rpartition("/")[0]):
            return False
        self._folders.add(path)
        return True

    def _empties(self, folder: Path) -> bool:
        files = [each for each in folder.rglob("*") if each.is_symlink() or not each.is_dir()]
        return all(each.relative_to(self._top).as_posix() in self._removed for each in files)


def _same(file: FileState, remote: RemoteFile) -> bool:
    return file.size == remote.size and file.md5 == remote.md5


def _ignored_file(file: Path) -> FileState | None:
    try:
        return file_state(file)
    except OSError:  # a folder, a link
        return None

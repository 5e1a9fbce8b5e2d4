"""A disk that may lose what was not synced. It watches the calls that change a folder, and can then build every folder
that a power cut could have left behind at any moment.

    a file's bytes   there once the file was synced; before that none, some or all of them
    a name           there (or gone) once its folder was synced; before that each change may or may not have happened

Nothing is assumed that POSIX does not promise: not that changes become durable in their order, nor that syncing a file
also syncs its name. With `ordered` the changes of one folder keep their order, as on every file system with a journal.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from threading import Lock
from typing import Any

_TEMP = b".tmp"


@dataclass(eq=False)
class _File:
    data: bytes = b""
    synced: bytes = b""

    def versions(self) -> list[bytes]:
        half = self.data[: (len(self.synced) + len(self.data)) // 2]
        return [self.synced] if self.data == self.synced else [self.synced, half, self.data]


@dataclass(eq=False)
class _Folder:
    synced: dict[bytes, "_Node"] = field(default_factory=dict)
    changes: list[tuple[bytes, "_Node | None"]] = field(default_factory=list)  # since; None: the name was removed

    def now(self) -> dict[bytes, "_Node"]:
        return self.after(self.changes)

    def after(self, changes: list[tuple[bytes, "_Node | None"]]) -> dict[bytes, "_Node"]:
        names = dict(self.synced)
        for name, node in changes:
            if node is None:
                names.pop(name, None)
            else:
                names[name] = node
        return names

    def sync(self) -> None:
        self.synced, self.changes = self.now(), []


_Node = _File | _Folder
_Changes = list[tuple[bytes, _Node | None]]
_Kept = Callable[[_Changes], Iterator[_Changes]]
Remains = dict[bytes, bytes | None]  # path -> bytes; None: a folder


class Disk:
    """`moments` are the calls in their order. `cut(n)` gives what may be left when the power goes after the n-th."""

    def __init__(self, root: Path) -> None:
        self._root = os.fsencode(root)
        self._lock = Lock()
        self._calls: list[tuple[str, tuple[Any, ...]]] = []
        self._open: dict[int, bytes] = {}
        self.notes: list[tuple[int, Any]] = []  # what was noted, and after how many calls

    @property
    def moments(self) -> int:
        return len(self._calls)

    def note(self, what: Any) -> None:
        with self._lock:
            self.notes.append((len(self._calls), what))

    def noted(self, moment: int) -> list[Any]:
        return [what for at, what in self.notes if at <= moment]

    @contextmanager
    def watched(self) -> Iterator[None]:
        real = {name: getattr(os, name) for name in _WATCHED}
        for name in _WATCHED:
            setattr(os, name, self._watching(name, real[name]))
        try:
            yield
        finally:
            for name in _WATCHED:
                setattr(os, name, real[name])

    def cut(self, moment: int, *, ordered: bool = False) -> Iterator[Remains]:
        """Temporary files are all there or all gone: nothing reads them, and there are too many to try each."""
        top = self._replay(moment)
        for temps in (True, False):
            yield from _remains(top, b"", temps, _beginnings if ordered else _subsets)

    # --- watching ---------------------------------------------------------------------------------------------------
    def _watching(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            with self._lock:  # so that the order noted is the order done
                result = real(*arguments, **options)
                self._saw(name, arguments, result)
                return result

        return call

    def _saw(self, name: str, arguments: tuple[Any, ...], result: Any) -> None:
        if name == "open":
            path = self._below(arguments[0])
            if path is not None:
                self._open[result] = path
                if arguments[1] & os.O_CREAT:
                    self._calls.append(("create", (path,)))
        elif name == "close":
            self._open.pop(arguments[0], None)
        elif name == "write":
            if arguments[0] in self._open:
                self._calls.append(("write", (self._open[arguments[0]], bytes(arguments[1])[:result])))
        elif name == "fsync":
            if arguments[0] in self._open:
                self._calls.append(("sync", (self._open[arguments[0]],)))
        else:
            paths = [self._below(path) for path in arguments[: 2 if name in ("link", "rename") else 1]]
            if None not in paths:
                self._calls.append((name, tuple(paths)))

    def _below(self, path: Any) -> bytes | None:
        name = os.fsencode(path)
        return name[len(self._root) + 1 :] if name == self._root or name.startswith(self._root + b"/") else None

    # --- what there was, by the calls -------------------------------------------------------------------------------
    def _replay(self, moment: int) -> _Folder:
        """Descriptors are followed by the name they were opened with: no file here is renamed while it is open."""
        top = _Folder()
        for call, paths in self._calls[:moment]:
            match call:
                case "create":
                    _change(top, paths[0], _File())
                case "write":
                    file = _find(top, paths[0])
                    assert isinstance(file, _File)
                    file.data += paths[1]
                case "sync":
                    node = _find(top, paths[0])
                    if isinstance(node, _File):
                        node.synced = node.data
                    else:
                        node.sync()
                case "link":
                    _change(top, paths[1], _find(top, paths[0]))
                case "rename":
                    _change(top, paths[1], _find(top, paths[0]))
                    _change(top, paths[0], None)
                case "mkdir":
                    _change(top, paths[0], _Folder())
                case "unlink" | "rmdir":
                    _change(top, paths[0], None)
        return top


_WATCHED = ("open", "close", "write", "fsync", "link", "rename", "unlink", "mkdir", "rmdir")


def _find(top: _Folder, path: bytes) -> _Node:
    node: _Node = top
    for name in path.split(b"/") if path else []:
        assert isinstance(node, _Folder)
        node = node.now()[name]
    return node


def _change(top: _Folder, path: bytes, node: _Node | None) -> None:
    folder, _, name = path.rpartition(b"/")
    above = _find(top, folder)
    assert isinstance(above, _Folder)
    above.changes.append((name, node))


# --- what may be left -----------------------------------------------------------------------------------------------
def _remains(folder: _Folder, path: bytes, temps: bool, kept_of: "_Kept") -> Iterator[Remains]:
    if path == _TEMP:
        yield _whole(folder, path) if temps else {}
        return
    for kept in kept_of(folder.changes):
        below = [(path + b"/" + name if path else name, node) for name, node in folder.after(kept).items()]
        for choice in product(*(_possible(node, name, temps, kept_of) for name, node in below)):
            left: Remains = {path: None} if path else {}
            for part in choice:
                left |= part
            yield left


def _possible(node: _Node, path: bytes, temps: bool, kept_of: "_Kept") -> list[Remains]:
    if isinstance(node, _File):
        return [{path: data} for data in node.versions()]
    return list(_remains(node, path, temps, kept_of))


def _whole(folder: _Folder, path: bytes) -> Remains:
    files = {path + b"/" + name: node.data for name, node in folder.now().items() if isinstance(node, _File)}
    return {path: None, **files}


def _subsets(changes: _Changes) -> Iterator[_Changes]:
    for size in range(len(changes) + 1):
        yield from map(list, combinations(changes, size))


def _beginnings(changes: _Changes) -> Iterator[_Changes]:
    for size in range(len(changes) + 1):
        yield changes[:size]


def build(remains: Remains, root: Path) -> None:
    """Folders come before what is in them."""
    root.mkdir()
    for path, data in sorted(remains.items()):
        place = root / os.fsdecode(path)
        if data is None:
            place.mkdir(exist_ok=True)
        else:
            place.write_bytes(data)

"""Handles whose verbs wait, and how they go to another process: as the names that they hold and what opens their lake.

A handle that was unpickled opens nothing until a verb needs the lake. All handles of one lake that arrive in a process
share one connection, which stays open as long as the process runs.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from lochan.runtime import Runtime

if TYPE_CHECKING:
    from lochan.api.blocking import Lake

Noun_co = TypeVar("Noun_co", covariant=True)


class LakeOpener(Protocol):
    """Identifies a lake and opens it. It can be pickled, with the keys of the store or of the server."""

    def connect(self) -> Lake: ...


class Blocking(Generic[Noun_co]):
    """A handle whose verbs wait."""

    # The names that it holds, and the function that finds the same handle of another connection. Without names, the
    # handle stands for one moment and cannot be pickled.
    _names: ClassVar[tuple[str, ...] | None] = None
    _find: ClassVar[Callable[..., Blocking[Any]]]

    _noun: Noun_co
    _runtime: Runtime

    def __init__(self, noun: Noun_co, runtime: Runtime) -> None:
        self._noun = noun
        self._runtime = runtime

    def __repr__(self) -> str:
        return repr(self._noun)

    def __getattr__(self, name: str) -> Any:
        """Finds the handle after unpickling, when its lake is needed: Python calls this only for missing attributes."""
        arrived = self.__dict__.get("_arrived")
        if name not in ("_noun", "_runtime") or arrived is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        opener, names = arrived
        found = type(self)._find(shared_lake(opener), *names)
        self._noun, self._runtime = found._noun, found._runtime
        return self.__dict__[name]

    def __reduce__(self) -> tuple[Any, ...]:
        if self._names is None:
            raise TypeError(f"a {type(self).__name__} is of one moment and cannot be pickled: send the ref's handle")
        arrived = self.__dict__.get("_arrived")
        if arrived is not None:
            return _arrive, (type(self), *arrived)
        if self._runtime.opener is None:
            raise TypeError("this lake was not opened by lochan.connect(), and cannot be opened by another process")
        return _arrive, (type(self), self._runtime.opener, tuple(getattr(self._noun, name) for name in self._names))


def _arrive(kind: type[Blocking[Any]], opener: LakeOpener, names: tuple[str, ...]) -> Blocking[Any]:
    made = kind.__new__(kind)
    made.__dict__["_arrived"] = opener, names
    return made


_LAKES: dict[tuple[int, bytes], Lake] = {}
_OPENING = threading.Lock()


def shared_lake(opener: LakeOpener) -> Lake:
    """Returns the connection of this process to that lake. One that was closed is opened again. A process that was
    forked has its own, because the thread behind the parent's connection does not exist there."""
    key = os.getpid(), pickle.dumps(opener)
    with _OPENING:
        found = _LAKES.get(key)
        if found is None or not found._runtime.is_running:
            if not _LAKES:
                _close_at_exit()
            found = _LAKES[key] = opener.connect()
        return found


def _close_at_exit() -> None:
    """Registers the closing of lakes with `threading`, which calls it while threads can still be started; `atexit`
    would be too late."""
    import atexit
    import concurrent.futures.thread  # noqa: F401 - it registers its own end, which must come after this one

    getattr(threading, "_register_atexit", atexit.register)(close_shared_lakes)


def close_shared_lakes() -> None:
    """Closes the shared connections. The next handle that needs one opens it again."""
    lakes = list(_LAKES.values())
    _LAKES.clear()
    for each in lakes:
        each.close()


def _after_fork() -> None:
    """Replaces the lock, which another thread may have held when the process was forked."""
    global _OPENING
    _OPENING = threading.Lock()
    _LAKES.clear()


os.register_at_fork(after_in_child=_after_fork)

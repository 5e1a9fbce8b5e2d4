"""Watches the files of this process's code. If one of them changes, or a package is installed, the companion ends,
because it would run outdated code."""

import os
import sys
import time


class CodeFiles:
    def __init__(self) -> None:
        """Begins to watch. It must be called before anything is imported that may change later."""
        self._seen: dict[str, tuple[int, ...] | None] = {}
        self._looked_ns = time.time_ns()
        self._is_late = False

    def remember(self) -> None:
        """Records the state of new files. A file that was changed since the last look may have been imported before its
        change."""
        now = time.time_ns()
        for path in _paths() - self._seen.keys():
            self._seen[path] = found = _look(path)
            self._is_late |= found is not None and path.endswith(".py") and found[0] > self._looked_ns
        self._looked_ns = now

    def are_unchanged(self) -> bool:
        return not self._is_late and list(map(_look, self._seen)) == list(self._seen.values())


def _paths() -> set[str]:
    """Returns our own modules one by one, and for others the folders that packages are installed into."""
    own = {
        module.__file__
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == "lochan" and getattr(module, "__file__", None)
    }
    return {path for path in (*own, *sys.path) if path}


def _look(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return found.st_ctime_ns, found.st_size, found.st_ino  # the time of any change, to bytes or attributes

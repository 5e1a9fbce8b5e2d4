"""The files that this process has its code from. If one of them changes, or a package is installed, the companion ends:
it would run what is no longer there."""

import os
import sys
import time


class CodeFiles:
    def __init__(self) -> None:
        """Before anything is imported that may change later."""
        self._seen: dict[str, tuple[int, ...] | None] = {}
        self._looked_ns = time.time_ns()
        self._is_late = False

    def remember(self) -> None:
        """Of those that are new, what they are now. One that was changed since the last look may have been imported
        before that."""
        now = time.time_ns()
        for path in _paths() - self._seen.keys():
            self._seen[path] = found = _look(path)
            self._is_late |= found is not None and path.endswith(".py") and found[0] > self._looked_ns
        self._looked_ns = now

    def are_unchanged(self) -> bool:
        return not self._is_late and list(map(_look, self._seen)) == list(self._seen.values())


def _paths() -> set[str]:
    """Our own modules one by one; of the others, the folders that packages are installed into."""
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
    return found.st_ctime_ns, found.st_size, found.st_ino  # the time of any change, of bytes or of attributes

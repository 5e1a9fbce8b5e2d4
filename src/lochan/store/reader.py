"""An open file that is only read. It closes with its last holder: a cancelled reader may leave a thread still reading,
and a descriptor closed under that thread could by then be another file's."""

import os
import stat as modes

from lochan.errors import Transient
from lochan.store.oserrors import translate


class Reader:
    __slots__ = ("_fd", "_path", "size")

    def __init__(self, name: bytes, path: str) -> None:
        """Raises OSError; FileNotFoundError also for what is not a file."""
        self._fd = -1
        self._fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        self._path = path
        stat = os.fstat(self._fd)
        if not modes.S_ISREG(stat.st_mode):
            raise FileNotFoundError(path)
        self.size = stat.st_size

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def read(self, start: int, stop: int) -> bytes:
        """Exactly these bytes, which lie within the size at the time of opening."""
        try:
            data = os.pread(self._fd, stop - start, start)
            while len(data) < stop - start:  # the kernel gives at most 2 GiB at once
                more = os.pread(self._fd, stop - start - len(data), start + len(data))
                if not more:
                    raise Transient(f"{self._path}: the file became shorter while it was read")
                data += more
        except OSError as error:
            raise translate(error, self._path) from error
        return data

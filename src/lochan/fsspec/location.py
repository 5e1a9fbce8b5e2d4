"""What a path of the file system names: the lake (nothing), a repository, a ref of one, an object or a folder in it."""

from __future__ import annotations

import errno
from typing import NamedTuple


class Location(NamedTuple):
    repository: str = ""
    ref: str = ""
    path: str = ""  # of an object, or a folder without its slash

    @property
    def name(self) -> str:
        """As fsspec says it, without the protocol."""
        return "/".join(part for part in self if part)

    @property
    def folder(self) -> str:
        """What the paths of the objects in it begin with."""
        return f"{self.path}/" if self.path else ""

    def at(self, path: str) -> str:
        """The name of another object or folder of the same ref."""
        return f"{self.repository}/{self.ref}/{path}"


def parse_location(path: str) -> Location:
    """REQUIRES: it has no protocol."""
    repository, _, rest = path.lstrip("/").partition("/")
    ref, _, inner = rest.partition("/")
    return Location(repository, ref, inner.rstrip("/"))


def object_at(path: str) -> Location:
    """Raises IsADirectoryError for what can be no object."""
    found = parse_location(path)
    if not found.path:
        raise IsADirectoryError(errno.EISDIR, "is no object: give lochan://repository/ref/path", path)
    return found

"""The parts of a path of the file system: it names the lake (if empty), a repository, a ref, or an object or a folder
in one."""

from __future__ import annotations

import errno
from typing import NamedTuple


class Location(NamedTuple):
    repository: str = ""
    ref: str = ""
    path: str = ""  # the path of an object, or of a folder without its slash

    @property
    def name(self) -> str:
        """The path as fsspec writes it, without the protocol."""
        return "/".join(part for part in self if part)

    @property
    def folder(self) -> str:
        """The beginning that the paths of all objects in the folder have."""
        return f"{self.path}/" if self.path else ""

    def at(self, path: str) -> str:
        """Returns the name of another object or folder of the same ref."""
        return f"{self.repository}/{self.ref}/{path}"


def parse_location(path: str) -> Location:
    """Parses a path. REQUIRES: it has no protocol."""
    repository, _, rest = path.lstrip("/").partition("/")
    ref, _, inner = rest.partition("/")
    return Location(repository, ref, inner.rstrip("/"))


def object_at(path: str) -> Location:
    """Returns the location of an object. Raises IsADirectoryError if the path cannot be one."""
    found = parse_location(path)
    if not found.path:
        raise IsADirectoryError(errno.EISDIR, "is no object: give lochan://repository/ref/path", path)
    return found

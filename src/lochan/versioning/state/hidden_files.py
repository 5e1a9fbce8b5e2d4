"""Plain files of a workspace that something newer hides: by path, the stamp of the file that is hidden.

    delete, overwrite or revert of a path with a file ──▶ hidden[path] = the file's stamp

The file itself stays, because a commit may name it by the time a delete would arrive (S8). Only the file with that
stamp is hidden: what another program writes at the same path later has another stamp, and is seen.
"""

from collections.abc import Iterator, Mapping

import msgspec

from lochan.store.protocol import Stat

_RATIO = (
    2  # between neighbouring pieces, as in `staging.inline`: each path is copied a few times, however many there are
)


class HiddenFiles(msgspec.Struct, frozen=True, eq=False):
    """Never changes: `with_files` makes a new one that shares the large pieces."""

    pieces: tuple[dict[str, str], ...] = ()  # the oldest first, each more than twice the size of the next

    def get(self, path: str) -> str | None:
        """The stamp of the file that is hidden at this path, if one is."""
        for piece in reversed(self.pieces):
            found = piece.get(path)
            if found is not None:
                return found
        return None

    def hides(self, path: str, stamp: str) -> bool:
        return bool(self.pieces) and self.get(path) == stamp

    def with_files(self, stamps: Mapping[str, str]) -> "HiddenFiles":
        if not stamps:
            return self
        keep, newest = len(self.pieces), dict(stamps)
        while keep and len(self.pieces[keep - 1]) <= _RATIO * len(newest):
            keep -= 1
            newest = self.pieces[keep] | newest
        return HiddenFiles((*self.pieces[:keep], newest))

    def merged(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for piece in self.pieces:
            found |= piece
        return found

    def __len__(self) -> int:
        """At least the paths there are: one that stands in several pieces counts in each."""
        return sum(map(len, self.pieces))

    def __iter__(self) -> Iterator[str]:
        return iter(self.merged())


NO_FILES = HiddenFiles()


def file_stamp(stat: Stat) -> str:
    """What tells one file at a path from the next. The time is part of it, because on a bucket a file that is written
    again with the same bytes keeps its ETag. Stamps are on somebody's disk, in events and checkpoints."""
    return f"{int(stat.modified * 1e6)}:{stat.size}:{stat.etag.removeprefix('W/').strip(chr(34))}"

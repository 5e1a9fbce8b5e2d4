"""What an overwrite may drop: only what its rows were made of.

read       commits that the rows were read at: the head may have nothing that one of them lacks
head       or the head that the caller names
"""

from __future__ import annotations

from contextlib import aclosing
from typing import NamedTuple

from lochan.errors import NotFound, PreconditionFailed
from lochan.tree.diff import diff
from lochan.versioning.graph import only_left
from lochan.versioning.open_repository import OpenRepository

_SHOWN = 3


class ReplaceGuard(NamedTuple):
    """May be pickled. With neither, all may be replaced."""

    read: tuple[str, ...] = ()
    head: str = ""

    async def check(self, repository: OpenRepository, branch: str, head: str, under: str = "") -> None:
        """`under` is the path that is replaced. Raises PreconditionFailed."""
        if self.head:
            if head != self.head:
                raise _came_since(repository, branch, head, self.head, "is not at")
            return
        for commit in self.read:
            if commit != head and await self._has_more(repository, head, commit, under):
                raise _came_since(repository, branch, head, commit, "has moved since the rows were read at")

    async def _has_more(self, repository: OpenRepository, head: str, commit: str, under: str) -> bool:
        refs = repository.folded()
        try:
            if not only_left(refs.recorded, head, commit):
                return False
            if not under:
                return True
            left, right = [await repository.tree(refs.commit(each)) for each in (commit, head)]
        except NotFound:  # it is of no history that is known
            return True
        async with aclosing(diff(repository.trees, left, right, under)) as differences:
            async for _ in differences:
                return True
        return False


NO_GUARD = ReplaceGuard()


def _came_since(repository: OpenRepository, branch: str, head: str, commit: str, how: str) -> PreconditionFailed:
    refs = repository.folded()
    try:
        since = only_left(refs.recorded, head, commit)
    except NotFound:
        since = []
    shown = [f"{refs.recorded(each).message.partition(chr(10))[0]!r} ({each[:12]})" for each in since[:_SHOWN]]
    more = f", and {len(since) - _SHOWN:,} more" if len(since) > _SHOWN else ""
    what = f": {', '.join(shown)}{more}" if shown else ""
    name = f"{repository.repository.name}@{branch}"
    return PreconditionFailed(
        f"{name} {how} {commit[:12]}, and an overwrite would drop what came since{what}",
        hint=f"read the rows again and write those; or replace what is there now with expect={head[:12]!r} "
        f"(in the data source .option('ifHead', {head[:12]!r}))",
    )

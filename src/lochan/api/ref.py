"""Any commit, for reading: a branch, a tag, a commit id, `main~2`, `main@{yesterday}`, `branch+workspace`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from lochan.api.results import Change, Commit, ObjectInfo, ObjectPage, microseconds
from lochan.api.session import Session

if TYPE_CHECKING:
    from lochan.staging.listing import ViewPage

_PAGE = 1_000


class NamedRef(Protocol):
    """What a verb needs to know of another ref that it is given: any handle of one will do."""

    @property
    def repository_name(self) -> str: ...

    @property
    def name(self) -> str: ...


def name_of(ref: NamedRef | str) -> str:
    return ref if isinstance(ref, str) else ref.name


class Ref:
    """Of a branch what is staged is read too; `main$` reads what is committed alone."""

    def __init__(self, session: Session, repository: str, name: str) -> None:
        self._session = session
        self.repository_name = repository
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.repository_name}@{self.name}>"

    async def resolve(self) -> Commit:
        """The commit that it names now. Raises NotFound, Ambiguous, Invalid, Gone."""
        async with self._session.opened(self.repository_name) as repository:
            found = await repository.resolve(self.name, workspaces=True)
            return Commit.of(found.commit_id, found.commit)

    async def log(
        self,
        *,
        path: str = "",
        prefix: str = "",
        author: str = "",
        grep: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        first_parent: bool = False,
    ) -> AsyncIterator[Commit]:
        """Commits behind it, the youngest first, as they are asked for; with a path or prefix, those that changed it.
        Raises NotFound."""
        from lochan.versioning.history import LogRequest, history

        wish = LogRequest(
            paths=(path,) if path else (),
            prefixes=(prefix,) if prefix else (),
            since=None if since is None else microseconds(since),
            until=None if until is None else microseconds(until),
            first_parent=first_parent,
            author=author,
            grep=grep,
        )
        async with self._session.opened(self.repository_name) as repository:
            async for id, commit in history(repository, self.name, wish):
                yield Commit.of(id, commit)

    async def diff(self, right: NamedRef | str, *, prefix: str = "", three_dot: bool = False) -> AsyncIterator[Change]:
        """What is different at `right`, in path order; committed on both sides. `three_dot`: only what the right has
        changed since the two parted. Raises NotFound."""
        from lochan.versioning.diff import diff

        async with self._session.opened(self.repository_name) as repository:
            async for difference in diff(repository, self.name, name_of(right), prefix=prefix, three_dot=three_dot):
                yield Change.of(difference)

    async def blame(self, path: str) -> Commit:
        """The commit that made the object what it is. Raises NotFound."""
        from lochan.versioning.blame import blame

        async with self._session.opened(self.repository_name) as repository:
            found = await blame(repository, self.name, path)
            return Commit.of(found.commit_id, found.commit)

    async def list(
        self, prefix: str = "", *, delimiter: str = "", after: str = "", limit: int | None = None
    ) -> AsyncIterator[ObjectInfo]:
        """Objects in path order, from a page to the next. With a delimiter, those that have none behind the prefix;
        `list_page` tells the folders too. Raises NotFound for a ref that is not there."""
        left = limit
        while True:
            size = _PAGE if left is None else min(left, _PAGE)
            page = await self.list_page(prefix, delimiter=delimiter, after=after, limit=size)
            for found in page.objects:
                yield found
            if left is not None:
                left -= len(page.objects)
            if page.next is None or left == 0:
                return
            after = page.next

    async def list_page(
        self, prefix: str = "", *, delimiter: str = "", after: str = "", limit: int = _PAGE
    ) -> ObjectPage:
        """Objects and common prefixes, together at most `limit`. Raises NotFound for a ref that is not there."""
        from lochan.versioning.objects import list_objects

        async with self._session.opened(self.repository_name) as repository:
            page: ViewPage = await list_objects(repository, self.name, prefix, after, delimiter, limit)
        objects = tuple(ObjectInfo.of(entry) for entry in page.entries)
        return ObjectPage(objects=objects, prefixes=tuple(page.prefixes), next=page.next)

    async def stat(self, path: str) -> ObjectInfo:
        """Raises NotFound."""
        from lochan.versioning.objects import stat

        async with self._session.opened(self.repository_name) as repository:
            return ObjectInfo.of(await stat(repository, self.name, path))

    async def stream(self, path: str, start: int = 0, stop: int | None = None) -> AsyncIterator[bytes]:
        """Its bytes in pieces, checked against what was stored. Raises NotFound, Gone, Corrupt."""
        from lochan.versioning.objects import read, stat

        async with self._session.opened(self.repository_name) as repository:
            async for piece in read(repository, await stat(repository, self.name, path), start, stop):
                yield piece

    async def read(self, path: str, start: int = 0, stop: int | None = None) -> bytes:
        """All of them at once. Raises as `stream` does."""
        return b"".join([piece async for piece in self.stream(path, start, stop)])

"""Pages of lists, kept while nothing about their ref changes: clients ask for the same folder again and again."""

from typing import Final, NamedTuple

from lochan.access.rights import Rights
from lochan.server.gateway.request import S3Request
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.resolve import ResolvedRef

BYTES_MAX: Final = 32 << 20

_Asked = tuple[str, str, str]


class _Page(NamedTuple):
    """What it is a page of, and its bytes. Layers are never changed, only replaced: the same ones hold the same."""

    repository: OpenRepository
    commit: str
    layers: object  # of a branch
    rights: Rights | None  # that decided what is shown, and are another object once they change; None: all is shown
    body: bytes

    def is_of(self, repository: OpenRepository, resolved: ResolvedRef, rights: Rights | None) -> bool:
        at = self.repository is repository and self.commit == resolved.commit_id
        return at and self.layers is _layers(resolved) and self.rights is rights


class ListCache:
    def __init__(self) -> None:
        self._pages: dict[_Asked, _Page] = {}  # the oldest first
        self._bytes = 0

    def find(
        self, repository: OpenRepository, resolved: ResolvedRef, request: S3Request, rights: Rights | None
    ) -> bytes | None:
        """Of exactly this query, by this user, who is named in it; where the ref is as it was, and what is shown."""
        page = self._pages.get(_asked(request))
        return page.body if page is not None and page.is_of(repository, resolved, rights) else None

    def keep(
        self, repository: OpenRepository, resolved: ResolvedRef, request: S3Request, body: bytes, rights: Rights | None
    ) -> None:
        """One that was made of that. Files of a workspace come and go without a word, and are not kept."""
        if resolved.workspace is not None or len(body) > BYTES_MAX // 4:
            return
        asked = _asked(request)
        self._drop(asked)
        while self._bytes + len(body) > BYTES_MAX:
            self._drop(next(iter(self._pages)))
        self._pages[asked] = _Page(repository, resolved.commit_id, _layers(resolved), rights, body)
        self._bytes += len(body)

    def _drop(self, asked: _Asked) -> None:
        page = self._pages.pop(asked, None)
        if page is not None:
            self._bytes -= len(page.body)


def _asked(request: S3Request) -> _Asked:
    return request.bucket, request.raw_query, request.user


def _layers(resolved: ResolvedRef) -> object:
    return None if resolved.branch is None else resolved.branch.layers

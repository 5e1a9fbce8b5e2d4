"""Pages of lists, kept while nothing about their ref changes: clients ask for the same folder again and again."""

from typing import Final, NamedTuple

from lochan.access.rights import Rights
from lochan.api.snapshot import WORKSPACE, Snapshot
from lochan.bounded_cache import BoundedCache
from lochan.server.gateway.request import S3Request

BYTES_MAX: Final = 32 << 20

_Query = tuple[str, str, str]


class _Page(NamedTuple):
    snapshot: Snapshot
    rights: Rights | None  # that decided what is shown, and are another object once they change; None: all is shown
    body: bytes


class ListCache:
    def __init__(self) -> None:
        self._pages: BoundedCache[_Query, _Page] = BoundedCache(BYTES_MAX)

    def find(self, snapshot: Snapshot, request: S3Request, rights: Rights | None) -> bytes | None:
        """Of exactly this query, by this user, who is named in it; where the ref is as it was, and what is shown."""
        page = self._pages.get(_query(request))
        holds = page is not None and page.rights is rights and page.snapshot.shows_same(snapshot)
        return page.body if page is not None and holds else None

    def keep(self, snapshot: Snapshot, request: S3Request, body: bytes, rights: Rights | None) -> None:
        """One that was made of that. Files of a workspace come and go without a word, and are not kept."""
        if snapshot.kind != WORKSPACE and len(body) <= BYTES_MAX // 4:
            self._pages.put(_query(request), _Page(snapshot, rights, body), len(body))


def _query(request: S3Request) -> _Query:
    return request.bucket, request.raw_query, request.user

"""Makes one page of a listing: of the paths of one ref, or of a whole bucket, where every branch is a folder.

page_of_ref      main/data/a.csv, main/data/b.csv          keys of one ref
page_of_bucket   dev/x.csv, main/data/a.csv, …             keys of every branch, in the order of their bytes

Pages of one ref are kept while nothing about it changes, because clients ask for the same folder again and again.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lochan.access.rights import Rights, VisibleObjects
from lochan.api.object_results import ObjectTable
from lochan.api.snapshot import WORKSPACE, RefSnapshot
from lochan.bounded_cache import BoundedCache
from lochan.server.gateway.request import S3Request
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_listings import Content, ListingColumns

BYTES_MAX: Final = 32 << 20  # of all kept pages

_Query = tuple[str, str, str]
_COLUMNS = ("path", "mtime", "etag", "size")
_CHUNK = 1_000  # entries that are looked at together
_CHUNKS_MAX = 20  # how many chunks of denied entries are read before an empty page is answered
_LOOKED_MAX = 5_000  # how many objects of a folder are searched for one that is shown


class ListingPage(NamedTuple):
    contents: Sequence[Content] | ListingColumns
    prefixes: Sequence[str]
    next: str | None  # the last key or common prefix of this page, if there are more
    root: str = ""  # what all prefixes begin with; contents have a root of their own

    def __len__(self) -> int:
        return len(self.contents) + len(self.prefixes)


NOTHING = ListingPage([], [], None)


async def page_of_ref(
    snapshot: RefSnapshot,
    root: str,
    path: str,
    after: str,
    delimiter: str,
    limit: int,
    filtered: VisibleObjects | None = None,
) -> ListingPage:
    """Returns the keys of one ref behind the key `after`. They begin with `root`, then `path`. With `filtered`, only
    those that the user may see are returned."""
    behind = _behind(root, after)
    if behind is None or limit == 0:
        return NOTHING
    if filtered is None:
        page = await snapshot.list_table(path, after=behind, delimiter=delimiter, limit=limit)
    else:
        page = await visible_page(snapshot, filtered, path, behind, delimiter, limit)
    next = None if page.next is None else root + page.next
    if not page.objects.num_rows:
        return ListingPage([], page.prefixes, next, root)
    columns = [page.objects.column(name).combine_chunks() for name in _COLUMNS]
    return ListingPage(ListingColumns(root, *columns), page.prefixes, next, root)


async def page_of_bucket(
    branches: Sequence[RefSnapshot],
    prefix: str,
    after: str,
    delimiter: str,
    limit: int,
    visible: Callable[[str], VisibleObjects | None],
) -> ListingPage:
    """Returns the keys of all branches behind the key `after`. `prefix` has no slash. A client that mirrors a bucket
    deletes what a list does not show, so the list shows everything in each branch that is `visible` to the user.
    `visible` returns None for a branch of which nothing is."""
    if len(delimiter) > 1 and "/" in delimiter:
        raise S3Error("NotImplemented", "A list of all branches does not support a delimiter with a slash and more.")
    page = _Joined(limit)
    for branch in sorted(branches, key=lambda branch: f"{branch.name}/".encode()):
        name, root = branch.name, f"{branch.name}/"
        if limit == 0 or not name.startswith(prefix):
            continue
        common = _common_prefix(root, prefix, delimiter)
        if common is not None:
            page.add(ListingPage([], [common] if _is_behind(common, after) else [], None))
        elif (seen := visible(name)) is not None:
            filtered = None if seen.below("") else seen
            page.add(await page_of_ref(branch, root, "", after, delimiter, page.missing, filtered))
        if page.is_complete:
            break
    return page.joined()


def _common_prefix(root: str, prefix: str, delimiter: str) -> str | None:
    """Returns the common prefix that a branch and all its paths become, if the delimiter is in its name or ends it."""
    at = root.find(delimiter, len(prefix)) if delimiter else -1
    return None if at < 0 else root[: at + len(delimiter)]


def _is_behind(common: str, after: str) -> bool:
    """Returns whether a page that continues after `after` shows this common prefix. A page continues behind a common
    prefix that it ended with. A key inside the folder does not hide the folder, because there may be more behind that
    key."""
    return common != after and (common.encode() > after.encode() or after.startswith(common))


def _behind(root: str, after: str) -> str | None:
    """Returns the path to continue after, if all keys begin with `root`. Returns None if all of them are before it."""
    if after.startswith(root):
        return after[len(root) :]
    return "" if after.encode() < root.encode() else None


class _Joined:
    """A page that is made of the pages of several branches."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._columns: list[ListingColumns] = []
        self._prefixes: list[str] = []
        self._count = 0
        self._last = ""
        self._next: str | None = None

    @property
    def missing(self) -> int:
        """The number of missing entries. It is at least one, because a full page still has to learn whether anything
        follows."""
        return max(1, self._limit - self._count)

    @property
    def is_complete(self) -> bool:
        return self._next is not None

    def add(self, page: ListingPage) -> None:
        prefixes = [prefix for each in page.prefixes if (prefix := page.root + each) != self._last]
        if not len(page.contents) and not prefixes:
            return
        if self._count >= self._limit:
            self._next = self._last
            return
        if isinstance(page.contents, ListingColumns):
            self._columns.append(page.contents)
        self._prefixes += prefixes
        self._count += len(page.contents) + len(prefixes)
        self._last = max((self._last, *prefixes, *_last_key(page)), key=str.encode)
        self._next = page.next

    def joined(self) -> ListingPage:
        if len(self._columns) == 1:
            return ListingPage(self._columns[0], self._prefixes, self._next)
        return ListingPage(_concatenate(self._columns), self._prefixes, self._next)


def _last_key(page: ListingPage) -> tuple[str, ...]:
    contents = page.contents
    if not isinstance(contents, ListingColumns) or not len(contents):
        return ()
    return (contents.root + contents.paths[-1].as_py(),)


def _concatenate(several: list[ListingColumns]) -> Sequence[Content] | ListingColumns:
    if not several:
        return []
    keys = [pc.binary_join_element_wise(each.root, each.paths, "") for each in several]
    rest = [pa.concat_arrays([each[at] for each in several]) for at in range(2, len(_COLUMNS) + 1)]
    return ListingColumns("", pa.concat_arrays(keys), *rest)


async def visible_page(
    snapshot: RefSnapshot, visible: VisibleObjects, prefix: str, after: str, delimiter: str, limit: int
) -> ObjectTable:
    for _ in range(_CHUNKS_MAX):
        found = await snapshot.list_table(prefix, after=after, delimiter=delimiter, limit=max(limit, _CHUNK))
        objects = _visible_objects(found.objects, visible)
        prefixes = [each for each in found.prefixes if await _is_shown(snapshot, visible, each)]
        if objects.num_rows or prefixes:
            return _first(objects, prefixes, limit, more=found.next is not None)
        if found.next is None:
            return ObjectTable(objects, [], None)
        after = found.next
    return ObjectTable(objects, [], after)


def _visible_objects(objects: pa.Table, visible: VisibleObjects) -> pa.Table:
    return objects.filter(visible.each(objects.column("path").combine_chunks())) if objects.num_rows else objects


async def _is_shown(snapshot: RefSnapshot, visible: VisibleObjects, folder: str) -> bool:
    """Returns whether anything in the folder is visible. If the policies do not decide that, its objects are looked
    through. A very large folder is assumed to be visible."""
    certain = visible.below(folder)
    if certain is not None:
        return certain
    after = ""
    for _ in range(_LOOKED_MAX // _CHUNK):
        found = await snapshot.list_table(folder, after=after, limit=_CHUNK)
        if _visible_objects(found.objects, visible).num_rows:
            return True
        if found.next is None:
            return False
        after = found.next
    return True


def _first(objects: pa.Table, prefixes: list[str], limit: int, *, more: bool) -> ObjectTable:
    """Returns the first entries of both, merged in order."""
    paths = objects.column("path").to_pylist()
    items = sorted([*paths, *prefixes], key=str.encode)
    kept = items[:limit]
    folders = set(kept).intersection(prefixes)
    count = len(kept) - len(folders)
    next = kept[-1] if more or len(items) > limit else None
    return ObjectTable(objects.slice(0, count), [each for each in prefixes if each in folders], next)


class _KeptPage(NamedTuple):
    snapshot: RefSnapshot
    rights: Rights | None  # what decided the shown objects, replaced when they change; None if all are shown
    body: bytes


class ListCache:
    def __init__(self) -> None:
        self._pages: BoundedCache[_Query, _KeptPage] = BoundedCache(BYTES_MAX)

    def find(self, snapshot: RefSnapshot, request: S3Request, rights: Rights | None) -> bytes | None:
        """Returns the page of exactly this query by this user, whose name is part of the key, if the ref is unchanged
        and shows the same."""
        page = self._pages.get(_query(request))
        holds = page is not None and page.rights is rights and page.snapshot.shows_same(snapshot)
        return page.body if page is not None and holds else None

    def keep(self, snapshot: RefSnapshot, request: S3Request, body: bytes, rights: Rights | None) -> None:
        """Keeps a page that was made of these. Pages of a workspace are not kept, because its files come and go without
        notice."""
        if snapshot.kind != WORKSPACE and len(body) <= BYTES_MAX // 4:
            self._pages.put(_query(request), _KeptPage(snapshot, rights, body), len(body))


def _query(request: S3Request) -> _Query:
    return request.bucket, request.raw_query, request.user

"""What the lists of objects have in common, in all their versions.

prefix = ref/path prefix        the paths of that ref
prefix without a slash          the branches whose names begin so, as common prefixes; the flat listener has none
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from lochan.access import resources
from lochan.access.visible_objects import VisibleObjects
from lochan.formats.run import column
from lochan.server.gateway.answers import xml
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.numbers import page_size
from lochan.server.gateway.places import Place, bucket_place, located, ref_resource, require, require_at, rights
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.visible_page import visible_page
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_listings import Columns, Content, Listing, Owner

ACTION = "fs:ListObjects"


class Listed(NamedTuple):
    listing: Listing
    next: str | None  # the last key or prefix of this page, where there are more


class Found(NamedTuple):
    contents: Sequence[Content] | Columns
    prefixes: list[str]
    next: str | None
    root: str = ""  # what all prefixes begin with; contents have their own


Render = Callable[[Listed], bytes]


async def answer(gateway: Gateway, request: Request, after: str, render: Render, *, with_owner: bool) -> Response:
    """`after` is a key: what comes behind it. Raises NoSuchBucket, NoSuchKey for a ref that is not there."""
    query = request.query
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    limit = page_size(request, "max-keys")
    encoding = query.get("encoding-type")
    if encoding is not None and encoding != "url":
        raise S3Error("InvalidArgument", "Invalid Encoding Method specified in Request", ArgumentName="encoding-type")
    place = await _place(gateway, request, prefix)
    filtered: VisibleObjects | None = None  # None: all of it is shown
    if place is not None:
        visible = VisibleObjects(await rights(gateway, request), ref_resource(place))
        filtered = None if visible.below(place.path) else visible
    judged_by = None if filtered is None else filtered.rights
    if place is not None and place.resolved is not None:
        kept = gateway.pages.find(place.repository, place.resolved, request, judged_by)
        if kept is not None:
            return xml(kept)
    if place is None:
        found = await _branches(gateway, request, prefix, after, limit)
    else:
        found = await _page(gateway, place, after, delimiter, limit, filtered)
    listing = Listing(
        bucket=request.bucket,
        contents=found.contents,
        prefixes=found.prefixes,
        root=found.root,
        truncated=found.next is not None,
        max_keys=limit,
        prefix=prefix,
        delimiter=delimiter or None,
        encoding_type=encoding,
        owner=Owner(request.user, request.user) if with_owner else None,
    )
    body = render(Listed(listing, found.next))
    if place is not None and place.resolved is not None:
        gateway.pages.keep(place.repository, place.resolved, request, body, judged_by)
    return xml(body)


async def _place(gateway: Gateway, request: Request, prefix: str) -> Place | None:
    """Where the paths are; None: these are branches."""
    if not gateway.settings.flat and "/" not in prefix:
        return None
    await require(gateway, request, "fs:ListRepositories", resources.repository(request.bucket))
    place = await located(gateway, request, request.bucket, prefix)
    await require_at(gateway, request, ACTION, place)
    return place


async def _page(
    gateway: Gateway, place: Place, after: str, delimiter: str, limit: int, filtered: VisibleObjects | None
) -> Found:
    root = "" if gateway.settings.flat else f"{place.ref}/"
    behind = _behind(root, after)
    if behind is None or limit == 0:
        return Found([], [], None)
    if place.resolved is None:
        raise S3Error("NoSuchKey", f"There is no branch, tag or commit {place.ref!r}.")
    view = await place.repository.view(place.resolved)
    if filtered is None:
        page = await view.list_columns(place.path, behind, delimiter, limit)
    else:
        page = await visible_page(view, filtered, place.path, behind, delimiter, limit)
    next = None if page.next is None else root + page.next
    if not page.entries.num_rows:
        return Found([], page.prefixes, next, root)
    columns = [column(page.entries, name) for name in ("path", "mtime", "etag", "size")]
    return Found(Columns(root, *columns), page.prefixes, next, root)


def _behind(root: str, after: str) -> str | None:
    """The path to begin behind, where all keys begin with `root`; None: all of them lie before."""
    if after.startswith(root):
        return after[len(root) :]
    return "" if after.encode() < root.encode() else None


async def _branches(gateway: Gateway, request: Request, prefix: str, after: str, limit: int) -> Found:
    repository = await bucket_place(gateway, request, "fs:ListBranches")
    refs, _ = await repository.refs()
    names = [f"{branch.name}/" for branch in refs.branches() if branch.name.startswith(prefix)]
    names = sorted((name for name in names if name.encode() > after.encode()), key=str.encode)  # `a-b/` before `a/`
    return Found([], names[:limit], names[limit - 1] if limit and len(names) > limit else None)

"""What the lists of objects have in common, in all their versions.

prefix = ref/path prefix        the paths of that ref; a ref that does not exist has none
prefix without a slash          all branches whose names begin so, each a folder; the flat listener has none of them
"""

from collections.abc import Callable
from typing import NamedTuple

from lochan.access import resources
from lochan.access.rights import VisibleObjects
from lochan.server.gateway.answers import xml
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.listing_page import NOTHING, ListingPage, page_of_bucket, page_of_ref
from lochan.server.gateway.numbers import page_size
from lochan.server.gateway.places import Place, bucket_place, located, ref_resource, require, require_at, rights
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_listings import Listing, Owner

ACTION = "fs:ListObjects"


class Listed(NamedTuple):
    listing: Listing
    next: str | None  # the last key or prefix of this page, where there are more


Render = Callable[[Listed], bytes]


async def answer(gateway: Gateway, request: Request, after: str, render: Render, *, with_owner: bool) -> Response:
    """`after` is a key: what comes behind it. Raises NoSuchBucket."""
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
        found = await _bucket(gateway, request, prefix, after, delimiter, limit)
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
) -> ListingPage:
    if place.resolved is None:
        return NOTHING
    root = "" if gateway.settings.flat else f"{place.ref}/"
    view = await place.repository.view(place.resolved)
    return await page_of_ref(view, root, place.path, after, delimiter, limit, filtered)


async def _bucket(
    gateway: Gateway, request: Request, prefix: str, after: str, delimiter: str, limit: int
) -> ListingPage:
    repository = await bucket_place(gateway, request, "fs:ListBranches")
    allowed = await rights(gateway, request)
    refs, _ = await repository.refs()

    def visible(branch: str) -> VisibleObjects | None:
        resource = resources.branch(request.bucket, branch)
        may_list = allowed.allow(ACTION, resources.object_at(resource, ""))
        return VisibleObjects(allowed, resource) if may_list else None

    return await page_of_bucket(repository, refs, prefix, after, delimiter, limit, visible)

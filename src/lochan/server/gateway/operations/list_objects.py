"""Handles both versions of ListObjects, and ListObjectVersions in its unversioned form, which lists each key once
because history is in the refs.

prefix = ref/path prefix        the paths of that ref; a ref that does not exist has none
prefix without a slash          all branches whose names begin so, each a folder; the flat listener has none of them
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import NamedTuple

from lochan.access import resources
from lochan.access.rights import VisibleObjects
from lochan.server.gateway.find_object import (
    ObjectAddress,
    bucket_repository,
    ref_resource,
    require,
    require_at,
    resolve_address,
    rights,
)
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.listing_page import NOTHING, ListingPage, page_of_bucket, page_of_ref
from lochan.server.gateway.request import Response, S3Request, page_size, xml
from lochan.server.gateway.wire import xml_listings
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_listings import Listing, S3Owner

_TOKEN = re.compile(r"[A-Za-z0-9_-]+={0,2}")


async def list_objects(gateway: Gateway, request: S3Request) -> Response:
    marker = request.query.get("marker", "")
    return await _answer(
        gateway,
        request,
        marker,
        lambda found: xml_listings.list_objects(found.listing, marker, found.next),
        with_owner=True,
    )


async def list_objects_v2(gateway: Gateway, request: S3Request) -> Response:
    query = request.query
    if query["list-type"] != "2":
        raise S3Error(
            "InvalidArgument", "Invalid list-type", ArgumentName="list-type", ArgumentValue=query["list-type"]
        )
    token, start_after = query.get("continuation-token"), query.get("start-after")
    after = _key(token) if token is not None else start_after or ""
    owner = query.get("fetch-owner", "").lower() == "true"

    def render(found: ListResult) -> bytes:
        next = None if found.next is None else urlsafe_b64encode(found.next.encode()).decode()
        return xml_listings.list_objects_v2(found.listing, start_after, token, next)

    return await _answer(gateway, request, after, render, with_owner=owner)


def _key(token: str) -> str:
    try:
        if not _TOKEN.fullmatch(token):
            raise ValueError
        return urlsafe_b64decode(token.encode()).decode()
    except ValueError:
        raise S3Error(
            "InvalidArgument", "The continuation token provided is incorrect", ArgumentName="continuation-token"
        ) from None


async def list_object_versions(gateway: Gateway, request: S3Request) -> Response:
    marker, version = request.query.get("key-marker", ""), request.query.get("version-id-marker", "")

    def render(found: ListResult) -> bytes:
        return xml_listings.list_versions(found.listing, marker, version, found.next)

    return await _answer(gateway, request, marker, render, with_owner=True)


class ListResult(NamedTuple):
    listing: Listing
    next: str | None  # the last key or prefix of this page, if there are more


Render = Callable[[ListResult], bytes]


async def _answer(gateway: Gateway, request: S3Request, after: str, render: Render, *, with_owner: bool) -> Response:
    """Answers a listing of what comes after the key `after`. Raises NoSuchBucket."""
    query = request.query
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    limit = page_size(request, "max-keys")
    encoding = query.get("encoding-type")
    if encoding is not None and encoding != "url":
        raise S3Error("InvalidArgument", "Invalid Encoding Method specified in Request", ArgumentName="encoding-type")
    address = await _address(gateway, request, prefix)
    filtered: VisibleObjects | None = None  # None if all of it is shown
    if address is not None:
        visible = VisibleObjects(await rights(gateway, request), ref_resource(address))
        filtered = None if visible.below(address.path) else visible
    judged_by = None if filtered is None else filtered.rights
    if address is not None and address.snapshot is not None:
        kept = gateway.list_cache.find(address.snapshot, request, judged_by)
        if kept is not None:
            return xml(kept)
    if address is None:
        found = await _bucket(gateway, request, prefix, after, delimiter, limit)
    else:
        found = await _page(gateway, address, after, delimiter, limit, filtered)
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
        owner=S3Owner(request.user, request.user) if with_owner else None,
    )
    body = render(ListResult(listing, found.next))
    if address is not None and address.snapshot is not None:
        gateway.list_cache.keep(address.snapshot, request, body, judged_by)
    return xml(body)


async def _address(gateway: Gateway, request: S3Request, prefix: str) -> ObjectAddress | None:
    """Returns where the listed paths are, or None if the prefix names branches."""
    if not gateway.settings.flat and "/" not in prefix:
        return None
    await require(gateway, request, "fs:ListRepositories", resources.repository(request.bucket))
    address = await resolve_address(gateway, request, request.bucket, prefix)
    await require_at(gateway, request, request.action, address)
    return address


async def _page(
    gateway: Gateway, address: ObjectAddress, after: str, delimiter: str, limit: int, filtered: VisibleObjects | None
) -> ListingPage:
    if address.snapshot is None:
        return NOTHING
    root = "" if gateway.settings.flat else f"{address.ref}/"
    return await page_of_ref(address.snapshot, root, address.path, after, delimiter, limit, filtered)


async def _bucket(
    gateway: Gateway, request: S3Request, prefix: str, after: str, delimiter: str, limit: int
) -> ListingPage:
    repository = await bucket_repository(gateway, request, "fs:ListBranches")
    allowed = await rights(gateway, request)

    def visible(branch: str) -> VisibleObjects | None:
        resource = resources.branch(request.bucket, branch)
        may_list = allowed.allow(request.action, resources.object_at(resource, ""))
        return VisibleObjects(allowed, resource) if may_list else None

    return await page_of_bucket(await repository.snapshots(), prefix, after, delimiter, limit, visible)

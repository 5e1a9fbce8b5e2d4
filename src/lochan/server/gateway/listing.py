"""What the lists of objects have in common, in all their versions.

prefix = ref/path prefix        the paths of that ref
prefix without a slash          the branches whose names begin so, as common prefixes; the flat listener has none
"""

from collections.abc import Sequence
from typing import NamedTuple

from lochan.access import resources
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.numbers import page_size
from lochan.server.gateway.places import bucket_place, located, require, require_at
from lochan.server.gateway.request import Request
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_listings import Columns, Content, Listing, Owner
from lochan.versioning.open_repository import OpenRepository

ACTION = "fs:ListObjects"


class Listed(NamedTuple):
    listing: Listing
    next: str | None  # the last key or prefix of this page, where there are more


async def listed(gateway: Gateway, request: Request, after: str, *, with_owner: bool) -> Listed:
    """`after` is a key: what comes behind it. Raises NoSuchBucket, NoSuchKey for a ref that is not there."""
    query = request.query
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    limit = page_size(request, "max-keys")
    encoding = query.get("encoding-type")
    if encoding is not None and encoding != "url":
        raise S3Error("InvalidArgument", "Invalid Encoding Method specified in Request", ArgumentName="encoding-type")
    contents, prefixes, next = await _page(gateway, request, prefix, after, delimiter, limit)
    return Listed(
        Listing(
            bucket=request.bucket,
            contents=contents,
            prefixes=prefixes,
            truncated=next is not None,
            max_keys=limit,
            prefix=prefix,
            delimiter=delimiter or None,
            encoding_type=encoding,
            owner=Owner(request.user, request.user) if with_owner else None,
        ),
        next,
    )


async def _page(
    gateway: Gateway, request: Request, prefix: str, after: str, delimiter: str, limit: int
) -> tuple[Sequence[Content] | Columns, list[str], str | None]:
    if not gateway.settings.flat and "/" not in prefix:
        repository = await bucket_place(gateway, request, "fs:ListBranches")
        return await _branches(gateway, request, repository, prefix, after, limit)
    await require(gateway, request, "fs:ListRepositories", resources.repository(request.bucket))
    place = await located(gateway, request, request.bucket, prefix)
    await require_at(gateway, request, ACTION, place)
    root = "" if gateway.settings.flat else f"{place.ref}/"
    behind = _behind(root, after)
    if behind is None or limit == 0:
        return [], [], None
    if place.resolved is None:
        raise S3Error("NoSuchKey", f"There is no branch, tag or commit {place.ref!r}.")
    view = await place.repository.view(place.resolved)
    page = await view.list_columns(place.path, behind, delimiter, limit)
    found = page.entries
    contents = Columns(
        root,
        found["path"].to_pylist(),
        found["mtime"].to_numpy(),
        found["etag"].to_pylist(),
        found["size"].to_pylist(),
    )
    next = None if page.next is None else root + page.next
    return contents, [root + each for each in page.prefixes], next


def _behind(root: str, after: str) -> str | None:
    """The path to begin behind, where all keys begin with `root`; None: all of them lie before."""
    if after.startswith(root):
        return after[len(root) :]
    return "" if after.encode() < root.encode() else None


async def _branches(
    gateway: Gateway, request: Request, repository: OpenRepository, prefix: str, after: str, limit: int
) -> tuple[Sequence[Content] | Columns, list[str], str | None]:
    refs, _ = await repository.refs()
    names = [f"{branch.name}/" for branch in refs.branches() if branch.name.startswith(prefix)]
    names = [name for name in names if name.encode() > after.encode()]
    return [], names[:limit], names[limit - 1] if limit and len(names) > limit else None

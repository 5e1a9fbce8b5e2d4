"""From a bucket and a key to a repository, a ref and a path; whether the user may do there what they ask; and the
object as readers see it.

bucket = repository, key = ref/path               repo/main/data/a.csv, repo/v1/…, repo/main+17-9f3a6c21/…
the flat listener: key = path                     on the repository's default branch
"""

from typing import NamedTuple

from lochan.access import resources
from lochan.access.rights import Rights
from lochan.errors import Invalid, NotFound
from lochan.formats.entry import Entry
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.request import S3Request
from lochan.server.gateway.wire.conditions import Current
from lochan.server.gateway.wire.errors import S3Error
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.repositories import POOL
from lochan.versioning.revisions.resolve import ResolvedRef, resolve
from lochan.versioning.state.refs import Refs

_SECOND = 1_000_000


class ObjectAddress(NamedTuple):
    repository: OpenRepository
    ref: str
    path: str
    resolved: ResolvedRef | None  # as of a moment after the request arrived; None: there is no such ref
    number: int = 0  # of the state that it was resolved in; what is made from it must say so (G4)

    @property
    def branch(self) -> str:
        """Of a ref to be written to."""
        return self.ref.partition("+")[0]

    @property
    def workspace(self) -> str:
        return self.ref.partition("+")[2]


async def require(gateway: Gateway, request: S3Request, action: str, resource: str) -> None:
    """Raises AccessDenied."""
    access = await gateway.access.authorised_state(request.arrived)
    if not access.rights(request.user).allow(action, resource):
        raise S3Error("AccessDenied")


async def rights(gateway: Gateway, request: S3Request) -> Rights:
    """Of the request's user, in a state that is new enough (A1)."""
    return (await gateway.access.authorised_state(request.arrived)).rights(request.user)


async def bucket_repository(gateway: Gateway, request: S3Request, action: str, bucket: str = "") -> OpenRepository:
    """A repository to do this with. Who may not is denied, whether it is there or not."""
    name = bucket or request.bucket
    await require(gateway, request, action, resources.repository(name))
    return await gateway.repository(name)


async def object_address(
    gateway: Gateway,
    request: S3Request,
    action: str,
    bucket: str = "",
    key: str = "",
    *,
    root: bool = False,
    blind: bool = False,
) -> ObjectAddress:
    """An object of the request, or of another bucket and key. Raises NoSuchKey for a key that is a ref alone, unless
    its `root/` will do: a folder that is always there, of which nothing is stored."""
    address = await resolve_address(gateway, request, bucket or request.bucket, key or request.key, blind=blind)
    if not address.path and not (root and (key or request.key).endswith("/")):
        raise S3Error(
            "NoSuchKey", "A key must name a branch, a tag or a commit, then a slash and a path.", Key=key or request.key
        )
    await require_at(gateway, request, action, address)
    if "\0" in address.path:  # no operation takes one, so none says that it is only not there
        raise S3Error("InvalidArgument", "A key cannot contain a NUL character.", ArgumentName="Key")
    return address


async def resolve_address(
    gateway: Gateway, request: S3Request, bucket: str, key: str, *, blind: bool = False
) -> ObjectAddress:
    """Raises NoSuchBucket, and AccessDenied to who may not know that there is none. A `blind` write asks nothing of the
    branch but that it is there, which its append finds out: one that is known here need not be asked about before."""
    try:
        repository = await gateway.repository(bucket)
    except S3Error:
        await require(gateway, request, "fs:ListRepositories", resources.repository(bucket))
        raise
    if gateway.settings.flat:
        ref, path = repository.repository.default_branch, key
    else:
        ref, _, path = key.partition("/")
    if blind:
        known = repository.folded()
        branch = known.find_branch(ref)
        if branch is not None:
            return ObjectAddress(repository, ref, path, ResolvedRef(branch.head, known.commit(branch.head), branch))
    refs, number = await repository.refs()
    return ObjectAddress(repository, ref, path, _resolved(refs, ref), number)


def _resolved(refs: Refs, ref: str) -> ResolvedRef | None:
    try:
        return resolve(refs, ref, workspaces=True)
    except (NotFound, Invalid):
        return None


async def require_at(gateway: Gateway, request: S3Request, action: str, address: ObjectAddress) -> None:
    await require(gateway, request, action, resources.object_at(ref_resource(address), address.path))


def ref_resource(address: ObjectAddress) -> str:
    """A ref that is not there is asked about as a branch, so that nobody learns of a branch by asking for one."""
    name, resolved = address.repository.repository.name, address.resolved
    if resolved is None or resolved.branch is not None or resolved.workspace is not None:
        return resources.branch(name, address.branch.rstrip("@$"))
    if address.repository.folded().find_tag(address.ref) is not None:
        return resources.tag(name, address.ref)
    return resources.commit(name, resolved.commit_id)


def check_writable(address: ObjectAddress) -> None:
    """Raises where the ref is no branch: a tag or a commit never changes. Nor does a pool, by single objects (S5)."""
    if address.resolved is None:
        raise S3Error("NoSuchKey", f"There is no branch {address.branch!r} to write to.")
    if address.repository.repository.kind == POOL:
        raise S3Error("AccessDenied", "This is a pool of rows: objects cannot be written to it or deleted from it.")
    if address.workspace or (address.resolved.branch is not None and address.resolved.branch.name == address.ref):
        return
    raise S3Error("AccessDenied", f"{address.ref!r} is not a branch; only branches can be written to.")


async def get_entry(address: ObjectAddress) -> Entry:
    """Raises NoSuchKey."""
    found = await find_entry(address)
    if found is None:
        raise S3Error("NoSuchKey", Key=address.path)
    return found


async def find_entry(address: ObjectAddress) -> Entry | None:
    if address.resolved is None:
        return None
    if not address.path:
        return _root(address)
    return await (await address.repository.view(address.resolved)).get(address.path)


def _root(address: ObjectAddress) -> Entry:
    """As clients know folders: an empty object with a slash at its end."""
    empty = "d41d8cd98f00b204e9800998ecf8427e"
    return Entry("", (), 0, empty, empty, address.repository.repository.created, "application/x-directory")


def current(entry: Entry) -> Current:
    return Current(entry.etag, entry.mtime // _SECOND, entry.size)

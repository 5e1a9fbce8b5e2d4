"""Finds the repository, the ref and the path that a bucket and a key name, checks that the user may do there what they
ask, and opens the object as readers see it.

bucket = repository, key = ref/path               repo/main/data/a.csv, repo/v1/…, repo/main+17-9f3a6c21/…
the flat listener: key = path                     on the repository's default branch
"""

from typing import NamedTuple

from lochan.access import resources
from lochan.access.rights import Rights
from lochan.api.conditions import ConditionFailed, Conditions
from lochan.api.repository import Repository
from lochan.api.snapshot import BRANCH, COMMIT, TAG, WORKSPACE, RefSnapshot
from lochan.api.writable import WritableRef
from lochan.errors import Invalid, NotFound
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.object_headers import RootFolder, ServedObject, failed_read
from lochan.server.gateway.request import S3Request
from lochan.server.gateway.wire.errors import S3Error


class ObjectAddress(NamedTuple):
    repository: Repository
    ref: str
    path: str
    snapshot: RefSnapshot | None  # as of a moment after the request arrived; None if there is no such ref

    @property
    def branch(self) -> str:
        """The branch, if the ref is one that can be written to."""
        return self.ref.partition("+")[0]

    def writable(self) -> WritableRef:
        """Returns the ref to write to. Raises an error if the ref is not a branch: a tag or a commit never changes, and
        a pool does not change by single objects (S5)."""
        snapshot = self.snapshot
        if snapshot is None:
            raise S3Error("NoSuchKey", f"There is no branch {self.branch!r} to write to.")
        if snapshot.is_pool:
            raise S3Error("AccessDenied", "This is a pool of rows: objects cannot be written to it or deleted from it.")
        if snapshot.kind == WORKSPACE:
            return self.repository.workspace(self.ref)
        if snapshot.kind == BRANCH and snapshot.branch_name == self.ref:
            return self.repository.branch(self.ref)
        raise S3Error("AccessDenied", f"{self.ref!r} is not a branch; only branches can be written to.")


async def require(gateway: Gateway, request: S3Request, action: str, resource: str) -> None:
    """Checks that the user may do this. Raises AccessDenied."""
    if not (await rights(gateway, request)).allow(action, resource):
        raise S3Error("AccessDenied")


async def rights(gateway: Gateway, request: S3Request) -> Rights:
    """Returns the rights of the request's user, in a state that is new enough (A1)."""
    return await gateway.access.rights(request.requester, request.arrived)


async def bucket_repository(gateway: Gateway, request: S3Request, action: str) -> Repository:
    """Returns a repository for this action. A user without the right is denied, whether it exists or not."""
    await require(gateway, request, action, resources.repository(request.bucket))
    return await gateway.repository(request, request.bucket)


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
    """Returns the address of an object: of the request's own, or of another bucket and key. Raises NoSuchKey for a key
    that is a ref alone, unless `root` allows the key `ref/`: a folder that always exists and is not stored."""
    address = await resolve_address(gateway, request, bucket or request.bucket, key or request.key, blind=blind)
    if not address.path and not (root and (key or request.key).endswith("/")):
        raise S3Error(
            "NoSuchKey", "A key must name a branch, a tag or a commit, then a slash and a path.", Key=key or request.key
        )
    await require_at(gateway, request, action, address)
    if "\0" in address.path:  # no operation takes such a key, so none should only say that the object does not exist
        raise S3Error("InvalidArgument", "A key cannot contain a NUL character.", ArgumentName="Key")
    return address


async def resolve_address(
    gateway: Gateway, request: S3Request, bucket: str, key: str, *, blind: bool = False
) -> ObjectAddress:
    """Returns what a bucket and a key name. Raises NoSuchBucket, or AccessDenied if the user may not know that there is
    none. A `blind` write only needs the branch to exist, and its append checks that. So a branch that is known here is
    not looked up before."""
    try:
        repository = await gateway.repository(request, bucket)
    except S3Error:
        await require(gateway, request, "fs:ListRepositories", resources.repository(bucket))
        raise
    if gateway.settings.flat:
        snapshot = await repository.branch().snapshot(stale=blind)
        return ObjectAddress(repository, snapshot.name, key, snapshot)
    ref, _, path = key.partition("/")
    try:
        found = await repository.ref(ref).snapshot(stale=blind) if ref else None
    except (NotFound, Invalid):
        found = None
    return ObjectAddress(repository, ref, path, found)


async def require_at(gateway: Gateway, request: S3Request, action: str, address: ObjectAddress) -> None:
    await require(gateway, request, action, resources.object_at(ref_resource(address), address.path))


def ref_resource(address: ObjectAddress) -> str:
    """Returns the resource name of the ref. A ref that does not exist is judged as a branch, so that nobody can find
    out which branches exist."""
    name, snapshot = address.repository.name, address.snapshot
    if snapshot is not None and snapshot.kind == TAG:
        return resources.tag(name, address.ref)
    if snapshot is not None and snapshot.kind == COMMIT:
        return resources.commit(name, snapshot.commit_id)
    return resources.branch(name, address.branch.rstrip("@$"))


async def open_object(address: ObjectAddress, conditions: Conditions) -> ServedObject:
    """Returns the object as it is, ready to be read. Raises NoSuchKey, PreconditionFailed and NotModified."""
    try:
        found = await _open(address)
        found.check(conditions)
    except NotFound:
        raise S3Error("NoSuchKey", Key=address.path) from None
    except ConditionFailed as error:
        raise failed_read(error) from None
    return found


async def _open(address: ObjectAddress) -> ServedObject:
    """Opens the object without its conditions. Raises NotFound."""
    if address.snapshot is None:
        raise NotFound(f"no ref {address.ref!r}")
    if not address.path:
        return RootFolder(address.snapshot.created_us)
    return await address.snapshot.open(address.path)

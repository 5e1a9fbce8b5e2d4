"""Where a plain write goes, and whether its sender may write there: found out once for each state of the lake, which
says who may what, and which repository a bucket is. Whether the branch is there is asked each time."""

from typing import NamedTuple

import msgspec

from lochan.access import resources
from lochan.access.rights import NOTHING, Rights
from lochan.bounded_cache import BoundedCache
from lochan.server.gateway.cached_verifier import VERIFIERS_MAX, CachedVerifier
from lochan.server.gateway.fastpath.engine import OpenRepository, holds_rows
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.wire.addressing import KEY_BYTES_MAX

ACTION = "fs:WriteObject"

_BRANCHES_MAX = 1_024
_NEVER = -1, NOTHING


class WriteTarget(msgspec.Struct, frozen=True, eq=False):
    repository: OpenRepository
    branch: str
    path: str
    bucket: str
    key: str


class _Branch(NamedTuple):
    number: int  # of the lake's record that it is of
    repository: OpenRepository
    name: str
    resource: str  # of its objects, but for the path


class WriteTargets:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._lake = gateway.access.journal
        self._flat = gateway.settings.flat
        self._branches: BoundedCache[tuple[str, str], _Branch] = BoundedCache(_BRANCHES_MAX)  # by bucket and ref
        self._rights: BoundedCache[CachedVerifier, tuple[int, Rights]]  # with the number of the lake's record
        self._rights = BoundedCache(VERIFIERS_MAX)

    def find(self, verifier: CachedVerifier, at: str) -> WriteTarget | None:
        """In a state of the lake that is new enough (A1). None: the branch is not known here, or the path is none, or
        the verifier's key may not write there."""
        bucket, _, key = at[1:].partition("/")
        ref, _, path = ("", "", key) if self._flat else key.partition("/")
        if not path or len(path) * 4 > KEY_BYTES_MAX or "\0" in path:
            return None
        number = self._lake.tail.state.number
        branch = self._branches.get((bucket, ref))
        if branch is None or branch.number != number:
            branch = self._looked_up(number, bucket, ref)
        if branch is None or branch.repository.folded().find_branch(branch.name) is None:
            return None
        if not self._may_write(number, verifier, branch.resource + path):
            return None
        return WriteTarget(branch.repository, branch.name, path, bucket, key)

    def _looked_up(self, number: int, bucket: str, ref: str) -> _Branch | None:
        """None: it is no bucket that is open here, or one of rows."""
        repository = self._gateway.session.known(bucket)
        if repository is None or holds_rows(repository):
            return None
        name = repository.repository.default_branch if self._flat else ref
        resource = resources.object_at(resources.branch(repository.repository.name, name), "")
        return self._branches.put((bucket, ref), _Branch(number, repository, name, resource))

    def _may_write(self, number: int, verifier: CachedVerifier, resource: str) -> bool:
        """The key must still be what it was taken for."""
        of, rights = self._rights.get(verifier) or _NEVER
        if of != number:
            access, key = self._gateway.access.folded(), verifier.key
            if key is None or access.key(key.id) != key:
                return False
            rights = access.rights(key.user)
            self._rights.put(verifier, (number, rights))
        return rights.allow(ACTION, resource)

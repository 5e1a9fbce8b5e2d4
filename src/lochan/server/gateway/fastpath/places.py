"""Finds where plain reads go: the branch that a path names, in the known state of the lake."""

from typing import Final

from lochan.access import resources
from lochan.access.rights import NOTHING, Rights
from lochan.access.state import AccessKey
from lochan.bounded_cache import BoundedCache
from lochan.server.gateway.fastpath.engine import OpenRepository
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.wire.addressing import KEY_BYTES_MAX
from lochan.server.ref_cache import CachedRef

_PLACES_MAX: Final = 1_024


class ReadPlace:
    """A branch that plain reads name, in one state of the lake. The state says which repository a bucket is and who may
    do what. What the last request learned from that state is kept here too: the rights of its key, and the branch."""

    __slots__ = ("allows_all", "branch", "bucket", "front", "key", "number", "ref", "repository", "rights")

    def __init__(self, number: int, repository: OpenRepository, bucket: str, ref: str, front: str) -> None:
        self.number = number  # the number of the lake's last record at that time
        self.repository = repository
        self.bucket = bucket
        self.ref = ref
        self.front = front  # what the resource names of its objects begin with
        self.key: AccessKey | None = None
        self.rights: Rights = NOTHING
        self.allows_all = False  # whether the rights allow every object of the branch, whatever its path
        self.branch: CachedRef | None = None


class ReadPlaces:
    def __init__(self, gateway: Gateway) -> None:
        self._session = gateway.session
        self._lake = gateway.access.journal
        self._flat = gateway.settings.flat
        self._places: BoundedCache[tuple[str, str], ReadPlace] = BoundedCache(_PLACES_MAX)
        self._last: tuple[str, ReadPlace | None] = "", None  # the beginning of the last path, and its place

    def find(self, path: str) -> tuple[ReadPlace, str] | None:
        """Returns the branch and the path of the object in it, in the known state of the lake. Returns None if the
        bucket is not open here, or if the path does not name an object."""
        front, place = self._last
        if place is not None and path.startswith(front) and place.number == self._lake.tail.state.number:
            inside = path[len(front) :]
            if inside and len(path) * 4 <= KEY_BYTES_MAX and "\0" not in inside:
                return place, inside
        bucket, _, name = path[1:].partition("/")
        ref, _, inside = ("", "", name) if self._flat else name.partition("/")
        if not inside or len(name) * 4 > KEY_BYTES_MAX or "\0" in name:
            return None
        place = self._places.get((bucket, ref))
        if place is None or place.number != self._lake.tail.state.number:
            place = self._looked_up(bucket, ref)
        if place is None:
            return None
        self._last = path[: len(path) - len(inside)], place
        return place, inside

    def _looked_up(self, bucket: str, ref: str) -> ReadPlace | None:
        repository = self._session.known(bucket)
        if repository is None:
            return None
        name = repository.repository.default_branch if self._flat else ref
        front = resources.object_at(resources.branch(repository.repository.name, name), "")
        place = ReadPlace(self._lake.tail.state.number, repository, bucket, name, front)
        return self._places.put((bucket, ref), place)

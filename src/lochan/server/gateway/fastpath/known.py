"""What readers of a branch see, kept as long as nothing about the branch changes: the view, and headers made before."""

from typing import NamedTuple

from lochan.formats.entry import Entry
from lochan.server.gateway.looking import stored_headers
from lochan.server.gateway.request import Headers
from lochan.staging.layers import Layers
from lochan.staging.view import View
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.resolve import ResolvedRef
from lochan.versioning.state.branch import BranchState

_BRANCHES_MAX = 256
_OBJECTS_MAX = 10_000  # in all of them: some 25 MB


class Seen(NamedTuple):
    """An object, with what HeadObject says of it."""

    entry: Entry
    headers: Headers
    with_checksums: Headers


class KnownBranch:
    """At one moment. A change makes other layers or another head, so these two tell whether it is still the same."""

    __slots__ = ("_head", "_layers", "_view", "objects")

    def __init__(self, branch: BranchState, view: View) -> None:
        self._layers: Layers = branch.layers
        self._head = branch.head
        self._view = view
        self.objects: dict[str, Seen] = {}

    def is_of(self, branch: BranchState) -> bool:
        return self._layers is branch.layers and self._head == branch.head

    async def look_up(self, path: str) -> Seen | None:
        entry = await self._view.get(path)
        if entry is None:
            return None
        length = ("content-length", str(entry.size))
        plain = [*stored_headers(entry, checksums=False), length]
        return Seen(entry, plain, [*stored_headers(entry, checksums=True), length] if entry.checksums else plain)


class Known:
    def __init__(self) -> None:
        self._branches: dict[tuple[str, str], KnownBranch] = {}
        self._objects = 0  # at most so many

    async def object(self, repository: OpenRepository, branch: BranchState, path: str) -> Seen | None:
        """None: there is none. `branch` as of the moment that the answer is to be of."""
        at = repository.repository.id, branch.name
        known = self._branches.get(at)
        if known is None or not known.is_of(branch):
            known = await self._opened(repository, branch)
            self._branches[at] = known
        found = known.objects.get(path)
        if found is None:
            found = await known.look_up(path)
            if found is not None:
                self._keep(known, path, found)
        return found

    async def _opened(self, repository: OpenRepository, branch: BranchState) -> KnownBranch:
        if len(self._branches) >= _BRANCHES_MAX:
            self._forget()
        commit = repository.folded().commit(branch.head)
        return KnownBranch(branch, await repository.view(ResolvedRef(branch.head, commit, branch)))

    def _keep(self, known: KnownBranch, path: str, found: Seen) -> None:
        if self._objects >= _OBJECTS_MAX:
            self._forget()
        known.objects[path] = found
        self._objects += 1

    def _forget(self) -> None:
        self._branches.clear()
        self._objects = 0

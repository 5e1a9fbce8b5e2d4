"""What readers of a branch see, kept as long as nothing about the branch changes: the view, and headers made before.

An answer is kept with the numbers of the last records of two journals: the lake's, which says who may do what and which
repository a bucket is, and the repository's, which says what is there. As long as neither has gone on, all of that is
as it was, and is not asked again.
"""

from typing import NamedTuple

from lochan.access.state import AccessKey
from lochan.formats.entry import Entry
from lochan.server.gateway.object_headers import stored_headers
from lochan.server.gateway.request import Headers
from lochan.staging.layers import Layers
from lochan.staging.view import View
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.revisions.resolve import ResolvedRef
from lochan.versioning.state.branch import BranchState

_BRANCHES_MAX = 256
_OBJECTS_MAX = 10_000  # in all of them: some 25 MB
_ANSWERS_MAX = 10_000  # 3 MB, and the headers that the object cache may have forgotten: some 25 MB


class CachedObject(NamedTuple):
    """An object, with what HeadObject says of it."""

    entry: Entry
    headers: Headers
    with_checksums: Headers


class CachedBranch:
    """At one moment. A change makes other layers or another head, so these two tell whether it is still the same."""

    __slots__ = ("_head", "_layers", "_view", "objects")

    def __init__(self, branch: BranchState, view: View) -> None:
        self._layers: Layers = branch.layers
        self._head = branch.head
        self._view = view
        self.objects: dict[str, CachedObject] = {}

    def is_of(self, branch: BranchState) -> bool:
        return self._layers is branch.layers and self._head == branch.head

    async def look_up(self, path: str) -> CachedObject | None:
        entry = await self._view.get(path)
        if entry is None:
            return None
        length = ("content-length", str(entry.size))
        plain = [*stored_headers(entry, checksums=False), length]
        return CachedObject(
            entry, plain, [*stored_headers(entry, checksums=True), length] if entry.checksums else plain
        )


class ObjectCache:
    def __init__(self) -> None:
        self._branches: dict[tuple[str, str], CachedBranch] = {}
        self._objects = 0  # at most so many

    async def object(self, repository: OpenRepository, branch: BranchState, path: str) -> CachedObject | None:
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

    async def _opened(self, repository: OpenRepository, branch: BranchState) -> CachedBranch:
        if len(self._branches) >= _BRANCHES_MAX:
            self._forget()
        commit = repository.folded().commit(branch.head)
        return CachedBranch(branch, await repository.view(ResolvedRef(branch.head, commit, branch)))

    def _keep(self, known: CachedBranch, path: str, found: CachedObject) -> None:
        if self._objects >= _OBJECTS_MAX:
            self._forget()
        known.objects[path] = found
        self._objects += 1

    def _forget(self) -> None:
        self._branches.clear()
        self._objects = 0


class CachedAnswer(NamedTuple):
    key: AccessKey
    repository: OpenRepository
    bucket: str
    ref: str
    inside: str
    seen: CachedObject
    numbers: tuple[int, int]  # of the lake's last record, and the repository's


class AnswerCache:
    def __init__(self) -> None:
        self._answers: dict[tuple[str, str], CachedAnswer] = {}  # by the access key's id and the path

    def find(self, key: AccessKey, path: str) -> CachedAnswer | None:
        """The last one, whether or not it still holds."""
        found = self._answers.get((key.id, path))
        return found if found is not None and found.key is key else None

    def keep(self, path: str, answer: CachedAnswer) -> None:
        if len(self._answers) >= _ANSWERS_MAX:
            self._answers.clear()
        self._answers[answer.key.id, path] = answer

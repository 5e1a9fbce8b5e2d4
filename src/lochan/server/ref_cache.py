"""Opens what refs name for single paths that are looked up thousands of times a second, for the fast path of the
gateway and for `stat` over REST. No other module of the server reaches so far below `lochan.api`."""

from lochan.bounded_cache import BoundedCache
from lochan.formats.commit import Commit
from lochan.formats.entry import Tombstone
from lochan.staging import covering_tree
from lochan.staging.layers import EMPTY
from lochan.staging.point_lookup import Found, PointLookup
from lochan.staging.view import View
from lochan.tree.tree import NotOpen as NotOpen
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.branch import BranchState

_REFS_MAX = 256

Named = BranchState | str  # what a ref names: a branch in one state, or a commit by its id


class CachedRef:
    """What a ref names at one moment. A branch is recognized by its state, because a change makes another one. The
    commit must not have expired. Any record may say that it has, so it is checked again in each state of the
    repository."""

    __slots__ = ("_commit", "_repository", "lookup", "named", "number", "view")

    def __init__(
        self, repository: OpenRepository, named: Named, commit: Commit, lookup: PointLookup, view: View
    ) -> None:
        self._repository = repository
        self._commit = commit
        self.number = -1  # the number of the last record of the repository in which the ref named this
        self.named = named
        self.lookup = lookup
        self.view = view

    def is_of(self, repository: OpenRepository, named: Named) -> bool:
        """Returns whether this is still what the ref names. Raises Gone if the commit has expired."""
        same = self.named is named or (isinstance(named, str) and self.named == named)
        if not same or self._repository is not repository:
            return False
        number = repository.journal.tail.state.number
        if self.number != number:
            repository.folded().check_live(self._commit)
            self.number = number
        return True

    def find(self, path: str) -> Found | None:
        """Returns the object at a path, or None if there is none. Raises NotOpen."""
        change = self.lookup.fresh(path)
        if change is None:
            return self.lookup.settled.find(path)
        return None if isinstance(change, Tombstone) else change


class RefCache:
    def __init__(self) -> None:
        self._refs: BoundedCache[tuple[str, str], CachedRef] = BoundedCache(_REFS_MAX)

    def find(self, repository: OpenRepository, ref: str, named: Named) -> CachedRef:
        """Returns what a ref names, if it is open. `named` is what the ref names in the state that the caller knows. It
        stays that for as long as the repository's last record has the number of what is found. Raises NotOpen if it has
        to be opened first, with `open`."""
        cached = self._refs.get((repository.repository.id, ref))
        if cached is None or not cached.is_of(repository, named):
            raise NotOpen
        return cached

    async def open(self, repository: OpenRepository, ref: str, named: Named, path: str) -> None:
        """Opens what a look at the path needs. Raises what reading raises."""
        at = repository.repository.id, ref
        cached = self._refs.get(at)
        if cached is None or not cached.is_of(repository, named):
            self._refs.put(at, await _open(repository, named, cached))
        else:
            await cached.view.get(path)


async def _open(repository: OpenRepository, named: Named, earlier: CachedRef | None) -> CachedRef:
    id, layers = (named, EMPTY) if isinstance(named, str) else (named.head, named.layers)
    commit = repository.folded().commit(id)
    base = await repository.tree(commit)
    over = await covering_tree.open_tree(layers, base, repository.trees)
    before = None if earlier is None else earlier.lookup
    lookup = PointLookup(layers, base, repository.runs, over, before)
    return CachedRef(repository, named, commit, lookup, View(layers, base, repository.runs, over))

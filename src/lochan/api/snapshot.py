"""A ref as it was at one moment: whatever is written or moved later, its verbs read the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lochan.api.ref import OpenedRef, Ref
from lochan.api.session import OpenedRepository, Session

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from lochan.staging.view import View
    from lochan.versioning.open_repository import OpenRepository
    from lochan.versioning.repositories import Repository
    from lochan.versioning.revisions.resolve import ResolvedRef
    from lochan.versioning.state.branch import BranchState
    from lochan.versioning.state.refs import Refs

BRANCH, WORKSPACE, TAG, COMMIT = "branch", "workspace", "tag", "commit"


class RefSnapshot(Ref):
    """A ref at one moment. Its name is the one by which it was requested; `kind` is what that names (branch, workspace,
    tag, commit), and `commit_id` its commit. Files of a workspace that other programs write are read in their current
    state."""

    def __init__(self, session: Session, repository: Repository, name: str, kind: str, found: ResolvedRef) -> None:
        super().__init__(session, repository.name, name)
        self._repository = repository
        self.kind = kind
        self._resolved = found

    @classmethod
    async def taken(
        cls, session: Session, repository: OpenRepository, name: str, *, stale: bool = False
    ) -> RefSnapshot:
        """Takes a snapshot. Raises NotFound, Invalid."""
        from lochan.versioning.revisions.resolve import resolve

        branch = repository.folded().find_branch(name) if stale else None
        if branch is not None:
            return cls.of_branch(session, repository, branch)
        refs, _ = await repository.refs()
        found = resolve(refs, name, workspaces=True, now=repository.clock.wall())
        return cls(session, repository.repository, name, _kind(refs, name, found), found)

    @classmethod
    def of_branch(cls, session: Session, repository: OpenRepository, branch: BranchState) -> RefSnapshot:
        from lochan.versioning.revisions.resolve import ResolvedRef

        found = ResolvedRef(branch.head, repository.folded().commit(branch.head), branch)
        return cls(session, repository.repository, branch.name, BRANCH, found)

    @property
    def is_pool(self) -> bool:
        """Whether its repository holds rows, and not files."""
        return self._repository.kind == "pool"

    @property
    def created_us(self) -> int:
        """The time at which its repository was made, in microseconds since 1970."""
        return self._repository.created

    @property
    def commit_id(self) -> str:
        """The commit of the ref; for a workspace, the commit that it was opened on."""
        return self._resolved.commit_id

    @property
    def branch_name(self) -> str:
        """The name of the branch, also for a workspace; otherwise empty."""
        if self._resolved.workspace is not None:
            return self._resolved.workspace.branch
        return "" if self._resolved.branch is None else self._resolved.branch.name

    @property
    def lasting_name(self) -> str:
        """A name that can mean no other commit later. For a tag or an expression, it is the commit's id; branches and
        workspaces keep their own."""
        return self.name if self.kind in (BRANCH, WORKSPACE) else self.commit_id

    def shows_same(self, other: RefSnapshot) -> bool:
        """Returns whether readers see the same in both. Layers are never changed, only replaced. Files of a workspace
        may change without an event, so that snapshots of workspaces are never the same."""
        one, two = self._resolved, other._resolved
        only = (one.committed_only, one.staged_only) == (two.committed_only, two.staged_only)
        same = self._repository.id == other._repository.id and one.commit_id == two.commit_id and only
        return same and self.kind != WORKSPACE and _layers(one) is _layers(two)

    def _opened(self) -> OpenedRef:
        return OpenedRef(OpenedRepository(self._session, self.repository_name, self._repository), self.name)

    async def _view(self, repository: OpenRepository, name: str) -> View:
        return await repository.view(self._resolved)

    def _traced(self, repository: OpenRepository, name: str, path: str) -> AbstractAsyncContextManager[str]:
        return self._session.traced(repository, name, path, self._resolved)


def _kind(refs: Refs, name: str, found: ResolvedRef) -> str:
    if found.workspace is not None:
        return WORKSPACE
    if found.branch is not None:
        return BRANCH
    return COMMIT if refs.find_tag(name) is None else TAG


def _layers(found: ResolvedRef) -> object:
    return None if found.branch is None else found.branch.layers

"""An open repository: its journal, trees, runs and bodies. The verbs are functions over it."""

from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lochan.clock import Clock
from lochan.formats.commit import Commit
from lochan.formats.events import Event
from lochan.formats.metarange import EMPTY as NO_TREE
from lochan.formats.metarange import TreeRef
from lochan.formats.record import Actor
from lochan.ids import Ids
from lochan.journal.group import AppendRequest
from lochan.journal.journal import Journal
from lochan.staging import covering_tree
from lochan.staging.layers import EMPTY, Layers
from lochan.staging.runs import Runs
from lochan.staging.view import View
from lochan.store.protocol import Store
from lochan.store.verified_files import VerifiedFiles
from lochan.tree.assemble import POOLS
from lochan.tree.assemble import STANDARD as STANDARD_CUT
from lochan.tree.cache import ArrowCache
from lochan.tree.tree import Tree
from lochan.tree.trees import Trees
from lochan.versioning.bodies.address import STANDARD, BodySettings
from lochan.versioning.bodies.block_places import BlockPlaces
from lochan.versioning.bodies.outside_files import OutsideFiles
from lochan.versioning.bodies.read import BodyReader
from lochan.versioning.bodies.tokens import TokenKey
from lochan.versioning.bodies.write import Bodies
from lochan.versioning.repositories import POOL, Repository
from lochan.versioning.revisions.log_positions import LogPositions
from lochan.versioning.revisions.resolve import ResolvedRef, resolve
from lochan.versioning.state.refs import Refs
from lochan.versioning.state.workspaces import WorkspaceState
from lochan.versioning.workspaces.folder import WorkspaceFolder

if TYPE_CHECKING:  # only servers pack, and readers join nothing
    from lochan.versioning.bodies.pack import Packing
    from lochan.versioning.gate import Gate
    from lochan.versioning.heads.joins import HistoryJoins
    from lochan.warm import WarmLake

Decide = Callable[[Refs], Sequence[Event]]


class OpenRepository:
    def __init__(
        self,
        repository: Repository,
        journal: Journal,
        store: Store,
        clock: Clock,
        ids: Ids,
        *,
        writer: str,
        outside: OutsideFiles | None,
        settings: BodySettings = STANDARD,
        cache: ArrowCache | None = None,
        verified: VerifiedFiles | None = None,
        warm: "WarmLake | None" = None,
    ) -> None:
        id = repository.id
        self.repository = repository
        self.store = store
        self.journal = journal
        self.clock = clock
        self.ids = ids
        self.trees = Trees(
            store,
            id,
            cache=cache,
            cut=POOLS if repository.kind == POOL else STANDARD_CUT,
            listed=None if warm is None else warm.trees,
            held=None if warm is None else warm.ranges,
            held_patches=None if warm is None else warm.patches,
        )
        self.runs = Runs(store, id, clock, ids, threads=self.trees.threads, held=None if warm is None else warm.runs)
        self.bodies = Bodies(
            store,
            prefix=id,
            clock=clock,
            ids=ids,
            writer=writer,
            address_style=settings.address_style,
            tag_paths=settings.tag_paths,
            last_plan=lambda: self.folded().collection.plan,
        )
        self.token_key = TokenKey(store, clock, ids)
        self.log_positions = LogPositions()
        self.outside = outside
        self.places = BlockPlaces(store, id, journal, lambda: self.folded().collection.alias_names)
        self.reader = BodyReader(store, outside, verified=verified, places=self.places)
        self.gate: Gate | None = None  # its hooks, or None if it has none
        self.joins: HistoryJoins | None = None  # joins trees; None joins them path by path
        self.staged: Callable[[str], None] = lambda branch: None  # called with every branch that was written to
        self.closing: Callable[[], Awaitable[None]] | None = None
        self.settle_closed: Callable[[int, float], Awaitable[None]] | None = None  # see `deletion.settle_closed`

    @cached_property
    def packing(self) -> "Packing":
        """The packing of small bodies that arrive at the same time, which then share a file."""
        from lochan.versioning.bodies.pack import Packing

        return Packing(self.bodies, self.journal)

    @cached_property
    def small_objects(self) -> Bodies:
        """Writes the small data objects of a pool, one file each. They share a folder for a while (see `address.py`).
        A job that holds its files by their number needs a writer of its own."""
        return Bodies(
            self.store,
            prefix=self.repository.id,
            clock=self.clock,
            ids=self.ids,
            writer=self.ids.ksuid(self.clock.wall()),
            last_plan=lambda: self.folded().collection.plan,
        )

    async def refs(self) -> tuple[Refs, int]:
        """Returns the current refs, and the number of the state: the mint of everything that is made from it. The refs
        keep changing; values read from them before the next await belong together."""
        state = await self.journal.fresh()
        refs = state.of(Refs)
        while refs.guard.closed and self.settle_closed is not None:
            await self.settle_closed(refs.guard.closed, refs.collection.retention.undo_days)
            state = await self.journal.fresh()
            refs = state.of(Refs)
        return refs, state.number

    def folded(self) -> Refs:
        """Returns the refs as this process last saw them."""
        return self.journal.tail.state.of(Refs)

    async def submit(self, actor: Actor, *events: Event, key: str = "", fingerprint: bytes = b"") -> Any:
        return await self.journal.submit(AppendRequest(actor, lambda state: events, key, fingerprint))

    async def submit_decided(self, actor: Actor, decide: Decide, *, key: str = "", fingerprint: bytes = b"") -> Any:
        """Submits events that depend on the very state they are added to. `decide` is called again after a lost
        race."""
        return await self.journal.submit(AppendRequest(actor, lambda state: decide(state.of(Refs)), key, fingerprint))

    async def resolve(self, ref: str, *, workspaces: bool = False) -> ResolvedRef:
        refs, _ = await self.refs()
        return resolve(refs, ref, workspaces=workspaces, now=self.clock.wall())

    async def tree(self, commit: Commit) -> Tree:
        """Opens the tree of a commit. Raises Gone if the commit has expired."""
        self.folded().check_live(commit)
        return await self.trees.open(TreeRef(commit.tree, commit.tree_file))

    async def view(self, resolved: ResolvedRef) -> View:
        """Returns what a reader of that ref sees. For a branch, this includes staged changes unless the ref excludes
        them."""
        if resolved.workspace is not None:
            return await self.view_in(resolved.workspace, resolved.commit)
        if resolved.staged_only and resolved.branch is not None:
            return View(resolved.branch.layers, await self.trees.open(NO_TREE), self.runs)
        layers = EMPTY if resolved.branch is None or resolved.committed_only else resolved.branch.layers
        return await self.view_of(resolved.commit, layers)

    async def view_of(self, commit: Commit, layers: Layers) -> View:
        base = await self.tree(commit)
        return View(layers, base, self.runs, await covering_tree.open_tree(layers, base, self.trees))

    async def view_in(self, workspace: WorkspaceState, fork: Commit) -> View:
        """Returns the view of a workspace. At each path it shows the file, unless it is hidden; otherwise what is
        staged in the workspace; otherwise the commit that the workspace was opened on."""
        return View(workspace.layers, await self.tree(fork), self.runs, above=self.shown_folder(workspace))

    def folder(self, workspace: str) -> WorkspaceFolder:
        """Returns the folder of the workspace with all its files, hidden or not."""
        return WorkspaceFolder(self.store, self.repository.id, workspace)

    def shown_folder(self, workspace: WorkspaceState) -> WorkspaceFolder:
        """Returns the files that a reader of the workspace sees at that time."""
        return WorkspaceFolder(self.store, self.repository.id, workspace.id, workspace.hidden)

    async def close(self) -> None:
        if self.closing is not None:
            await self.closing()
        await self.trees.ranges.settled()
        await self.journal.close()

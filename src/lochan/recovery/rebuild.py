"""Makes the derived files of a repository again from the primary ones, or compares them.

    1  fold the journal, link by link; compare checkpoints; record which event made which file
    2  read the files that the state names; find out which are missing or damaged
    3  fold again, and carry out the requested recipes, with those that they depend on
    4  compare, or write the missing files

An expired commit's files are not made again, unless a file that is kept follows from them, and then only in the scratch
folder. Files that cannot be made again are listed, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from lochan.clock import Clock
from lochan.errors import Corrupt, FutureFormat, NotFound
from lochan.formats import checkpoint as checkpoints
from lochan.formats import metarange
from lochan.formats.metarange import TreeRef
from lochan.formats.run import RunRef
from lochan.journal.state import State, StatePart
from lochan.recovery.derive import CannotDerive, Deriver
from lochan.recovery.digests import SEGMENTS_MIN, DigestSource, digest_pool, in_this_process
from lochan.recovery.journal_walk import JournalDamage, JournalFiles, JournalWalk, list_journal
from lochan.recovery.live_files import MISSING, LiveCheck
from lochan.recovery.overlay_store import OverlayStore
from lochan.recovery.recipes import WATCHED, PrimaryTree, Recipe, TreeRecipe, mint_of_file, recipes_of
from lochan.recovery.replay import InvalidEvent, NotPlain, Replay
from lochan.store.protocol import Store
from lochan.store.threads import for_tables
from lochan.versioning.collection.roots import Roots, RootScan
from lochan.versioning.repositories import POOL
from lochan.versioning.state.refs import Refs

SAME, SAME_CONTENT, DIFFERS, MADE, LOST = "same", "same-content", "differs", "made", "lost"


class RebuiltFile(NamedTuple):
    path: str  # the path below the lake
    kind: str  # checkpoint, metarange, range, run
    outcome: str  # same, same-content, differs, made, lost
    reason: str = ""  # why it is lost, or what was wrong with the file that was replaced
    was_damaged: bool = False  # whether there was a file, and it was damaged


class _Note(NamedTuple):
    """A recipe without its contents."""

    number: int
    files: tuple[str, ...]
    trees: tuple[TreeRef, ...]
    runs: tuple[RunRef, ...]
    reason: str  # why it cannot be carried out
    commit: str


class _Notes:
    def __init__(self, notes: Iterable[_Note]) -> None:
        self.by_file: dict[str, _Note] = {}
        self._trees_by_mint: dict[int, list[str]] = {}
        for note in notes:
            for file in note.files:
                self.by_file.setdefault(file, note)  # a file is made once, and may be named again
                if file.startswith("metaranges/") and not note.reason:
                    self._trees_by_mint.setdefault(mint_of_file(file), []).append(file)

    def tell(self, file: str) -> bool:
        """Returns whether the file can be made again from an event."""
        return file in self.by_file and not self.by_file[file].reason

    def makers(self, file: str) -> list[str]:
        """Returns the files whose recipes may make this one. A range is made with a tree that was minted together with
        it."""
        if file.startswith("ranges/"):
            return self._trees_by_mint.get(mint_of_file(file), [])
        return [file] if file in self.by_file else []


class FoldedJournal(NamedTuple):
    """The result of a walk through a journal."""

    replay: Replay
    checkpoints: tuple[RebuiltFile, ...]
    notes: tuple[_Note, ...]
    right_checkpoints: dict[int, bytes]  # the right content of checkpoints that are missing or wrong
    damage: JournalDamage | None = None  # the place where it breaks off

    @property
    def state(self) -> State:
        return self.replay.settle()

    @property
    def invalid(self) -> list[InvalidEvent]:
        return self.replay.invalid


async def fold_journal(
    store: Store,
    journal: str,
    parts: tuple[type[StatePart], ...],
    files: JournalFiles | None = None,
    *,
    digest: DigestSource | None = None,
) -> FoldedJournal:
    """Folds the journal from the first record on, as far as it can be read. `digest` prepares segments elsewhere;
    without it, other processes help with a long journal. Raises FutureFormat."""
    files = files or await list_journal(store, journal)
    if Refs in parts and (digest is not None or files.segments):
        if digest is None and len(files.segments) < SEGMENTS_MIN:
            digest = in_this_process()
        # If anything is unusual, the journal is read once more, record by record, which finds out what it is.
        with suppress(NotPlain, Corrupt):
            if digest is not None:
                return await fold_once(store, journal, parts, files, digest)
            with digest_pool() as pool:
                return await fold_once(store, journal, parts, files, pool)
    return await fold_once(store, journal, parts, files, None)


async def fold_once(
    store: Store, journal: str, parts: tuple[type[StatePart], ...], files: JournalFiles, digest: DigestSource | None
) -> FoldedJournal:
    """Folds the journal once. With `digest`, it raises NotPlain or Corrupt if a fold record by record is needed to find
    out what is wrong."""
    notes: list[_Note] = []
    replay = Replay(journal, parts, WATCHED if Refs in parts else frozenset(), recipes_of)
    walk = JournalWalk(store, journal, files)
    listed = await _listed_checkpoints(store, journal)
    found: list[RebuiltFile] = []
    made: dict[int, bytes] = {}
    damage: JournalDamage | None = None

    async def compare() -> None:
        right = checkpoints.encode(replay.settle().checkpoint())
        found.append(await _compare_checkpoint(store, replay.state, right))
        if found[-1].outcome not in (SAME, SAME_CONTENT):
            made[replay.state.number] = right

    if digest is not None:
        groups = range(_unbroken(files.segments))
        async for each in digest(store, journal, groups, listed):
            for number, recipes in replay.fold_digest(each):
                notes += [_note(recipe) for recipe in recipes]
                if number in listed:
                    await compare()
        walk.number, walk.digest = replay.state.number, replay.state.digest
    try:
        async for sealed in walk.records():
            notes += [_note(each) for each in replay.fold(sealed)]
            if walk.number in listed:
                await compare()
    except JournalDamage as error:
        damage = error
    for number in sorted(each for each in listed if each > walk.number):
        path = checkpoint_path(journal, number)
        found.append(RebuiltFile(path, "checkpoint", LOST, f"the journal ends at record {walk.number}", True))
    replay.settle()
    return FoldedJournal(replay, tuple(found), tuple(notes), made, damage)


class Rebuild:
    """Rebuilds one repository. `scratch` is a store that is used for nothing else, with room for the files that are
    made."""

    def __init__(
        self,
        store: Store,
        repository: str,
        kind: str,
        scratch: Store,
        clock: Clock,
        digest: DigestSource | None = None,
    ) -> None:
        self._store = store
        self._repository = repository
        self._kind = kind
        self._digest = digest
        self._overlay = OverlayStore(store, scratch)
        self._clock = clock
        self._threads = for_tables()
        self._cannot: dict[str, str] = {}  # by file, the reason why it was not made
        self._parts: tuple[type[StatePart], ...] = (Refs,)

    async def fold(self) -> FoldedJournal:
        return await fold_journal(self._store, self._repository, self._parts, digest=self._digest)

    async def damaged(self, roots: Roots) -> LiveCheck:
        check = LiveCheck(self._store, self._repository, self._threads)
        await check.check(roots.trees, roots.runs)
        return check

    async def make(
        self, folded: FoldedJournal, live: LiveCheck, *, everything: bool, seen: Callable[[int], None] = lambda n: None
    ) -> list[RebuiltFile]:
        """Makes the missing or damaged files, or all derived files, in the scratch store. The caller must put a file
        with outcome `made` to the lake."""
        notes = _Notes(folded.notes)
        tried: set[str] = set()
        while True:
            wanted = {file for file in live.files if everything and notes.tell(file)}
            wanted |= {maker for file in live.damaged for maker in notes.makers(file)}
            if wanted <= tried:
                break
            await self._carry_out(await self._closure(wanted - tried, notes, live), seen)
            tried |= wanted
            await self._look_into(live)
        results = [await self._result(file, notes, live) for file in sorted(live.files)]
        return [each for each in results if each is not None]

    async def _look_into(self, live: LiveCheck) -> None:
        """Checks the ranges of trees that were just made, because they were not known before."""
        for file in [each for each in live.damaged if each in live.refs and not live.trees[each]]:
            path = f"{self._repository}/{file}"
            if self._overlay.has(path):
                ranges = metarange.decode(await self._overlay.get(path), live.refs[file], path)
                live.trees[file] = tuple(metarange.with_bases(ranges))
                await live.check_ranges(ranges)

    async def _closure(self, wanted: set[str], notes: _Notes, live: LiveCheck) -> dict[int, set[str]]:
        """Returns the files to make, by the number of their event: the wanted ones, and those of their inputs that are
        gone."""
        needed: dict[int, set[str]] = {}
        queue = list(wanted)
        done: set[str] = set()
        while queue:
            file = queue.pop()
            if file in done:
                continue
            done.add(file)
            note = notes.by_file[file]
            if note.reason:
                continue
            needed.setdefault(note.number, set()).update(note.files)
            inputs = {*(each.file for each in note.trees), *(each.file for each in note.runs)} - {""}
            queue += [each for each in inputs if each in notes.by_file and not await self._is_there(each, live)]
            for tree in note.trees:
                gone = (each.file for each in live.trees.get(tree.file, ()) if each.file in live.damaged)
                queue += [maker for each in gone for maker in notes.makers(each)]
        return needed

    async def _is_there(self, file: str, live: LiveCheck) -> bool:
        if file in live.damaged:
            return False
        if file in live.files:
            return True
        try:
            await self._store.head(f"{self._repository}/{file}")
        except NotFound:
            return False
        return True

    async def _carry_out(self, needed: dict[int, set[str]], seen: Callable[[int], None]) -> None:
        if not needed:
            return
        deriver = Deriver(self._overlay, self._repository, self._clock, is_pool=self._kind == POOL)
        replay = Replay(self._repository, self._parts, WATCHED, recipes_of)
        walk = JournalWalk(self._store, self._repository, await list_journal(self._store, self._repository))
        last = max(needed)
        async for sealed in walk.records():
            for recipe in replay.fold(sealed):
                if needed.get(recipe.number, set()).intersection(recipe.files):
                    await self._derive(deriver, recipe)
                    seen(1)
            if walk.number >= last:
                return

    async def _derive(self, deriver: Deriver, recipe: Recipe) -> None:
        try:
            await deriver.derive(recipe)
        except CannotDerive as error:
            self._cannot |= dict.fromkeys(recipe.files, error.message)

    async def _result(self, file: str, notes: _Notes, live: LiveCheck) -> RebuiltFile | None:
        path, damage = f"{self._repository}/{file}", live.damaged.get(file)
        kind = file.partition("/")[0].removesuffix("s")
        if not self._overlay.has(path):
            if damage is None:
                return None
            return RebuiltFile(path, kind, LOST, self._why_lost(file, notes), not damage.is_missing)
        if damage is not None:
            return RebuiltFile(path, kind, MADE, damage.what, not damage.is_missing)
        made, found = await self._overlay.get(path), await self._store.get(path)
        return RebuiltFile(path, kind, SAME if made == found else SAME_CONTENT)

    def _why_lost(self, file: str, notes: _Notes) -> str:
        note = notes.by_file.get(file)
        reasons = [self._cannot[each] for each in (file, *sorted(notes.makers(file))) if each in self._cannot]
        if reasons:
            return reasons[0]
        if note is not None and note.reason:
            return note.reason
        if file.startswith("ranges/"):
            return "the tree that it was made with is primary, or its event is gone"
        return "it is primary: no event tells what it was made from"

    async def bytes_of(self, path: str) -> bytes:
        """Returns the bytes that were made for that path."""
        return await self._overlay.scratch.get(path)


def live_roots(state: State, repository: str) -> Roots:
    return RootScan(repository).look(state.of(Refs))


def _note(recipe: Recipe) -> _Note:
    reason = recipe.reason if isinstance(recipe, PrimaryTree) else ""
    commit = recipe.commit if isinstance(recipe, TreeRecipe) else ""
    return _Note(recipe.number, recipe.files, recipe.trees, recipe.runs, reason, commit)


def _unbroken(groups: list[int]) -> int:
    """Returns how many groups there are from the first one on, without a gap."""
    return next((at for at, group in enumerate(groups) if at != group), len(groups))


async def _listed_checkpoints(store: Store, journal: str) -> set[int]:
    prefix = f"{journal}/checkpoints/"
    names = [stat.path.removeprefix(prefix) async for stat in store.list(prefix)]
    return {int(name) for name in names if len(name) == 20 and name.isdigit()}


async def _compare_checkpoint(store: Store, state: State, right: bytes) -> RebuiltFile:
    path = checkpoint_path(state.journal, state.number)
    try:
        data = await store.get(path)
        if data == right:
            return RebuiltFile(path, "checkpoint", SAME)
        found = checkpoints.decode(data, path)
        if (found.journal, found.number, found.digest) != (state.journal, state.number, state.digest):
            return RebuiltFile(path, "checkpoint", DIFFERS, "it is that of another record", True)
        again = checkpoints.encode(state.schema.restore(found).checkpoint())
    except NotFound:
        return RebuiltFile(path, "checkpoint", MADE, MISSING)
    except (Corrupt, FutureFormat) as error:
        return RebuiltFile(path, "checkpoint", DIFFERS, error.message, True)
    if _without_order(again) == _without_order(right):
        return RebuiltFile(path, "checkpoint", SAME_CONTENT)
    return RebuiltFile(path, "checkpoint", DIFFERS, "it holds another state than the records before it", True)


def _without_order(data: bytes) -> object:
    """Returns the state without the order of tables that have none."""
    import msgspec

    decoded = checkpoints.decode(data, "a checkpoint")
    return {name: _sort_nested(msgspec.msgpack.decode(part)) for name, part in decoded.parts.items()}


def _sort_nested(value: object) -> object:
    if isinstance(value, dict):
        return sorted((repr(key), repr(_sort_nested(each))) for key, each in value.items())
    if isinstance(value, list):
        return sorted(repr(_sort_nested(each)) for each in value)
    return value


def checkpoint_path(journal: str, number: int) -> str:
    return f"{journal}/checkpoints/{number:020d}"

"""The oracle of a pool: which rows each commit must hold, given the head it landed on and the request.

Rows are words, each loaded once. So a row that is there twice is duplicated, and one that is missing is lost. Nothing
here knows of objects.
"""

import re
from collections import Counter
from collections.abc import Callable

from lochan.errors import Corrupt, LochanError
from lochan.formats import record as records
from lochan.formats.commit import Commit
from lochan.formats.repository_events import BranchCreated, Moved, RepositoryOpened, Turned, TurnOver
from lochan.journal.state import Schema
from lochan.versioning.revisions.graph import log, merge_bases, only_left
from lochan.versioning.state.refs import Refs
from tests.sim.store import SimStore
from tests.sim.versioning.files import Files, Missing
from tests.sim.versioning.request import ClientRequest
from tests.sim.world import World

Rows = frozenset[str]
STAGING = ("staged", "runs-staged", "sealed", "committed")


class PoolOracle:
    def __init__(self, world: World, store: SimStore, prefix: str) -> None:
        self.world = world
        self.store = store
        self.prefix = prefix
        self.floor = 0
        self.files = Files(store, prefix)
        self._schema = Schema(Refs, alarm=self.alarm)
        self._state = self._schema.empty(prefix)
        self._slot = re.compile(rf"{prefix}/journal/(\d{{20}})")
        self._wishes: dict[str, ClientRequest] = {}
        self._landed: Counter[str] = Counter()
        self._never: set[str] = set()
        self._heads: dict[str, str] = {}
        self._read = 0

    # --- what the code under test tells ------------------------------------------------------------------------------
    def alarm(self, text: str) -> None:
        if "no checkpoint" not in text and "was not trimmed" not in text:
            self.world.fail(f"ALARM: {text}")

    def asked(self, tag: str, request: ClientRequest) -> None:
        self._wishes[tag] = request

    def acknowledged(self, tag: str, times: int = 1) -> None:
        self.update()
        if self._landed[tag] != times:
            self.world.fail(f"LOST or DOUBLED: {tag} is acknowledged and stands {self._landed[tag]} times")

    def refused(self, tag: str, error: LochanError) -> None:
        self._never.add(tag)

    def not_sent(self, tag: str) -> None:
        self._never.add(tag)

    def judge(self) -> None:
        self.update()
        for tag, times in self._landed.items():
            if times > 1 or tag in self._never:
                self.world.fail(f"DOUBLED or a FALSE FAILURE: {tag} stands {times} times")

    # --- what was decided --------------------------------------------------------------------------------------------
    def update(self) -> None:
        history = self.store.history
        while self._read < len(history):
            effect = history[self._read]
            self._read += 1
            if effect.outcome == "created" and effect.data and (slot := self._slot.fullmatch(effect.path)):
                self._decided(int(slot[1]), effect.data)

    def _decided(self, number: int, data: bytes) -> None:
        sealed = records.decode(data, f"record {number}")
        try:
            self._state.fold(sealed)
        except Corrupt as error:
            self.world.fail(f"FORKED: {error}")
        for entry in sealed.record.entries:
            tag = entry.actor.source
            self.world.note(sealed.record.writer, f"  record {number}: {[each.type for each in entry.changes]} ({tag})")
            for change in entry.changes:
                event = self._schema.vocabulary.decode(change, self.prefix, number)
                if change.type in STAGING:
                    self.world.fail(f"STAGED: {change.type} on a pool ({tag})")
                match event:
                    case Moved():
                        self._moved(event, self._wishes[tag])
                    case RepositoryOpened():
                        self._heads[event.default_branch] = event.commit.id
                    case BranchCreated():
                        self._heads[event.name] = event.commit
                if tag in self._wishes and not isinstance(event, Turned | TurnOver):
                    self._landed[tag] += 1

    def _moved(self, event: Moved, request: ClientRequest) -> None:
        if event.commits[0].parents[0] != self._heads[event.branch]:
            self.world.fail(f"OVERWRITTEN: {request.verb} on {request.branch} was computed on another head")
        self._heads[event.branch] = event.target
        try:
            for commit in event.commits:
                found, meant = self.rows(commit), self._meant(commit, request)
                if found != meant:
                    self.world.fail(
                        f"ROWS: {request.verb} on {request.branch} left {sorted(found)}, not {sorted(meant)}"
                    )
        except Missing as error:
            self.world.fail(str(error))

    def _meant(self, commit: Commit, request: ClientRequest) -> Rows:
        before = self.of(commit.parents[0])
        match request.verb:
            case "load":
                return before | set(request.paths)
            case "compact":
                return before
            case "delete":
                return frozenset(row for row in before if not row.startswith(request.paths))
            case "merge":
                return self._merged(*commit.parents)
            case "cherry-pick":
                chosen = self._commit(request.commit)
                after, base = self.rows(chosen), self.of(chosen.parents[0])
                return (before - (base - after)) | (after - base - self._ever(commit.parents[0]))
            case "revert":
                undone = self._commit(request.commit)
                after, base = self.rows(undone), self.of(undone.parents[0])
                since = only_left(self._commit, commit.parents[0], request.commit)
                held = frozenset().union(*(self.of(id) for id in since))
                return (before - (after - base)) | (base - after - held)
        raise AssertionError(request.verb)

    def _merged(self, ours: str, theirs: str) -> Rows:
        """REQUIRES: one merge base."""
        base = self.of(merge_bases(self._commit, ours, theirs)[0])
        o, t = self.of(ours), self.of(theirs)
        return (o - (base - t)) | (t - base - self._ever(ours)) | (o & t)

    def _ever(self, id: str) -> Rows:
        return frozenset().union(*(self.of(each) for each, _ in log(self._commit, id)))

    def of(self, id: str) -> Rows:
        return self.rows(self._commit(id))

    def rows(self, commit: Commit) -> Rows:
        found = Counter(row for text in self.files.tree(commit).values() for row in text.split())
        twice = [row for row, count in found.items() if count > 1]
        if twice:
            self.world.fail(f"DOUBLED: rows {twice} are in {commit.message!r} twice")
        return frozenset(found)

    @property
    def _commit(self) -> Callable[[str], Commit]:
        return self._state.of(Refs).commit

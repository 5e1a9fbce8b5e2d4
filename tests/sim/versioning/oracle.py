"""The oracle of a repository: what really happened, by the store's own history, against what clients were answered.

Record n is what was first created in slot n. It is folded twice: by the code under test, and by the model, which knows
what was asked for. After every record the two must agree, read from the true files:

    views      what a reader of each branch would see now
    commits    each holds what it was asked to hold, on the head it landed on
    staging    nothing is staged that was committed, stashed or thrown away

And every answer is judged: what was acknowledged is there, once; what was refused is not; reads are of one moment, and
of none before the question.
"""

import re
from collections.abc import Mapping

from lochan.errors import Corrupt, LochanError
from lochan.formats import record as records
from lochan.formats.record import SealedRecord
from lochan.formats.repository_events import Sealed, Turned, TurnOver
from lochan.formats.workspace_events import WorkspaceSealed
from lochan.journal.state import Schema
from lochan.versioning.state.branch import BranchState
from lochan.versioning.state.refs import Refs
from tests.sim.store import SimStore
from tests.sim.versioning import answers
from tests.sim.versioning.files import Files, Missing
from tests.sim.versioning.model import Model
from tests.sim.versioning.model_values import Broken
from tests.sim.versioning.request import FILE, NOBODY, ClientRequest
from tests.sim.versioning.three_way import patched
from tests.sim.world import World

_ON_THE_WAY = (Sealed, Turned, TurnOver, WorkspaceSealed)  # a request may leave any number of these before it lands


class RepositoryOracle:
    def __init__(self, world: World, store: SimStore, prefix: str) -> None:
        self.world = world
        self.store = store
        self.prefix = prefix
        self.floor = 0  # of what is known to somebody: reads that begin now must reach it
        self.count = 0  # records decided
        self.files = Files(store, prefix)
        self.model = Model(self.files.tree, self.files.run)
        self.events: list[tuple[str, str]] = []  # type and tag, in the journal's order
        self._schema = Schema(Refs, alarm=self.alarm)
        self._state = self._schema.empty(prefix)
        self._slot = re.compile(rf"{prefix}/journal/(\d{{20}})")
        self._wishes: dict[str, ClientRequest] = {}
        self._where: dict[str, list[int]] = {}  # tag of a request -> numbers of the records in which it landed
        self._acknowledged: dict[str, int] = {}
        self._never: set[str] = set()
        self._files_put: list[ClientRequest] = []  # in workspaces, acknowledged; they leave no event
        self._digests: list[bytes] = [bytes(32)]
        self._compared: dict[str, BranchState] = {}
        self._read = 0  # of the store's history

    # --- what the code under test tells ------------------------------------------------------------------------------
    def alarm(self, text: str) -> None:
        if not any(harmless in text for harmless in ("no checkpoint", "was not compacted", "was not trimmed")):
            self.world.fail(f"ALARM: {text}")

    def asked(self, tag: str, request: ClientRequest) -> None:
        self._wishes[tag] = request
        if request.verb == FILE:
            self.model.files.append(request)

    def acknowledged(self, tag: str, times: int = 1) -> None:
        self.update()
        if self._wishes[tag].verb == FILE:
            self._files_put.append(self._wishes[tag])
            return
        numbers = self._where.get(tag, [])
        if len(numbers) != times:
            self.world.fail(f"{'DOUBLED' if numbers else 'LOST'}: {tag} is acknowledged and stands at {numbers}")
        self._acknowledged[tag] = times
        self.floor = max([self.floor, *numbers])

    def refused(self, tag: str, error: LochanError) -> None:
        self.update()
        self._never.add(tag)
        request = self._wishes[tag]
        if not answers.founded(self.model, request, error):
            self.world.fail(f"UNFOUNDED: {tag} was refused: {error}")

    def not_sent(self, tag: str) -> None:
        self._never.add(tag)

    def read_at(self, who: str, since: int, number: int, digest: bytes, name: str, view: Mapping[str, str]) -> None:
        """A view of one state that a machine had folded."""
        self.update()
        if number > self.count or digest != self._digests[number]:
            self.world.fail(f"DIVERGED: {who} is at {number} with another history")
        if number < since:
            self.world.fail(f"STALE: {who} read {number}, {since} was known before")
        branch = self.model.history[number].get(name)
        meant = {} if branch is None else dict(branch.view)
        if dict(view) != meant:
            self.world.fail(f"READ: {who} saw {dict(view)} on {name} at {number}, it was {meant}")
        self.floor = max(self.floor, number)

    def saw(self, who: str, what: str, since: int, is_so: answers.Test) -> None:
        """An answer that must have been right at some moment between question and answer."""
        self.update()
        if not answers.ever(self.model, since, is_so):
            self.world.fail(f"READ: {who} was told {what}, which was never so since {since}")

    # --- at the end --------------------------------------------------------------------------------------------------
    def judge(self) -> None:
        self.update()
        for tag, times in self._acknowledged.items():
            if len(self._where.get(tag, [])) != times:
                self.world.fail(f"DOUBLED or LOST: acknowledged {tag} stands at {self._where.get(tag)}")
        for tag in self._never:
            if self._where.get(tag):
                self.world.fail(f"FALSE FAILURE: {tag} was told it did not happen and stands at {self._where[tag]}")
        for request in self._files_put:
            committed = self.model.committed.get(request.workspace)
            if committed is not None and not request.puts.items() <= self.model.trees[committed].items():
                self.world.fail(f"LOST: {dict(request.puts)} was put in {request.workspace}, whose commit lacks it")
        for tag, numbers in self._where.items():
            if len(numbers) > 1 and self._wishes[tag].verb != FILE:
                self.world.fail(f"DOUBLED: {tag} stands at {numbers}")

    # --- what was decided --------------------------------------------------------------------------------------------
    def update(self) -> None:
        history = self.store.history
        while self._read < len(history):
            effect = history[self._read]
            self._read += 1
            if effect.outcome == "created" and effect.data and (slot := self._slot.fullmatch(effect.path)):
                self._decided(int(slot[1]), effect.data)

    def _decided(self, number: int, data: bytes) -> None:
        if number != self.count + 1:
            self.world.fail(f"GAP: record {number} was created after {self.count}")
        sealed = records.decode(data, f"record {number}")
        self.count = number
        self._digests.append(sealed.digest)
        self._note(sealed)
        try:
            self._state.fold(sealed)
            self._mean(sealed)
            self._compare(number)
        except Corrupt as error:
            self.world.fail(f"FORKED: {error}")
        except (Broken, Missing) as error:
            self.world.fail(f"{error} (record {number})")

    def _mean(self, sealed: SealedRecord) -> None:
        number = sealed.record.number
        for entry in sealed.record.entries:
            tag = entry.actor.source
            for change in entry.changes:
                event = self._schema.vocabulary.decode(change, self.prefix, number)
                self.model.apply(event, number, self._wishes.get(tag, NOBODY))
                self.events.append((change.type, tag))
                if tag in self._wishes and not isinstance(event, _ON_THE_WAY):
                    self._where.setdefault(tag, []).append(number)
        self.model.recorded()

    def _compare(self, number: int) -> None:
        refs = self._state.of(Refs)
        branches = {branch.name: branch for branch in refs.branches()}
        if branches.keys() != self.model.branches.keys():
            raise Broken(f"REFS: there are {sorted(branches)}, there should be {sorted(self.model.branches)}")
        for name, branch in branches.items():
            if self._compared.get(name) is not branch:
                self._compare_branch(refs, branch)
        self._compared = branches

    def _compare_branch(self, refs: Refs, branch: BranchState) -> None:
        meant = self.model.branches[branch.name]
        if (branch.incarnation, branch.head) != (meant.incarnation, meant.head):
            raise Broken(f"REFS: {branch.name} is at {branch.head[:8]}, it should be at {meant.head[:8]}")
        staged = self.files.staged(branch.layers)
        view = patched(self.files.tree(refs.commit(branch.head)), staged)
        if view != dict(meant.view):
            raise Broken(f"VIEW: {branch.name} shows {view}, it should show {dict(meant.view)}")
        ghosts = staged.keys() - {write.path for write in meant.staged}
        if ghosts:
            raise Broken(f"GHOST: {sorted(ghosts)} of {branch.name} are staged, and were committed or taken away")

    def _note(self, sealed: SealedRecord) -> None:
        """A line for people who read the trace."""
        for entry in sealed.record.entries:
            said = ", ".join(change.type for change in entry.changes)
            self.world.note(sealed.record.writer, f"  record {sealed.record.number}: {said} ({entry.actor.source})")

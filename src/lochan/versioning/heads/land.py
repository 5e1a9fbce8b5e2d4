"""Lands a head move: it is computed on a head, appended if that is still the head, and otherwise computed again.

A request that was refused once takes a turn (S1): while any request waits, only the first in the queue may move the
branch. So a commit lands under any stream of writes and moves. Puts and deletes never wait. Safety does not depend on
the turn: each event is valid only for the head it was computed on.

    refused ──▶ queued (`branch_queue.py`) ──▶ first ──▶ computed, appended ──▶ landed: out of the queue"""

from bisect import bisect_left
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from lochan.errors import ConcurrentCommit, PathsInTheWay
from lochan.failpoints import fp
from lochan.formats.events import Event
from lochan.formats.record import Actor
from lochan.formats.repository_events import Moved
from lochan.formats.run import ascends
from lochan.staging.layers import Layers
from lochan.staging.view import View
from lochan.versioning.gate import UNJUDGED, Judged, move_of
from lochan.versioning.heads.branch_queue import BranchQueue
from lochan.versioning.open_repository import OpenRepository
from lochan.versioning.state.refs import Refs
from lochan.versioning.state.refs_state import Busy
from lochan.versioning.state.rules import RefsRules

_LISTED = 1_000
_TRIES_MAX = 1_000  # the first in the queue needs one, unless it is sent away; this ends an endless loop


class LookAgain(ConcurrentCommit):
    """More changes were staged than can be checked at the append."""


class PathTest:
    """Tests that a head move never changes a path with a staged change, which would hide the change of the move (S5).

    Looking reads from the store, so it is done before the append. At the append, which must not wait, only changes that
    were staged since are checked."""

    def __init__(self, branch: str, changed: pa.StringArray) -> None:
        self._branch = branch
        self._changed = changed if ascends(changed) else changed.unique().sort()
        self._looked: Layers | None = None

    async def look(self, view: View, layers: Layers) -> None:
        """Looks at the staging of one moment, through a view of it. Raises PathsInTheWay."""
        staged = await view.paths_staged(self._changed)
        if len(staged):
            raise self._in_the_way(staged.slice(0, _LISTED).to_pylist(), len(staged))
        self._looked = layers

    def check(self, layers: Layers, rules: RefsRules) -> None:
        """Checks again at the append. Raises PathsInTheWay or LookAgain."""
        if not rules.moves_spare_staged_paths():
            return
        if self._looked is None:
            raise LookAgain("the staged changes were not checked")
        fresh = layers.fresh_since(self._looked)
        if fresh.runs:
            raise LookAgain("more was staged meanwhile", hint="try again")
        hit = sorted(change.path for change in fresh.changes if self.changes(change.path))
        if hit:
            raise self._in_the_way(hit, len(hit))

    def changes(self, path: str) -> bool:
        at = bisect_left(_Paths(self._changed), path.encode())
        return at < len(self._changed) and self._changed[at].as_py() == path

    def _in_the_way(self, paths: list[str], count: int) -> PathsInTheWay:
        shown = ", ".join(repr(path) for path in paths[:3]) + (" …" if count > 3 else "")
        return PathsInTheWay(
            f"{count} of the paths that this changes on branch {self._branch!r} have uncommitted changes: {shown}",
            paths=paths,
            count=count,
            hint="commit or reset them first",
        )


class _Paths:
    """An Arrow column as a sequence of UTF-8, for bisection."""

    def __init__(self, column: pa.StringArray) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, at: int) -> bytes:
        path: str = self._column[at].as_py()
        return path.encode()


class PreparedMove(NamedTuple):
    """A head move with all its files written."""

    event: Event
    test: PathTest | None = None  # checks that no path it changes is staged
    above: int = 0  # for a commit: its seal; only changes staged after it count


Prepare = Callable[[str], Awaitable[PreparedMove | None]]


async def land(
    repository: OpenRepository,
    branch: str,
    prepare: Prepare,
    *,
    actor: Actor,
    key: str = "",
    fingerprint: bytes = b"",
) -> Any:
    """Lands a head move and returns the result of the event's fold. `prepare` gets the turn that its events must name,
    and is called again after every lost race. It returns None if it has noticed itself that it lost. Its other errors
    are raised."""
    queue = BranchQueue(repository, branch, actor)
    try:
        for _ in range(_TRIES_MAX):
            try:
                prepared = await prepare(queue.turn)
                if prepared is not None:
                    judged = await _judge(repository, prepared, actor)
                    result = await _append(repository, branch, prepared, actor, key, fingerprint)
                    queue.landed()
                    await judged.landed()
                    return result
            except (ConcurrentCommit, Busy) as error:
                if isinstance(error, FinalConflict):
                    raise
            await queue.wait()
        raise FinalConflict(f"branch {branch!r} was moved {_TRIES_MAX} times meanwhile", hint="try again")
    finally:
        await queue.leave()


async def _judge(repository: OpenRepository, prepared: PreparedMove, actor: Actor) -> Judged:
    """Asks the hooks of the repository after every computation, so that what lands is what they have seen. Raises
    HookRefused."""
    if repository.gate is None:
        return UNJUDGED
    event = prepared.event
    recorded = repository.folded().recorded(event.target) if isinstance(event, Moved) and not event.commits else None
    move = move_of(event, recorded)
    return UNJUDGED if move is None else await repository.gate.judge_move(move, actor)


async def _append(
    repository: OpenRepository, branch: str, prepared: PreparedMove, actor: Actor, key: str, fingerprint: bytes
) -> Any:
    def decide(refs: Refs) -> Sequence[Event]:
        if prepared.test is not None:
            layers = refs.branch(branch).layers
            if prepared.above in layers.seals:
                layers = layers.after(prepared.above)
            prepared.test.check(layers, refs.rules)
        return (prepared.event,)

    fp("land.prepared")
    result = await repository.submit_decided(actor, decide, key=key, fingerprint=fingerprint)
    fp("land.landed")
    return result


class FinalConflict(ConcurrentCommit):
    """No second attempt can succeed: the changes no longer apply."""

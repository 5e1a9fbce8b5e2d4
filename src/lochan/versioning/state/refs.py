"""A repository's refs as a part of its journal's state: `refs_state.py` says what they are, `refs_fold.py` and
`staging_fold.py` what each event does to them, and `refs_dump.py` how a checkpoint keeps them."""

from typing import Any, ClassVar

import msgspec

from lochan.errors import Refused
from lochan.formats.collection_events import Abandoned, Aliased, Expired, Opened, PlanEnded, Planned
from lochan.formats.repository_events import (
    Committed,
    Compacted,
    Moved,
    Popped,
    ReadOnlySet,
    RunsStaged,
    Sealed,
    Staged,
    Stashed,
    TurnOver,
    UploadAborted,
    UploadOpened,
)
from lochan.formats.workspace_events import WorkspaceOpened
from lochan.journal.state import EventPosition, StatePart
from lochan.versioning.repositories import POOL
from lochan.versioning.state.collection import LINK
from lochan.versioning.state.refs_dump import DumpedRefs, dump_refs, load_refs
from lochan.versioning.state.refs_fold import HEAD_HANDLERS
from lochan.versioning.state.refs_state import RefsState
from lochan.versioning.state.staging_fold import STAGING_HANDLERS

_HANDLERS = HEAD_HANDLERS | STAGING_HANDLERS
# What no reader sees, and what ends it.
_WHILE_READ_ONLY = {ReadOnlySet, Compacted, TurnOver, UploadAborted, Abandoned, Planned, PlanEnded, Expired, Aliased}
# What a pool has not: its branches hold data objects, which come by head moves alone (S5).
_STAGING = {Staged, RunsStaged, Compacted, Sealed, Committed, Stashed, Popped, WorkspaceOpened, UploadOpened}


class Refs(RefsState, StatePart):
    name: ClassVar[str] = "refs"
    events = tuple(_HANDLERS)

    def apply(self, event: Any, at: EventPosition) -> Any:
        kind = type(event)
        if kind not in _WHILE_READ_ONLY:
            self.guard.check_writable()
        if self.kind == POOL and _stages(event) and self.rules.pools_have_no_staging():
            raise no_staging()
        result = _HANDLERS[kind](self, event, at)
        self.collection.saw(at.number)
        return result

    def dump(self) -> DumpedRefs:
        return dump_refs(self)

    def load(self, dumped: msgspec.Raw) -> None:
        load_refs(self, dumped)


def _stages(event: Any) -> bool:
    match event:
        case Opened(kind=kind):
            return kind == LINK
        case Moved(why=why):
            return why in ("import", "ingest")
    return type(event) in _STAGING


def no_staging() -> Refused:
    return Refused("a pool holds rows, and no files can be written to it", hint="`lochan load REPO FILE` adds rows")

"""Compares what the journal holds after all lives of a lake with the answers that its clients got.

durable    what was acknowledged is in the journal, once, with the result that was told, also when sent again
atomic     what was refused is not in it; what was not answered is in it at most once
whole      the chain holds from record 1 on, and every checkpoint leads to the state that a fold from there gives
one owner  a name is never given twice; a repository that has a name has a journal with its branch
"""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from lochan.access.state import AccessState
from lochan.formats import checkpoint as checkpoints
from lochan.formats import segment as segments
from lochan.formats.record import GENESIS, RecordEntry, SealedRecord
from lochan.journal.journal import Journal
from lochan.journal.mirror import read_mirror
from lochan.journal.state import Schema, State
from lochan.lake import LAKE_JOURNAL, Lake
from lochan.store.protocol import Store
from lochan.versioning.repositories import Repositories
from lochan.versioning.state.refs import Refs
from tests.kill import place
from tests.kill.report import DONE, REFUSED, Alarmed, Answered, Line, SentRequest


class Violation(AssertionError):
    pass


def check(holds: bool, what: str) -> None:
    if not holds:
        raise Violation(what)


async def judge(folder: Path, url: str, reports: Sequence[Line]) -> None:
    """Raises Violation, or any error that keeps the lake from being opened."""
    alarms = [line.text for line in reports if isinstance(line, Alarmed)]
    store = place.lake_store(str(folder))
    lake = await place.open_lake(store, url, alarms.append)
    try:
        journal = await lake.journal()
        history = [sealed async for sealed in journal.records()]
        check_chain(history)
        check_answers(history, reports)
        await check_state(journal, history)
        await check_slots(journal, history)
        await check_repositories(
            lake, {line.request for line in reports if isinstance(line, SentRequest) and _whole(line)}
        )
        if url:
            await check_mirror(store, history)
        await check_left_over(folder, journal, store)
        check(not alarms, f"alarms: {alarms}")
    finally:
        await lake.close()


def check_chain(history: Sequence[SealedRecord]) -> None:
    """Checks by itself, without the journal's own check."""
    before = GENESIS
    for number, sealed in enumerate(history, 1):
        check(sealed.record.number == number, f"record {sealed.record.number} stands at {number}")
        check(sealed.record.previous == before, f"record {number} does not continue the one before")
        check(sha256(sealed.data[:-32]).digest() == sealed.data[-32:], f"record {number} is damaged")
        before = sealed.data[-32:]


def check_answers(history: Sequence[SealedRecord], reports: Sequence[Line]) -> None:
    entries = [entry for sealed in history for entry in sealed.record.entries]
    asked = {line.request: line for line in reports if isinstance(line, SentRequest)}
    by_request = Counter(entry.actor.source for entry in entries)
    by_key = Counter(entry.key for entry in entries if entry.key)
    _check_each_once(by_request, "request")
    _check_each_once(by_key, "key")
    check(set(by_request) <= set(asked), f"nobody asked for {set(by_request) - set(asked)}")
    made = _results(entries)
    done_before: dict[str, bool] = {}  # by request: whether its key had been acknowledged when it was sent
    acknowledged: set[str] = set()
    for line in reports:
        if isinstance(line, SentRequest):
            done_before[line.request] = line.key in acknowledged
        if not isinstance(line, Answered):
            continue
        key = asked[line.request].key
        if line.outcome == DONE:
            acknowledged |= {key} if key else set()
            there = by_key[key] if key else by_request[line.request]
            check(there == 1, f"lost: {line.request} was acknowledged")
            result = made[key or line.request]
            check(line.result in ("", result), f"{line.request} was told {line.result}, the journal says {result}")
        elif line.outcome == REFUSED:
            check(not by_request[line.request], f"{line.request} was refused ({line.result}), and happened")
            check(not done_before[line.request], f"{line.request} was done before, and refused: {line.result}")


def _check_each_once(counts: Counter[str], what: str) -> None:
    doubled = [one for one, count in counts.items() if count > 1]
    check(not doubled, f"{what} carried out twice: {doubled}")


def _results(entries: Sequence[RecordEntry]) -> dict[str, str]:
    """By request and by key: the id that each entry created or deleted. Names are given and freed on the way."""
    owner: dict[str, str] = {}
    results = {}
    closed: set[tuple[str, int]] = set()  # deletions, each of which several may complete
    for entry in entries:
        for change in entry.changes:
            event = msgspec.msgpack.decode(change.payload)
            if change.type == "repository-created":
                check(event["name"] not in owner, f"{event['name']} was given to two")
                owner[event["name"]] = event["id"]
            elif (deletion := (event["id"], event["closed"])) not in closed:
                closed.add(deletion)
                check(event["id"] in owner.values(), f"{event['id']} was deleted and is nobody's")
                owner = {name: id for name, id in owner.items() if id != event["id"]}
            results[entry.actor.source] = results[entry.key] = event["id"]
    return results


async def check_state(journal: Journal, history: Sequence[SealedRecord]) -> None:
    alarms: list[str] = []
    schema = Schema(Repositories, AccessState, alarm=alarms.append)
    folded = _fold(schema.empty(LAKE_JOURNAL), history)
    check(_content(await journal.fresh()) == _content(folded), "a cold start and a fold from scratch differ")
    for found in await journal.checkpoints.found():
        kept = await journal.checkpoints._read(found.number, LAKE_JOURNAL)
        check(kept is not None, f"checkpoint {found.number} cannot be read")
        assert kept is not None
        check(kept.number <= len(history), f"checkpoint {kept.number} is past the journal's end")
        restored = _fold(schema.restore(checkpoints.decode(checkpoints.encode(kept), "it")), history[kept.number :])
        check(_content(restored) == _content(folded), f"checkpoint {kept.number} leads to another state")
    check(not alarms, f"a fold met what does not hold: {alarms}")


def _fold(state: State, history: Sequence[SealedRecord]) -> State:
    for sealed in history:
        state.fold(sealed)
    return state


def _content(state: State) -> tuple[int, bytes, dict[str, object]]:
    """Decoded, because a table may be written in any order."""
    kept = state.checkpoint()
    return kept.number, kept.digest, {name: msgspec.msgpack.decode(part) for name, part in kept.parts.items()}


async def check_slots(journal: Journal, history: Sequence[SealedRecord]) -> None:
    """A segment holds the very records, and all of a full group."""
    for group in range(len(history) // place.GROUP + 1):
        data = await journal.slots.read_segment(group)
        if data is not None:
            packed = segments.decode(data, f"segment {group}")
            there = [sealed.data for sealed in history if sealed.record.number // place.GROUP == group]
            check(list(packed.records) == there, f"segment {group} holds other records than were read")
            full = place.GROUP - (group == 0)  # numbers begin at 1
            check(len(there) == full, f"segment {group} holds {len(there)} records")


async def check_repositories(lake: Lake, whole: set[str]) -> None:
    """Every repository that has a name has its own journal with the requested branch."""
    journal = await lake.journal()
    async for sealed in journal.records():
        for entry in sealed.record.entries:
            if entry.actor.source not in whole:
                continue
            created = msgspec.msgpack.decode(entry.changes[0].payload)
            own = await lake.journal(created["id"])
            state = await own.fresh()
            closed = bool(state.of(Refs).guard.closed)  # a deletion was interrupted: whoever opens it completes it
            check(state.number == 1 + closed, f"repository {created['name']} has a name and {state.number} records")
            check(state.of(Refs).branch("main").name == "main", f"repository {created['name']} has no branch")


async def check_mirror(store: Store, history: Sequence[SealedRecord]) -> None:
    mirrored = [sealed.data async for sealed in read_mirror(store, LAKE_JOURNAL, group=place.GROUP)]
    check(mirrored == [sealed.data for sealed in history], "the bucket does not hold what the database does")


async def check_left_over(folder: Path, journal: Journal, store: Store) -> None:
    """Temporary files of the dead are not objects."""
    left = [path.name for path in (folder / ".tmp").glob("*")]
    listed = {Path(stat.path).name async for stat in store.list()}
    check(not listed & set(left), f"temporary files are listed: {left}")
    check((await journal.fresh()).number > 0, "nothing was written")


def _whole(asked: SentRequest) -> bool:
    return asked.verb == "repository"

"""Reads data and compares it with its SHA-256, at a set rate, and records its position.

    metadata ─▶ the blocks that are alive, by address ─▶ from the end of the last step, a number of bytes

A step is one call. The next step continues where it ended, also in another process; after the last address a new round
begins. Reading metadata once for each step keeps the list of blocks current while the lake is written to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from lochan.clock import Clock
from lochan.errors import Corrupt, NotFound
from lochan.formats import json_file
from lochan.recovery.blocks import BlockDamage, by_address, check_file
from lochan.recovery.lake_files import SCRUB
from lochan.recovery.live_set import live_set
from lochan.store.checked_reads import get_decoded
from lochan.store.protocol import Store
from lochan.versioning.open_repository import OpenRepository

VERSION = 1
RATE = 50_000_000  # bytes per second
_KEPT = 1_000  # findings in a report
_SAVED_EVERY_S = 30.0


class ScrubReport(msgspec.Struct, frozen=True):
    """The progress and the findings of a scrub. Stored as `_lake/scrub/<repository>.json`; fields may only be added."""

    repository: str  # the id of the repository
    position: str = ""  # the last address that was read; empty if a round begins
    started: int = 0  # the beginning of the round, in microseconds since 1970
    ended: int = 0  # the end of the last complete round
    files: int = 0  # the files of this round
    bytes: int = 0
    rounds: int = 0  # the number of complete rounds
    damaged: tuple[tuple[str, str, str, str], ...] = ()  # kind, address, path, detail; found in this round or the last
    format: int = VERSION


class ScrubStep(NamedTuple):
    report: ScrubReport
    files: int  # the files of this step
    bytes: int
    found: tuple[BlockDamage, ...]
    is_complete: bool  # whether the round is complete


async def scrub_step(
    repository: OpenRepository,
    *,
    rate: int = RATE,
    seconds: float = 60.0,
    alarm: Callable[[str], None] = lambda _: None,
    seen: Callable[[int], None] = lambda size: None,
) -> ScrubStep:
    """Reads about `rate` bytes per second, for at most `seconds`, or to the end of the round. Findings raise an alarm,
    and are in the report."""
    store, id, clock = repository.store, repository.repository.id, repository.clock
    report = await read_report(store, id)
    if not report.position:
        report = msgspec.structs.replace(report, started=clock.wall(), files=0, bytes=0, damaged=())
    refs, _ = await repository.refs()
    blocks = (await live_set(store, id, refs)).blocks
    work = _Step(store, clock, report, rate, alarm, seen)
    complete = await work.run(blocks.filter(pc.greater(blocks["address"], report.position)), seconds)
    report = work.report
    if complete:
        report = msgspec.structs.replace(report, position="", ended=clock.wall(), rounds=report.rounds + 1)
    await write_report(store, report)
    return ScrubStep(report, work.files, work.bytes, tuple(work.found), complete)


class _Step:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        report: ScrubReport,
        rate: int,
        alarm: Callable[[str], None],
        seen: Callable[[int], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._rate = rate
        self._alarm = alarm
        self._seen = seen
        self._saved = clock.boot()
        self.report = report
        self.files = 0
        self.bytes = 0
        self.found: list[BlockDamage] = []

    async def run(self, blocks: pa.Table, seconds: float) -> bool:
        """Reads the blocks, and returns whether it reached the end. REQUIRES: they are sorted by address."""
        began = self._clock.boot()
        for file in by_address(blocks):
            if self._clock.boot() - began >= seconds:
                return False
            await self._file(file, file["address"][0].as_py(), pc.sum(file["size"]).as_py())
            ahead = self.bytes / self._rate - (self._clock.boot() - began)
            if ahead > 0:
                await self._clock.sleep(min(ahead, max(0.0, seconds - (self._clock.boot() - began))))
            if self._clock.boot() - self._saved > _SAVED_EVERY_S:
                await write_report(self._store, self.report)
                self._saved = self._clock.boot()
        return True

    async def _file(self, blocks: pa.Table, address: str, size: int) -> None:
        damage = await check_file(self._store, blocks)
        self.files += 1
        self.bytes += size
        self._seen(size)
        damaged = self.report.damaged
        if damage is not None:
            self.found.append(damage)
            self._alarm(f"{damage.kind}: {address}, needed by {damage.path!r}: {damage.detail or 'it is gone'}")
            damaged = (*damaged, (damage.kind, address, damage.path, damage.detail))[-_KEPT:]
        self.report = msgspec.structs.replace(
            self.report,
            position=address,
            files=self.report.files + 1,
            bytes=self.report.bytes + size,
            damaged=damaged,
        )


async def read_report(store: Store, repository: str) -> ScrubReport:
    """Returns the report, or an empty one if there was no scrub yet or the report is damaged. A round then begins
    anew."""
    path = report_path(repository)
    try:
        return await get_decoded(store, path, partial(check_report, path=path))
    except (NotFound, Corrupt):
        return ScrubReport(repository)


def check_report(data: bytes, path: str) -> ScrubReport:
    """Returns the report. Raises Corrupt."""
    hint = "the next scrub writes it again"
    report = json_file.convert(json_file.unseal(data, path, hint), ScrubReport, path, hint)
    if report_path(report.repository) != path:
        raise Corrupt(f"{path} is the report of {report.repository}: another file is in its place", hint=hint)
    return report


async def write_report(store: Store, report: ScrubReport) -> None:
    await store.put(report_path(report.repository), json_file.seal(report))


def report_path(repository: str) -> str:
    return f"{SCRUB}{repository}.json"

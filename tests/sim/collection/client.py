"""Clients beside whom garbage is collected: those of files, with every other verb that names bytes, and collectors."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from hashlib import md5, sha256

import numpy as np
import pyarrow as pa

from lochan.errors import Corrupt, Gone, LochanError, NotFound, Refused
from lochan.formats.collection_events import Abandoned, DropRule, Expired, Opened, RetentionRule, RetentionSet
from lochan.formats.entry import Block, Entry
from lochan.formats.record import Actor
from lochan.formats.repository_events import Staged
from lochan.usage.last_read import ReadPaths, UnknownReads
from lochan.versioning import branches, copy, links, objects, transfer, uploads
from lochan.versioning.bodies.body import ready
from lochan.versioning.collection import retention
from lochan.versioning.collection.alias_maker import drop_aliases
from lochan.versioning.collection.dedupe import dedupe
from lochan.versioning.collection.drops import DropRequest, drop
from lochan.versioning.collection.plan import CollectionLimits, plan
from lochan.versioning.collection.repack import repack
from lochan.versioning.collection.sweep import sweep
from lochan.versioning.collection.written import Mask
from lochan.versioning.heads import imports
from lochan.versioning.heads.imports import ImportFolder
from lochan.versioning.heads.moves import CommitMessage
from tests.sim.collection.oracle import LAKE_URL, TAKEN
from tests.sim.collection.place import CollectionPlace
from tests.sim.files.client import FilesClient, pieces
from tests.sim.files.collector import LAKE, collect
from tests.sim.versioning.request import ClientRequest
from tests.sim.world import DAY


class CollectionClient(FilesClient):
    place: CollectionPlace

    def actor(self) -> Actor:
        return Actor("user", self.name, "")

    # --- files -------------------------------------------------------------------------------------------------------
    async def move(self, source: str, target: str) -> bool | None:
        return await self._any("copy", lambda actor: copy.move(self.repository, "main", source, target, actor=actor))

    async def read_within(self, path: str, grace_s: float, pause_s: float = 0.0) -> None:
        """A reader that looks an object up, and reads it within the grace, gets its bytes (G5)."""
        begun = self.machine.clock.boot()
        try:
            entry = await objects.stat(self.repository, "main", path)
        except NotFound:
            return
        await self.machine.clock.sleep(pause_s)
        try:
            await self.repository.reader.read_all(entry)
        except (Gone, NotFound) as error:
            waited = self.machine.clock.boot() - begun
            if waited < grace_s:
                self.oracle.world.fail(f"UNREADABLE: {path} was looked up {waited:.1f} s ago: {error}")

    async def open_upload(self) -> None:
        actor = self.actor()
        self.place.uploads.append(await uploads.open_upload(self.repository, "main", "big", actor=actor))

    async def upload(self) -> None:
        """A part, and the whole."""
        id, body = self.place.uploads[0], self._body()

        async def work(actor: Actor) -> None:
            part = await uploads.put_part(self.repository, id, 1, pieces(body), actor=self.actor())
            await uploads.complete(self.repository, id, [uploads.PartRequest(1, part.etag)], actor=actor)

        await self._any("upload", work)

    async def abort_upload(self) -> None:
        with suppress(LochanError):
            await uploads.abort(self.repository, self.place.uploads[0], actor=self.actor())

    async def link(self) -> None:
        """A client puts the bytes itself, where it was told to."""

        async def work(actor: Actor) -> None:
            given = await links.physical_address(self.repository, "main", "linked", actor=self.actor())
            await self.repository.store.put(given.address, b"by a client")
            await links.link(self.repository, "main", "linked", given.token, actor=actor)

        await self._any("link", work)

    async def work_long(self, path: str) -> None:
        """A job that writes for so long that garbage is collected meanwhile: its folder is held open."""

        async def work(actor: Actor) -> None:
            _, mint = await self.repository.refs()
            id = self.repository.ids.ksuid(self.repository.clock.wall())
            folder = f"{self.repository.repository.id}/data/{mint}-{id}/"
            await self.repository.submit(self.actor(), Opened(id, "job", folder))
            data = self._body()
            address = f"{folder}part-0"
            await self.repository.store.put(address, data)
            checksum = md5(data, usedforsecurity=False).hexdigest()
            block = Block(address, 0, len(data), sha256(data).digest())
            entry = Entry(path, (block,), len(data), checksum, checksum, self.repository.clock.wall())
            await self.repository.submit(actor, Staged("main", puts=(entry,), closes=(id,)))

        await self._any("job", work)

    async def give_up_jobs(self) -> None:
        refs, _ = await self.repository.refs()
        ids = tuple(id for id, _ in refs.collection.all_held())
        if ids:
            with suppress(LochanError):
                await self.repository.submit(self.actor(), Abandoned(ids))

    async def rename_surely(self, source: str, target: str) -> None:
        """Nobody else is there any more, so it must succeed, whoever has died before."""
        await self.write("main", source)
        if not await self.move(source, target):
            self.oracle.world.fail(f"STUCK: nobody is left, and {source} cannot be renamed to {target}")

    # --- refs --------------------------------------------------------------------------------------------------------
    async def tag(self, name: str) -> None:
        commit = await self.first_commit()
        await self._any("tag", lambda actor: branches.create_tag(self.repository, name, commit, actor=actor))

    async def branch_from_first(self) -> None:
        await self.create("dev", await self.first_commit())

    async def of_first(self, verb: str) -> None:
        await getattr(self, verb)("main", await self.first_commit())

    async def first_commit(self) -> str:
        """The commit below the head of main."""
        refs, _ = await self.repository.refs()
        return refs.recorded(refs.branch("main").head).parents[0]

    # --- other repositories ------------------------------------------------------------------------------------------
    async def copy_to(self, id: str, path: str) -> None:
        """To another repository of the lake."""
        target = await self.place.open_other(self.machine, id)
        with suppress(LochanError):
            await transfer.transfer(self.repository, "main", path, target, "main", path, actor=self.actor())
        await target.close()

    async def copy_on(self, source: str, id: str, path: str) -> None:
        """From there to a third one."""
        home, target = [await self.place.open_other(self.machine, each) for each in (source, id)]
        with suppress(LochanError):
            await transfer.transfer(home, "main", path, target, "main", path, actor=self.actor())
        for each in (home, target):
            await each.close()

    async def collect_other(self, id: str) -> None:
        other = await self.place.open_other(self.machine, id)
        await collect(other, self.actor())
        await other.close()

    async def import_own_files(self) -> None:
        """By their URL, as if they were outside of the lake."""
        source = ImportFolder(f"{LAKE_URL}/{self.repository.repository.id}/data", "i/")

        async def work(actor: Actor) -> None:
            found = await imports.for_import(self.repository, [source])
            await imports.bring_in(self.repository, "main", found, CommitMessage("import"), actor=actor)

        await self._any(TAKEN, work)

    # --- upkeep ------------------------------------------------------------------------------------------------------
    async def collect_patiently(self, grace_s: float) -> None:
        """As often as it is refused because it is too early, it waits."""
        limits = CollectionLimits(grace_s=grace_s, confirmed=True, records=0)
        with suppress(LochanError):
            await self._patiently(lambda: plan(self.repository, LAKE, limits, actor=self.actor()), grace_s)
            await self._patiently(lambda: sweep(self.repository, LAKE, limits, actor=self.actor()), grace_s)

    async def _patiently(self, work: Callable[[], Awaitable[object]], grace_s: float) -> None:
        for _ in range(_PATIENCE):
            try:
                await work()
            except Refused:
                await self.machine.clock.sleep(grace_s / 2)
            else:
                return

    # --- bytes that move ---------------------------------------------------------------------------------------------
    async def write_pack(self, *paths: str) -> None:
        """Small bodies that share a file."""
        _, mint = await self.repository.refs()
        bodies = [ready(path, self._body()) for path in paths]
        entries = await self.repository.bodies.write_pack(bodies, mint=mint)
        with suppress(LochanError):
            await self.repository.submit(self.actor(), Staged("main", tuple(entries)))

    async def dedupe(self) -> None:
        await self._moved(dedupe(self.repository, actor=self.actor()))

    async def repack(self) -> None:
        await self._moved(repack(self.repository, 0.9, actor=self.actor()))

    async def drop_aliases(self) -> None:
        await self._moved(drop_aliases(self.repository, LAKE, actor=self.actor()))

    async def _moved(self, work: Awaitable[object]) -> None:
        """What is read meanwhile may be collected, and then it is not moved. A damaged file is a violation."""
        try:
            await work
        except Corrupt:
            raise
        except LochanError:
            return

    async def trim(self) -> None:
        """Days later the journal's records are packed, and days after that their slots are deleted."""
        await self.repository.journal.checkpoint()
        for _ in range(2):
            self.oracle.world.jump(2 * DAY)
            await self.repository.journal.trim()

    async def keep_one_commit(self) -> None:
        """Shortens the retention of main, and of what was deleted."""
        rules = RetentionSet((RetentionRule("main", commits=1),), undo_days=0)
        with suppress(LochanError):
            await retention.set_retention(self.repository, rules, actor=self.actor())

    async def drop_by_rule(self, prefix: str) -> bool | None:
        """By a commit: what main has there, as if nobody had written it for long."""
        rules = RetentionSet(drops=(DropRule("old", "main", prefix, unwritten_days=1),))
        request = DropRequest(self.repository.clock.wall() + 1_000 * DAY * 1_000_000, _unread, _everywhere)

        async def work(actor: Actor) -> int:
            found = await drop(self.repository, "main", rules, request, actor=actor)
            return len({each.commit for each in found if each.commit})

        return await self.ask(ClientRequest("retention", "main", paths=(prefix,)), work)

    async def expire_by_rules(self) -> None:
        with suppress(LochanError):
            await retention.expire(self.repository, actor=self.actor())

    async def expire_all(self) -> None:
        """Whatever is not a head."""
        refs, _ = await self.repository.refs()
        heads = {branch.head for branch in refs.branches()} | {commit for _, commit in refs.tags()}
        for id in sorted(set(refs.commit_table) - heads):
            with suppress(LochanError):
                await self.repository.submit(self.actor(), Expired((id,)))

    async def expire_everything(self) -> None:
        """Heads and tags too, which is refused."""
        refs, _ = await self.repository.refs()
        for id in sorted(refs.commit_table):
            with suppress(LochanError):
                await self.repository.submit(self.actor(), Expired((id,)))

    async def expire_deleted(self) -> None:
        refs, _ = await self.repository.refs()
        for key, _ in list(refs.deleted_table.items()):
            with suppress(LochanError):
                await self.repository.submit(self.actor(), Expired((), (key,)))
        await self.expire_all()

    async def _any(self, verb: str, work: Callable[[Actor], Awaitable[object]]) -> bool | None:
        async def plain(actor: Actor) -> None:
            await work(actor)

        return await self.ask(ClientRequest(verb, "main"), plain)


async def _unread(since: int) -> ReadPaths | UnknownReads:
    raise AssertionError(f"no rule asks what was read since {since}")


def _everywhere(rule: DropRule, entries: pa.RecordBatch) -> Mask:
    return np.ones(len(entries), np.bool_)


_PATIENCE = 12

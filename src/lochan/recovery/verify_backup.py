"""Reads a whole backup: journals link by link, trees, runs, and the bytes of every object."""

from __future__ import annotations

from lochan.errors import Corrupt
from lochan.lake import LAKE_PARTS
from lochan.recovery.backup import BackupManifest, read_manifest
from lochan.recovery.blocks import check_bytes
from lochan.recovery.live_set import live_set
from lochan.recovery.rebuild_lake import kept_repositories
from lochan.recovery.restore import LAKE, state_at
from lochan.store.protocol import Store
from lochan.versioning.repositories import Repositories
from lochan.versioning.state.refs import Refs


async def verify_backup(backup: Store) -> BackupManifest:
    """Returns the manifest of an intact backup. Raises NotFound if there is no complete one, and Corrupt if something
    is damaged that the lake itself had not lost."""
    manifest = await read_manifest(backup)
    lost_paths = {path for path, _ in manifest.lost}
    state = await state_at(backup, LAKE, manifest.journals[LAKE], LAKE_PARTS)
    for repository in kept_repositories(state.of(Repositories)):
        own = await state_at(backup, repository.id, manifest.journals[repository.id], (Refs,))
        live = await live_set(backup, repository.id, own.of(Refs))
        damaged = [f"{repository.id}/{each.file}" for each in live.damaged]
        damaged += [each.address for each in await check_bytes(backup, live.blocks)]
        wrong = [path for path in damaged if path not in lost_paths]
        if wrong:
            raise Corrupt(
                f"{len(wrong):,} files of the backup of {repository.name!r} are damaged, the first is {wrong[0]}",
                hint="delete these files from the backup, and make it again",
            )
    return manifest

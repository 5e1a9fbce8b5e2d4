"""Migrates repositories of another system to repositories of the lake."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from lochan.api.results import Result
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.session import Session

Progress = Callable[[int], None]  # called with the number of further commits that have arrived


class LakefsSource(msgspec.Struct, frozen=True):
    url: str  # the URL of the server: https://lakefs.example.org
    access_key: str
    secret_key: str

    def __repr__(self) -> str:
        return f"LakefsSource({self.url!r}, {self.access_key!r})"


class MigrationResult(Result, frozen=True, kw_only=True):
    repository: str
    branches: int
    tags: int
    commits: int  # commits that are new here
    linked: int  # objects whose bytes stay where they are
    copied: int
    bytes_copied: int
    uncommitted: tuple[str, ...]  # branches with uncommitted changes there, which are not brought


async def migrate_from_lakefs(
    session: Session,
    source: LakefsSource,
    name: str,
    to: str,
    bodies: str,
    link_also: Sequence[str],
    progress: Progress | None,
) -> MigrationResult:
    from lochan.journal.keys import without_key
    from lochan.migration.foreign_objects import WAYS, BodiesWay
    from lochan.migration.lakefs import migrate
    from lochan.migration.lakefs_server import LakeFSKeys, LakefsServer

    if bodies not in WAYS:
        raise Invalid(f"objects are brought by {', '.join(WAYS)}, not by {bodies!r}")
    server = LakefsServer(source.url, LakeFSKeys(source.access_key, source.secret_key))
    found = await migrate(
        session.lake,
        server,
        name,
        actor=without_key(session.actor),  # it makes many events, and a repeated call continues
        to=to,
        way=BodiesWay(bodies, tuple(link_also)),
        landed=progress or (lambda count: None),
    )
    return MigrationResult(**found._asdict())


async def lakefs_repositories(source: LakefsSource) -> list[str]:
    from lochan.migration.lakefs_server import LakeFSKeys, LakefsServer

    server = LakefsServer(source.url, LakeFSKeys(source.access_key, source.secret_key))
    return [each.id for each in await server.repositories()]

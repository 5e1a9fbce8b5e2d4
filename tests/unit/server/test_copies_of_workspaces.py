"""A plain file of a workspace belongs to it alone: a copy over S3 has bytes of its own."""

import asyncio
from pathlib import Path

from lochan.access.users import ensure_admin
from lochan.lake import Lake
from lochan.server.settings import S3Settings
from lochan.store.local import LocalStore
from lochan.versioning import objects
from lochan.versioning.bodies.address import is_workspace_file
from lochan.versioning.workspaces.write import open_workspace
from tests.run import run
from tests.unit.server.gateway_place import ACTOR, Place, signed
from tests.unit.server.two_paths import chunks


def test_a_copy_outlives_the_file(tmp_path: Path) -> None:
    async def work() -> None:
        lake = await Lake.create(LocalStore(str(tmp_path / "lake"), create=True))
        admin = await ensure_admin(lake.open_access(), actor=ACTOR)
        assert admin is not None
        await lake.create_repository("bucket", actor=ACTOR)
        place = Place(lake, fastpath=False, settings=S3Settings())
        place.app.__rsgi_init__(asyncio.get_running_loop())
        repository = await lake.open_repository("bucket")
        workspace = await open_workspace(repository, "main", "", actor=ACTOR)
        file = await objects.put(repository, workspace.ref, "a", chunks(b"of the workspace"), actor=ACTOR)
        assert is_workspace_file(file.blocks[0].address)
        source = {"x-amz-copy-source": f"/bucket/{workspace.ref}/a"}
        assert (await place.ask(signed(admin, "PUT", "/bucket/main/copy", headers=source))).status == 200
        copy = await objects.stat(repository, "main", "copy")
        assert not is_workspace_file(copy.blocks[0].address)
        await lake.store.put(file.blocks[0].address, b"overwritten by its owner")
        answer = await place.ask(signed(admin, "GET", "/bucket/main/copy"))
        assert (answer.status, answer.body) == (200, b"of the workspace")

    run(work())

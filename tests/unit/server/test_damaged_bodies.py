"""GetObject of damaged bodies on a disk: neither the whole nor any part is answered with wrong bytes."""

import asyncio
from pathlib import Path

import pytest

from lochan.access.users import ensure_admin
from lochan.lake import Lake
from lochan.server.settings import S3Settings
from lochan.store.local import LocalStore
from tests.run import run
from tests.unit.server.gateway_place import ACTOR, Place, signed

pytestmark = pytest.mark.thorough

RANGES = [None, "bytes=0-199", "bytes=5000-5001", "bytes=-10", "bytes=1000-"]


@pytest.mark.parametrize("fastpath", [True, False])
@pytest.mark.parametrize("size", [10_000, 300_000, 3 << 20], ids=["small", "in one piece", "streamed"])
def test_no_range_is_answered_with_damage(tmp_path: Path, size: int, fastpath: bool) -> None:
    async def play() -> None:
        lake = await Lake.create(LocalStore(str(tmp_path / "lake"), create=True))
        admin = await ensure_admin(lake.open_access(), actor=ACTOR)
        assert admin is not None
        await lake.create_repository("demo", actor=ACTOR)
        place = Place(lake, fastpath=fastpath, settings=S3Settings())
        place.app.__rsgi_init__(asyncio.get_running_loop())
        body = bytes(range(256)) * (size // 256)
        assert (await place.ask(signed(admin, "PUT", "/demo/main/a", body=body))).status == 200
        [file] = [each for each in (tmp_path / "lake").rglob("data/*/*") if each.is_file()]
        whole = file.read_bytes()
        for at in (None, 0, 100, len(body) // 2, len(body) - 1):
            if at is not None:
                file.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
            for span in RANGES:
                asked = signed(admin, "GET", "/demo/main/a")
                answer = await place.ask(asked if span is None else asked.adding("range", span))
                if at is None:
                    assert answer.status in (200, 206)
                    assert answer.body in body and answer.body
                else:
                    assert answer.status == 500 or answer.body == b"" or len(answer.body) < _length(answer.headers)
        await lake.close()

    run(play())


def _length(headers: dict[str, str]) -> int:
    return int(headers["content-length"])
